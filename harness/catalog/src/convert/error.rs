//! What can be wrong with a file of weights: where, what was expected, what was found, and what to do.

use std::{ffi::OsStr, io, path::PathBuf};

use specimen_foundation::{
    failure::{Failure, FailureKind},
    text::escaped,
};

/// Why a conversion did not take place. Nothing is left behind then.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// A file that cannot be opened or mapped.
    #[error("{}: cannot read it: {source}", plain(.path))]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file that cannot be written.
    #[error("{}: cannot write it: {source}", plain(.path))]
    Write {
        /// The file, or the folder it was to be in.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A container that is not what it should be.
    #[error("{}: byte {offset}: expected {}, found {}; {remedy}", plain(.path), plain(.expected), plain(.found))]
    Format {
        /// Path of the file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// A pickle that does not hold together, or asks for what is never done.
    #[error("{}: byte {offset}, opcode {opcode}: expected {}, found {}; {remedy}", plain(.path), plain(.expected), plain(.found))]
    Pickle {
        /// Path of the file.
        path: PathBuf,
        /// Where in it the opcode stands.
        offset: u64,
        /// The opcode by its name.
        opcode: &'static str,
        /// What should stand there.
        expected: String,
        /// What stands there.
        found: String,
        /// What to do.
        remedy: Box<str>,
    },
    /// A tensor that is not inside its storage, or cannot be written as asked.
    #[error("{}: tensor `{}`: expected {}, found {}; {remedy}", plain(.path), plain(.name), plain(.expected), plain(.found))]
    Tensor {
        /// Path of the file.
        path: PathBuf,
        /// The tensor's name, or the key of its storage.
        name: String,
        /// What it should be.
        expected: String,
        /// What it is.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// A file without tensors by name.
    #[error("{}: expected tensors by name, found {}; {remedy}", plain(.path), plain(.found))]
    NoTensors {
        /// Path of the file.
        path: PathBuf,
        /// What is there instead.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// A file that does not hold what is to be written.
    #[error("{}: expected {}, found {}; {remedy}", plain(.path), plain(.expected), plain(.found))]
    Lacks {
        /// Path of the file.
        path: PathBuf,
        /// What is to be written.
        expected: String,
        /// What is there.
        found: String,
        /// What to do.
        remedy: String,
    },
    /// Names that do not fit the recipe.
    #[error("{}: the recipe {recipe}: {}", plain(.path), plain(.reason))]
    Recipe {
        /// Path of the file.
        path: PathBuf,
        /// The recipe's name.
        recipe: String,
        /// What does not fit.
        reason: String,
    },
}

/// What to do about a file whose end is missing.
pub(crate) const FETCH_AGAIN: &str = "the file is truncated or damaged: fetch it again";

/// What a message shows of a text with names from a file in it.
fn plain(text: &(impl AsRef<OsStr> + ?Sized)) -> String {
    escaped(&text.as_ref().to_string_lossy())
}

impl Failure for ConvertError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Write { .. } => FailureKind::Environment,
            Self::Read { .. }
            | Self::Format { .. }
            | Self::Pickle { .. }
            | Self::Tensor { .. }
            | Self::NoTensors { .. }
            | Self::Lacks { .. }
            | Self::Recipe { .. } => FailureKind::Missing,
        })
    }
}
