//! Digests of weights, kept between runs: a file of ten gigabytes is read once for its digest, not by every worker.
//!
//! A file is recognised by path, size, time of change and inode. A digest that is kept is trusted, so the folder must be
//! as safe as the program itself.

use std::{
    fs::{self, File, Metadata},
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use specimen_foundation::{bounded_read::read_text, folders::cache_folder, whole_file::write_whole};

/// Files below this are digested faster than looked up.
const SMALL: u64 = 16 << 20;
/// A file that changed more recently could change again without another time of change.
const SETTLED: Duration = Duration::from_secs(2);

/// Hexadecimal digits of a digest.
const N_DIGITS: usize = 64;

/// Where digests are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestCache {
    folder: Option<PathBuf>,
    /// Smallest file whose digest is kept, in bytes.
    from: u64,
}

impl DigestCache {
    /// In `digests` below `SPECIMEN_CACHE`, or below `specimen` in the user's cache folder; nowhere if the environment
    /// names neither. Digests of small files are not kept.
    pub fn of_environment() -> Self {
        Self::new(cache_folder().map(|folder| folder.join("digests")), SMALL)
    }

    /// In `folder`, of files with at least `from` bytes; without a folder nothing is kept.
    pub fn new(folder: Option<PathBuf>, from: u64) -> Self {
        Self { folder, from }
    }

    /// blake3, in hex, of `bytes`, which are those of `file` at `path`.
    pub fn digest(&self, file: &File, path: &Path, bytes: &[u8]) -> io::Result<String> {
        self.digest_by("", file, path, || Ok(blake3::hash(bytes).to_hex().to_string()))
    }

    /// The digest of another `kind` that `made` takes of `file` at `path`.
    pub fn digest_by(
        &self,
        kind: &str,
        file: &File,
        path: &Path,
        made: impl FnOnce() -> io::Result<String>,
    ) -> io::Result<String> {
        let before = file.metadata()?;
        let kept = self.place(kind, path, &before)?;
        if let Some(known) = kept.as_deref().and_then(read) {
            return Ok(known);
        }
        let digest = made()?;
        let after = file.metadata()?;
        let is_settled = SystemTime::now().duration_since(after.modified()?).is_ok_and(|age| age >= SETTLED);
        if let Some(place) = kept.filter(|_| is_settled && identity(&before) == identity(&after)) {
            // The digest is right whether or not it can be kept.
            let _ = write(&place, &digest);
        }
        Ok(digest)
    }

    /// Where the digest of the file at `path` is kept, if it is.
    fn place(&self, kind: &str, path: &Path, meta: &Metadata) -> io::Result<Option<PathBuf>> {
        let Some(folder) = self.folder.as_ref().filter(|_| meta.len() >= self.from) else { return Ok(None) };
        let path = fs::canonicalize(path)?;
        let key = format!("{}\0{:?}{kind}", path.display(), identity(meta));
        Ok(Some(folder.join(blake3::hash(key.as_bytes()).to_hex().as_str())))
    }
}

/// Size, time of change in seconds and nanoseconds, device and inode.
fn identity(meta: &Metadata) -> (u64, i64, i64, u64, u64) {
    (meta.len(), meta.mtime(), meta.mtime_nsec(), meta.dev(), meta.ino())
}

/// A digest that is kept; one that is none was not written by this program and is written anew.
fn read(place: &Path) -> Option<String> {
    let known = read_text(place, N_DIGITS as u64).ok()?;
    let is_digest =
        known.len() == N_DIGITS && known.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    is_digest.then_some(known)
}

fn write(place: &Path, digest: &str) -> io::Result<()> {
    fs::create_dir_all(place.parent().expect("digests are in a folder"))?;
    write_whole(place, digest.as_bytes())
}
