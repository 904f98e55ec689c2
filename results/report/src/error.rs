//! What can go wrong while a report is made.

use std::{fmt::Display, path::Path};

use specimen_foundation::{
    failure,
    failure::{Failure, FailureKind, FailureMessage},
};
use specimen_record::RecordError;

/// A report that could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The run cannot be read, or the report cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// What nobody acts on.
    #[error(transparent)]
    Stated(#[from] FailureMessage),
    /// The page's template could not be filled in.
    #[error("template of the page: {0}")]
    Template(#[from] minijinja::Error),
    /// A column by which images cannot be grouped.
    #[error("no column `{name}` with a value to group by; {known}")]
    NoGroups {
        /// The name asked for.
        name: String,
        /// The nearest names, or those of the images.
        known: String,
    },
    /// The data frame refused an operation.
    #[error("table of the cells: {0}")]
    Frame(#[from] polars::error::PolarsError),
    /// A p value that the numbers of the summary do not allow.
    #[error("comparison with the baseline: {0}")]
    Stats(#[from] specimen_stats::StatsError),
    /// CSV could not be produced.
    #[error("CSV: {0}")]
    Csv(#[from] csv::Error),
    /// A figure that the run does not have.
    #[error("no figure `{name}`; {known}")]
    NoFigure {
        /// The name asked for.
        name: String,
        /// The nearest names, or those of the run.
        known: String,
    },
}

impl Failure for ReportError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Record(error) => return error.kind(),
            Self::Stated(message) => message.kind,
            Self::NoFigure { .. } | Self::NoGroups { .. } => FailureKind::Usage,
            Self::Template(_) | Self::Frame(_) | Self::Stats(_) | Self::Csv(_) => FailureKind::Bug,
        })
    }
}

/// A column that the table does not have.
pub(crate) fn no_column(name: impl Display, known: impl Display) -> ReportError {
    failure!(Usage: "no column `{name}`; the table has {known}").into()
}

/// A folder of images cannot be listed.
pub(crate) fn unlisted(path: impl AsRef<Path>, source: std::io::Error) -> ReportError {
    failure!(Missing: "{}: cannot list the folder: {source}", path.as_ref().display()).into()
}

/// A document that cannot be read.
pub fn unreadable(path: impl AsRef<Path>, source: std::io::Error) -> ReportError {
    failure!(Missing: "{}: cannot read: {source}", path.as_ref().display()).into()
}

/// A figure could not be drawn.
pub(crate) fn drawing(figure: impl Display, reason: impl Display) -> ReportError {
    failure!(Bug: "figure `{figure}`: {reason}").into()
}

/// The run has no summary yet.
pub fn no_summary(path: impl AsRef<Path>) -> ReportError {
    failure!(Missing: "{}: the run has no summary: it is not finished; `specimen run SPEC --out DIR \
        --resume` (of an import: `specimen score DIR`) continues it", path.as_ref().display())
    .into()
}
