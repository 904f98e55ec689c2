//! What can go wrong in a summary.

use specimen_record::RecordError;
use specimen_stats::error::StatsError;

/// An error of a summary.
#[derive(Debug, thiserror::Error)]
pub enum SummaryError {
    /// A file of the run.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A statistic.
    #[error(transparent)]
    Stats(#[from] StatsError),
}
