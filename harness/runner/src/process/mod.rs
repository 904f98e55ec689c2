//! What every process of a run has: locks, requests to stop, a disk that may be full, and words of a shell.

pub mod disk_wait;
pub mod lock;
pub mod stop_request;

use std::{io::ErrorKind, path::Path};

use crate::error::RunError;

/// Removes a file if it is there; `what` is how an error names the attempt: "remove the lock".
pub(crate) fn remove_if_there(path: &Path, what: &'static str) -> Result<(), RunError> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(RunError::io(path, what)(error)),
        _ => Ok(()),
    }
}

/// A word that means just these characters, in quotes.
pub(crate) fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// The same, in quotes only where the shell would read something else: for commands that a person reads.
pub(crate) fn shell_word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./=,:@+%".contains(c);
    match !text.is_empty() && text.chars().all(is_plain) {
        true => text.to_owned(),
        false => shell_quoted(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_shell_reads_otherwise_is_in_quotes() {
        for (text, word) in [
            ("a/b-1.toml", "a/b-1.toml"),
            ("x y", "'x y'"),
            ("", "''"),
            ("it's", r"'it'\''s'"),
            ("cell=[1]", "'cell=[1]'"),
        ] {
            assert_eq!(shell_word(text), word);
        }
    }
}
