//! Files that are never there in part: written under another name in the same folder, then renamed.

use std::io::{Error, Write};
use std::path::Path;

use crate::error::MeasureError;

/// Writes `bytes` to `path`, in a folder that is there, replacing what was there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), MeasureError> {
    let io = |e| MeasureError::io(path, "write", without_name(e));
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".unfinished-");
    readable_by_all(&mut builder);
    let mut file = builder.tempfile_in(folder).map_err(io)?;
    file.write_all(bytes).map_err(io)?;
    file.persist(path).map_err(|e| io(e.error))?;
    Ok(())
}

/// Fails where no file can be written to `path`, as [`write_whole`] would, so that it is said before the work. Leaves
/// nothing behind.
pub fn check_place(path: &Path) -> Result<(), MeasureError> {
    let io = |e| MeasureError::io(path, "write", without_name(e));
    if path.is_dir() {
        return Err(io(std::io::ErrorKind::IsADirectory.into()));
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    tempfile::Builder::new().prefix(".unfinished-").tempfile_in(folder).map_err(io)?;
    Ok(())
}

/// What the system said, without the name of a temporary file, which `tempfile` adds and which says nothing to a reader.
fn without_name(error: Error) -> Error {
    match error.to_string().rsplit_once(" at path ") {
        Some((said, _)) => Error::new(error.kind(), said.to_owned()),
        None => error,
    }
}

/// Temporary files are private by default; these are for everyone the umask allows.
#[cfg(unix)]
fn readable_by_all(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(std::fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn readable_by_all(_: &mut tempfile::Builder<'_, '_>) {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_is_named_and_no_temporary_one() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("no").join("a.npz");
        for error in [write_whole(&path, b"x").unwrap_err(), check_place(&path).unwrap_err()] {
            let message = error.to_string();
            assert!(message.contains("a.npz: cannot write: No such file or directory"), "{message}");
            assert!(!message.contains("unfinished"), "{message}");
        }
    }
}
