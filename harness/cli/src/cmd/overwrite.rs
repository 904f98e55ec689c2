//! One rule for every file that a user names as output: a file that exists is kept unless `--force` is given.

use std::path::Path;

use crate::exit::CliError;

/// Fails where something is at `path` already and `force` is not given.
pub(crate) fn check_absent(path: &Path, force: bool) -> Result<(), CliError> {
    if force || !path.exists() {
        return Ok(());
    }
    Err(CliError::Usage(format!(
        "{}: is there already; remove it, or replace it with --force",
        path.display()
    )))
}
