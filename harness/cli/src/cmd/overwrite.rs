//! One rule for every file that a user names as output: a file that exists is kept unless `--force` is given.

use std::path::Path;

use specimen_foundation::{failure, failure::FailureMessage};

/// Fails where something is at `path` already and `force` is not given.
pub(crate) fn check_absent(path: &Path, force: bool) -> Result<(), FailureMessage> {
    if force || !path.exists() {
        return Ok(());
    }
    Err(failure!(Usage: "{}: is there already; remove it, or replace it with --force", path.display()))
}
