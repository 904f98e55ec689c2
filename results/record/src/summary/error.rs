//! What can go wrong in a summary.

use std::path::{Path, PathBuf};

use specimen_stats::error::StatsError;

use crate::RecordError;

/// An error of a summary.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    /// A file of the run.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A statistic.
    #[error(transparent)]
    Stats(#[from] StatsError),
    /// Rows that no statistic can be made of.
    #[error("{path}: {of}: the rows give no summary: {source}")]
    Rows {
        /// The file of the records, next to which the others are.
        path: PathBuf,
        /// The item or the cell.
        of: String,
        /// What is wrong with them.
        source: StatsError,
    },
}

impl SummaryError {
    /// The same, saying whose rows of which file are the cause where it is a statistic.
    pub(crate) fn of_rows(self, path: &Path, of: &str) -> Self {
        match self {
            Self::Stats(source) => Self::Rows { path: path.to_owned(), of: of.to_owned(), source },
            other => other,
        }
    }
}
