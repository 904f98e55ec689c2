//! The cache of the Hugging Face hub as its own tools keep it: `blobs` by their ETag, `snapshots` of links to them, and
//! `refs` from names of revisions to commits. What is fetched here they find too, and the other way round.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::HubError;

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

    /// Every snapshot, that of `revision` first, the others by name.
    pub(crate) fn snapshots(&self, revision: &str) -> Vec<PathBuf> {
        let snapshots = self.folder.join("snapshots");
        let commit = fs::read_to_string(self.folder.join("refs").join(revision));
        let named = snapshots.join(commit.as_deref().map_or(revision, str::trim));
        let others = fs::read_dir(snapshots).into_iter().flatten().flatten();
        let mut others: Vec<PathBuf> =
            others.map(|entry| entry.path()).filter(|path| *path != named).collect();
        others.sort();
        std::iter::once(named).chain(others).collect()
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
        let parent = link.parent().expect("a file of a snapshot lies in a folder");
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
            let parent = named.parent().expect("a reference lies in a folder");
            fs::create_dir_all(parent).map_err(HubError::io(parent, "cannot make the folder"))?;
            fs::write(&named, commit).map_err(HubError::io(&named, "cannot write it"))?;
        }
        Ok(link)
    }
}
