//! Files that must not be there.

use std::{io::ErrorKind, path::Path};

use crate::error::RunError;

/// Removes a file if it is there; `what` is how an error names the attempt: "remove the lock".
pub(crate) fn remove_if_there(path: &Path, what: &'static str) -> Result<(), RunError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(RunError::io(path, what)(error)),
        _ => Ok(()),
    }
}
