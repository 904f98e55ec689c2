//! The one error type of this crate. Each variant holds facts (file, place, expected, found) and its
//! message ends with the remedy where there is one.

use specimen_foundation::{
    failure,
    failure::{Failure, FailureKind, FailureMessage},
};
use std::fmt;
use std::path::{Path, PathBuf};

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, DatasetError>;

/// A place inside a file, as a person would look it up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// Line and column, both from 1; columns count Unicode code points.
    At {
        /// Line, from 1.
        line: usize,
        /// Column in code points, from 1.
        column: usize,
    },
    /// A whole line, from 1.
    Line(usize),
    /// A byte, from 0.
    Byte(u64),
    /// An element of a structured file, such as `annotations[17]`.
    Item(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At { line, column } => write!(f, "line {line}, column {column}"),
            Self::Line(line) => write!(f, "line {line}"),
            Self::Byte(byte) => write!(f, "byte {byte}"),
            Self::Item(item) => f.write_str(item),
        }
    }
}

/// Why a dataset could not be opened, read or paired.
#[derive(Debug, thiserror::Error)]
pub enum DatasetError {
    /// The operating system refused to read something.
    #[error("{path}: cannot be read: {source}", path = path.display())]
    Io {
        /// What was being read.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// What nobody acts on.
    #[error(transparent)]
    Stated(#[from] FailureMessage),
    /// No dataset has this name and no file is at this path.
    #[error("unknown dataset `{name}`; {hint}")]
    UnknownName {
        /// The name as it was given.
        name: String,
        /// The nearest names, or all of them.
        hint: String,
    },
    /// A file of a known dataset is not on this machine.
    #[error("`{what}` is absent: {remedy}")]
    Absent {
        /// The dataset or file.
        what: String,
        /// What to fetch and where to put it, one sentence.
        remedy: String,
    },
}

impl DatasetError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }

    pub(crate) fn malformed(
        path: &Path,
        place: Place,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        failure!(Missing: "{}: {place}: expected {expected}, found {found}", path.display()).into()
    }
}

impl Failure for DatasetError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Stated(message) => message.kind,
            Self::UnknownName { .. } => FailureKind::Spec,
            _ => FailureKind::Missing,
        })
    }
}

/// The path leads to something that is not a regular file (or not a folder).
pub(crate) fn wrong_kind(
    path: impl AsRef<Path>,
    expected: impl fmt::Display,
    found: impl fmt::Display,
) -> DatasetError {
    failure!(Missing: "{}: expected {expected}, found {found}", path.as_ref().display()).into()
}

/// A prompt with no visible character.
pub(crate) fn blank_prompt(path: impl AsRef<Path>, place: Place) -> DatasetError {
    failure!(Missing: "{}: {place}: the prompt is blank; remove the row, or use the dataset `unconditional` \
        for a model without text", path.as_ref().display())
    .into()
}

/// The file is larger than this reader accepts: which size (`the file` or `the uncompressed content`), and the limit.
pub(crate) fn too_large(path: impl AsRef<Path>, what: impl fmt::Display, limit_bytes: u64) -> DatasetError {
    failure!(Missing: "{}: {what} exceeds the limit of {limit_bytes} bytes; is this the right file?",
        path.as_ref().display())
    .into()
}

/// An option that this dataset cannot honour.
pub(crate) fn bad_option(
    dataset: impl fmt::Display,
    option: impl fmt::Display,
    why: impl fmt::Display,
) -> DatasetError {
    failure!(Spec: "dataset `{dataset}`: {option} {why}").into()
}

/// Two rows carry one id.
pub(crate) fn duplicate_id(
    path: impl AsRef<Path>,
    id: impl fmt::Display,
    first: Place,
    second: Place,
) -> DatasetError {
    failure!(Missing: "{}: the id `{id}` is at {first} and again at {second}; ids must be unique",
        path.as_ref().display())
    .into()
}
