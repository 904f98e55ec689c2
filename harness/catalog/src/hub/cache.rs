//! The cache of the Hugging Face hub as its own tools keep it: `blobs` by their ETag, `snapshots` of links to them, and
//! `refs` from names of revisions to commits. What is fetched here they find too, and the other way round.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use specimen_foundation::whole_file::write_whole;

use crate::hub::HubError;

/// Bytes of a reference to a commit, at most; a commit has 40.
const MAX_REFERENCE_BYTES: u64 = 1 << 10;

/// The revision that the hub's tools fetch where none is named.
pub(crate) const MAIN: &str = "main";

/// The part of the cache that belongs to one repository.
pub(crate) struct HubCache {
    folder: PathBuf,
}

impl HubCache {
    /// Of the repository `repo`, `owner/name`.
    pub(crate) fn new(hub: &Path, repo: &str) -> Self {
        Self { folder: hub.join(format!("models--{}", repo.replace('/', "--"))) }
    }

    /// `file` in the snapshot that `revision` names, or else in the first by name that has it.
    pub(crate) fn find(&self, revision: &str, file: &str) -> Option<PathBuf> {
        self.snapshots(revision).into_iter().map(|folder| folder.join(file)).find(|path| path.is_file())
    }

    /// The snapshot that `path` is in.
    pub(crate) fn snapshot_of(&self, path: &Path) -> Option<String> {
        let inside = path.strip_prefix(self.folder.join("snapshots")).ok()?;
        Some(inside.components().next()?.as_os_str().to_string_lossy().into_owned())
    }

    /// Every snapshot: that of `revision` first, then the newest that was fetched (`main`), then the others by name.
    pub(crate) fn snapshots(&self, revision: &str) -> Vec<PathBuf> {
        let snapshots = self.folder.join("snapshots");
        let named = |revision: &str| {
            let commit = commit_of(&self.folder.join("refs").join(revision));
            snapshots.join(commit.as_deref().map_or(revision, str::trim))
        };
        let mut all = vec![named(revision), named(MAIN)];
        all.dedup();
        let others = fs::read_dir(&snapshots).into_iter().flatten().flatten();
        let mut others: Vec<PathBuf> =
            others.map(|entry| entry.path()).filter(|path| !all.contains(path)).collect();
        others.sort();
        all.append(&mut others);
        all
    }

    /// Where the content with this ETag lies.
    pub(crate) fn blob(&self, etag: &str) -> PathBuf {
        self.folder.join("blobs").join(etag)
    }

    /// Makes the blob of `etag` the `file` of `commit`, which `revision` names from now on.
    pub(crate) fn link(
        &self,
        revision: &str,
        commit: &str,
        file: &str,
        etag: &str,
    ) -> Result<PathBuf, HubError> {
        let link = self.folder.join("snapshots").join(commit).join(file);
        let parent = link.parent().expect("a file of a snapshot is in a folder");
        fs::create_dir_all(parent).map_err(HubError::io(parent, "cannot make the folder"))?;
        let up = "../".repeat(2 + file.matches('/').count());
        match fs::remove_file(&link) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(HubError::io(&link, "cannot replace it")(error));
            }
            _ => {}
        }
        std::os::unix::fs::symlink(format!("{up}blobs/{etag}"), &link)
            .map_err(HubError::io(&link, "cannot link it"))?;
        if revision != commit {
            let named = self.folder.join("refs").join(revision);
            write_small(&named, commit.as_bytes())?;
        }
        Ok(link)
    }
}

/// Writes a small file whole, and the folders above it.
pub(crate) fn write_small(path: &Path, bytes: &[u8]) -> Result<(), HubError> {
    let folder = path.parent().expect("a file is in a folder");
    fs::create_dir_all(folder).map_err(HubError::io(folder, "cannot make the folder"))?;
    write_whole(path, bytes).map_err(HubError::io(path, "cannot write it"))
}

/// The commit that a reference names, if it is one.
fn commit_of(reference: &Path) -> Option<String> {
    let mut commit = String::new();
    fs::File::open(reference).ok()?.take(MAX_REFERENCE_BYTES + 1).read_to_string(&mut commit).ok()?;
    (commit.len() as u64 <= MAX_REFERENCE_BYTES).then_some(commit)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn a_reference_without_end_names_nothing_and_a_snapshot_is_found_without_it() {
        let hub = tempfile::tempdir().unwrap();
        let cache = HubCache::new(hub.path(), "owner/name");
        let folder = hub.path().join("models--owner--name");
        let put = |part: &str, text: &str| {
            let path = folder.join(part);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        };
        let first = put("snapshots/abc/x.json", "");
        let other = put("snapshots/def/x.json", "");
        let reference = put("refs/main", "def\n");
        assert_eq!(cache.find("main", "x.json"), Some(other.clone()));
        assert_eq!(
            cache.find("0123", "x.json"),
            Some(other),
            "a revision that is not here is followed by main"
        );
        assert_eq!(cache.find("abc", "x.json"), Some(first.clone()));
        fs::remove_file(&reference).unwrap();
        std::os::unix::fs::symlink("/dev/zero", &reference).unwrap();
        assert_eq!(cache.find("main", "x.json"), Some(first));
    }
}
