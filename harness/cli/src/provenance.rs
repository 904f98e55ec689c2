//! What a manifest says of the program and its command.

use specimen_provenance::{commit, is_changed};
use specimen_record::Git;

/// The sources that the program was built from.
pub(crate) fn sources() -> Git {
    Git { sha: commit().map(str::to_owned), dirty: is_changed() }
}

/// The command line as it was typed.
pub(crate) fn argv() -> Vec<String> {
    std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect()
}
