//! What can be wrong with a file of weights: where, what was expected, what was found, and what to do.

use std::{
    ffi::OsStr,
    fmt::Display,
    io,
    path::{Path, PathBuf},
};

use specimen_foundation::{
    failure,
    failure::{Failure, FailureKind, FailureMessage},
    text::escaped,
};

/// Why a conversion did not take place. Nothing is left behind then.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// What nobody acts on; names from a file may be in it.
    #[error("{}", escaped(&.0.to_string()))]
    Stated(#[from] FailureMessage),
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
}

/// What to do about a file whose end is missing.
pub(crate) const FETCH_AGAIN: &str = "the file is truncated or damaged: fetch it again";

/// What a message shows of a text with names from a file in it.
fn plain(text: &(impl AsRef<OsStr> + ?Sized)) -> String {
    escaped(&text.as_ref().to_string_lossy())
}

impl Failure for ConvertError {
    fn kind(&self) -> Option<FailureKind> {
        Some(if let Self::Stated(message) = self { message.kind } else { FailureKind::Missing })
    }
}

/// A file without tensors by name.
pub(crate) fn no_tensors(path: impl AsRef<Path>, found: impl Display, remedy: impl Display) -> ConvertError {
    failure!(Missing: "{}: expected tensors by name, found {found}; {remedy}", path.as_ref().display()).into()
}

/// A tensor that is not what it should be.
pub(crate) fn tensor(
    path: impl AsRef<Path>,
    name: impl Display,
    expected: impl Display,
    found: impl Display,
    remedy: impl Display,
) -> ConvertError {
    failure!(Missing: "{}: tensor `{name}`: expected {expected}, found {found}; {remedy}",
        path.as_ref().display())
    .into()
}

/// A file that cannot be read.
pub(crate) fn read(path: impl AsRef<Path>, source: io::Error) -> ConvertError {
    failure!(Missing: "{}: cannot read it: {source}", path.as_ref().display()).into()
}
