//! SHA-256 of files and of what streams by.

use std::{fs::File, io::Read, path::Path};

use sha2::{Digest, Sha256};

use crate::HubError;

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

/// The size and digest of the file at `path`, held against what is known.
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
