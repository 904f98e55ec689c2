//! What can go wrong with a process that makes images. Every message says what was expected and what was
//! found.

use std::path::PathBuf;

/// An error of an external process.
#[derive(Debug, thiserror::Error)]
pub enum ExternalError {
    /// The command cannot be started.
    #[error("cannot start `{command}`: {source}; is the program installed, and the folder `cwd` right?")]
    Start {
        /// The command as one line.
        command: String,
        /// What the system said.
        source: std::io::Error,
    },
    /// It ended, or closed its standard output, instead of answering.
    #[error(
        "the process ended ({status}) instead of answering; what it said on stderr is in shards/<k>/worker.log of the run"
    )]
    Ended {
        /// How it ended.
        status: String,
    },
    /// It did not answer in time.
    #[error("the process did not answer within {seconds} s (`{key}`) and was ended with its group")]
    TimedOut {
        /// The limit.
        seconds: f64,
        /// The key of the spec that sets the limit.
        key: &'static str,
    },
    /// A line that is no answer.
    #[error("line {line} of its answers: expected {expected}, found {found}")]
    Malformed {
        /// From 1, counted since the process was started.
        line: u64,
        /// What was expected.
        expected: String,
        /// What was there.
        found: String,
    },
    /// It says that it cannot make this image.
    #[error("the process says: {0}")]
    Refused(String),
    /// The file that it names, or that a table of images names.
    #[error("the image `{name}` {problem}")]
    Picture {
        /// The path as it was given.
        name: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The system refuses something that is not the process' fault.
    #[error("{path}: cannot {what}: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
}

/// `text` so that it can stand in a message, a log and a terminal: at most `most` characters, each control
/// character as an escape.
pub fn shown(text: &str, most: usize) -> String {
    let mut out = String::new();
    for (at, character) in text.chars().enumerate() {
        if at == most {
            out.push('…');
            break;
        }
        if character.is_control() { out.extend(character.escape_default()) } else { out.push(character) }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_is_short_and_controls_nothing() {
        assert_eq!(shown("\u{1b}[31mred\n", 80), "\\u{1b}[31mred\\n");
        assert_eq!(shown("abcdef", 3), "abc…");
        assert_eq!(shown("猫", 3), "猫");
    }
}
