//! SHA-256 of files and of what streams by, and the comparison of a file with what is published of it.

use std::{
    fs::{self, File},
    io::Read,
    path::Path,
};

use sha2::{Digest, Sha256};
use specimen_catalog::entry::PublishedFile;

use crate::HubError;

/// Compares the file at `path` with what is published of `file`: its size and SHA-256, or the SHA-256 under which the cache
/// of the hub stores it. Returns that SHA-256; `None` where neither is known.
///
/// # Errors
/// A file of another size or digest, or that cannot be read.
pub fn check_published(path: &Path, file: &PublishedFile) -> Result<Option<String>, HubError> {
    let stored = stored_digest(path);
    let expected = file.sha256.get().or(stored.as_ref());
    let remedy = "it is truncated or damaged, or another file: remove it and fetch it again";
    check(path, file.n_bytes.get().copied(), expected.map(String::as_str), remedy)?;
    Ok(expected.cloned())
}

/// The digest under which the hub's cache stores the file that `path` links to; small files have another kind.
fn stored_digest(path: &Path) -> Option<String> {
    let blob = fs::canonicalize(path).ok()?;
    blob.file_name()?.to_str().filter(|name| is_sha256(name)).map(str::to_owned)
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(hasher: Sha256) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Takes the bytes of the file at `path` in, and returns how many there were.
pub(crate) fn take_in(path: &Path, hasher: &mut Sha256) -> Result<u64, HubError> {
    let mut file = File::open(path).map_err(HubError::io(path, "cannot open it"))?;
    let mut block = vec![0; 1 << 18];
    let mut n_bytes = 0;
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok(n_bytes),
            Ok(n) => {
                hasher.update(&block[..n]);
                n_bytes += n as u64;
            }
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(HubError::io(path, "cannot read it")(error)),
        }
    }
}

/// Whether `text` is a whole SHA-256 in lower-case hexadecimal digits.
pub(crate) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// The size and digest of the file at `path`, compared with what is known.
pub(crate) fn check(
    path: &Path,
    n_bytes: Option<u64>,
    sha256: Option<&str>,
    remedy: &str,
) -> Result<(), HubError> {
    let mismatch = |expected: String, found: String| {
        Err(HubError::Mismatch { path: path.to_owned(), expected, found, remedy: remedy.to_owned() })
    };
    let found = path.metadata().map_err(HubError::io(path, "cannot look at it"))?.len();
    if let Some(expected) = n_bytes.filter(|&expected| expected != found) {
        return mismatch(format!("{expected} bytes"), found.to_string());
    }
    let Some(expected) = sha256 else { return Ok(()) };
    let mut hasher = Sha256::new();
    take_in(path, &mut hasher)?;
    let found = hex(hasher);
    // The digest that some authors put into a file's name is the beginning of it.
    if found.starts_with(expected) { Ok(()) } else { mismatch(format!("SHA-256 {expected}"), found) }
}
