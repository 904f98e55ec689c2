//! What can be wrong with an export.

use std::path::PathBuf;

use specimen_foundation::failure::{Failure, FailureKind};
use specimen_record::RecordError;

/// Why nothing, or not all, was written.
#[derive(Debug, thiserror::Error)]
pub enum ExchangeError {
    /// The run has no summary.
    #[error("{}: is not there; the run is not at its end, continue it with `specimen run --resume`", path.display())]
    NoSummary {
        /// Where it would be.
        path: PathBuf,
    },
    /// There is something where files would be written.
    #[error("{}: is there already and not empty; give --out a new folder", path.display())]
    Taken {
        /// The folder.
        path: PathBuf,
    },
    /// A file of the run that cannot be read, or one that cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A folder that cannot be made.
    #[error("{}: cannot make the folder: {source}", path.display())]
    Io {
        /// The folder.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

impl Failure for ExchangeError {
    fn kind(&self) -> Option<FailureKind> {
        match self {
            Self::NoSummary { .. } => Some(FailureKind::Missing),
            Self::Taken { .. } => Some(FailureKind::Usage),
            Self::Record(error) => error.kind(),
            Self::Io { .. } => Some(FailureKind::Environment),
        }
    }
}
