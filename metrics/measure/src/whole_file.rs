//! Files that are whole under their name or not there; errors name the file.

use std::path::Path;

use specimen_foundation::whole_file;

use crate::error::MeasureError;

/// Writes `bytes` to `path`, in a folder that is there, and replaces what was there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), MeasureError> {
    whole_file::write_whole(path, bytes).map_err(|error| MeasureError::io(path, "write", error))
}

/// Fails where no file can be written to `path`, so that a user hears of it before the work. Leaves nothing behind.
pub fn check_place(path: &Path) -> Result<(), MeasureError> {
    whole_file::check_writable(path).map_err(|error| MeasureError::io(path, "write", error))
}

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
