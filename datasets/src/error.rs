//! The one error type of this crate. Each variant holds facts (file, place, expected, found) and its
//! message ends with the remedy where there is one.

use specimen_foundation::{
    digest::Digest,
    failure::{Failure, FailureKind},
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
    /// The path leads to something that is not a regular file (or not a folder).
    #[error("{path}: expected {expected}, found {found}", path = path.display())]
    WrongKind {
        /// The path as it was given.
        path: PathBuf,
        /// What the reader wanted there.
        expected: &'static str,
        /// What is there.
        found: &'static str,
    },
    /// The content does not follow its format.
    #[error("{path}: {place}: expected {expected}, found {found}", path = path.display())]
    Malformed {
        /// Path of the file.
        path: PathBuf,
        /// Where in the file (of the uncompressed content, when it is gzipped).
        place: Place,
        /// What the format asks for.
        expected: String,
        /// What stands there instead.
        found: String,
    },
    /// The file is larger than this reader accepts.
    #[error(
        "{path}: {what} exceeds the limit of {limit_bytes} bytes; is this the right file?",
        path = path.display()
    )]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Which size: `the file` or `the uncompressed content`.
        what: &'static str,
        /// The limit in bytes.
        limit_bytes: u64,
    },
    /// A prompt with no visible character.
    #[error(
        "{path}: {place}: the prompt is blank; remove the row, or use the dataset `unconditional` for a model \
         without text",
        path = path.display()
    )]
    BlankPrompt {
        /// The file or the dataset's name.
        path: PathBuf,
        /// The row.
        place: Place,
    },
    /// Two rows carry one id.
    #[error("{path}: the id `{id}` is at {first} and again at {second}; ids must be unique", path = path.display())]
    DuplicateId {
        /// The file or the dataset's name.
        path: PathBuf,
        /// The id.
        id: String,
        /// Where it stood first.
        first: Place,
        /// Where it stood again.
        second: Place,
    },
    /// The file is well-formed and holds no prompt at all.
    #[error("{path}: there are no prompts in it", path = path.display())]
    NoPrompts {
        /// The file or the dataset's name.
        path: PathBuf,
    },
    /// An image file whose path is no text.
    #[error("{path}: the path is not UTF-8; rename it", path = path.display())]
    NameNotUtf8 {
        /// Path of the image.
        path: PathBuf,
    },
    /// A folder without a single image.
    #[error("{path}: no image files (png, jpg, jpeg, webp, bmp) in it", path = path.display())]
    NoImages {
        /// Path of the folder.
        path: PathBuf,
    },
    /// A table and a folder of images do not hold the same images.
    #[error("{table}: it does not fit the images in {folder}: {problem}", table = table.display(), folder = folder.display())]
    ImagesAndRows {
        /// Path of the table.
        table: PathBuf,
        /// The folder of images.
        folder: PathBuf,
        /// What lacks on each side.
        problem: String,
    },
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
    /// A file of a known dataset is there, with other content than the published one.
    #[error(
        "{path}: expected the content with sha256 {expected}, found {found}; {remedy}",
        path = path.display()
    )]
    DigestMismatch {
        /// Path of the file.
        path: PathBuf,
        /// sha256 of the published content (uncompressed).
        expected: Digest,
        /// sha256 of the content found (uncompressed).
        found: Digest,
        /// What to do.
        remedy: String,
    },
    /// An option that this dataset cannot honour.
    #[error("dataset `{dataset}`: {option} {why}")]
    BadOption {
        /// The dataset's name.
        dataset: String,
        /// The option, as in a spec.
        option: &'static str,
        /// Why not, and what to give instead.
        why: String,
    },
}

impl DatasetError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }

    pub(crate) fn malformed(
        path: &Path,
        place: Place,
        expected: impl Into<String>,
        found: impl Into<String>,
    ) -> Self {
        Self::Malformed { path: path.to_path_buf(), place, expected: expected.into(), found: found.into() }
    }
}

impl Failure for DatasetError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::UnknownName { .. } | Self::BadOption { .. } => FailureKind::Spec,
            Self::Io { .. }
            | Self::WrongKind { .. }
            | Self::Malformed { .. }
            | Self::TooLarge { .. }
            | Self::BlankPrompt { .. }
            | Self::DuplicateId { .. }
            | Self::NoPrompts { .. }
            | Self::NameNotUtf8 { .. }
            | Self::NoImages { .. }
            | Self::ImagesAndRows { .. }
            | Self::Absent { .. }
            | Self::DigestMismatch { .. } => FailureKind::Missing,
        })
    }
}
