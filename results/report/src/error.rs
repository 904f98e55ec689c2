//! What can go wrong while a report is made.

use std::path::PathBuf;

use specimen_foundation::failure::{Failure, FailureKind};
use specimen_record::{Mix, RecordError};

/// A report that could not be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReportError {
    /// The run cannot be read, or the report cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The run has no summary yet.
    #[error(
        "{path}: the run has no summary: it is not finished; `specimen run SPEC --out DIR --resume` continues it"
    )]
    NoSummary {
        /// Where it would be.
        path: PathBuf,
    },
    /// An image of the run is not readable as one.
    #[error("{path}: not a readable image: {source}")]
    BadImage {
        /// Path of the file.
        path: PathBuf,
        /// The decoder's reason.
        source: image::ImageError,
    },
    /// An image has another size than its record says.
    #[error("{path}: the image is {found:?} pixels, its record says {expected:?}")]
    WrongSize {
        /// Path of the file.
        path: PathBuf,
        /// Width and height in the record.
        expected: (u32, u32),
        /// Width and height of the file.
        found: (u32, u32),
    },
    /// A folder of images cannot be listed.
    #[error("{path}: cannot list the folder: {source}")]
    Unlisted {
        /// Path of the folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// The page's template could not be filled in.
    #[error("template of the page: {0}")]
    Template(#[from] minijinja::Error),
    /// An old file of the report could not be taken away.
    #[error("{path}: cannot remove the figure of an earlier report: {source}")]
    Stale {
        /// Path of the file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A document that cannot be read.
    #[error("{path}: cannot read: {source}")]
    Unreadable {
        /// Path of the file.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A table of no run at all.
    #[error("no run is given; name folders of runs, or files that `specimen records` wrote")]
    NoSource,
    /// Two sources hold a run of one name: their rows would look alike.
    #[error(
        "{} and {} both hold a run `{name}`; give one a name of its own in this table: `OTHER={}`", first.display(), second.display(), second.display()
    )]
    SameRun {
        /// The run's name.
        name: String,
        /// The earlier source.
        first: PathBuf,
        /// The later one.
        second: PathBuf,
    },
    /// A file of several runs was given one name.
    #[error("{path} holds {n} runs, which cannot all have the name `{name}`; leave `{name}=` out")]
    OneName {
        /// The name that was given.
        name: String,
        /// Path of the file.
        path: PathBuf,
        /// Runs in it.
        n: usize,
    },
    /// Images that do not belong into one table.
    #[error("{why}; --mix {} allows them in one table", kind.name())]
    Mixed {
        /// What differs.
        kind: Mix,
        /// In words.
        why: String,
    },
    /// A column without any value.
    #[error(
        "no image has a value of `{name}`, so there is nothing to group by; of the datasets, parti-prompts has category and \
         challenge, geneval task, coco2017 supercategory"
    )]
    EmptyGroups {
        /// The name asked for.
        name: String,
    },
    /// A column by which images cannot be grouped.
    #[error("no column `{name}` with a value to group by; {known}")]
    NoGroups {
        /// The name asked for.
        name: String,
        /// The nearest names, or those of the images.
        known: String,
    },
    /// A file that is no frame of images.
    #[error("{path}: not a table of images: {reason}")]
    NotImages {
        /// Path of the file.
        path: PathBuf,
        /// What was found.
        reason: String,
    },
    /// A table in a format that is not known.
    #[error("{path}: a table of images is written as .parquet or .csv")]
    TableFormat {
        /// The file asked for.
        path: PathBuf,
    },
    /// Columns that could not be written.
    #[error("table of images: {reason}")]
    NotWritten {
        /// Why.
        reason: String,
    },
    /// A file that is no training curve.
    #[error("{path}: line {line}: expected {expected}, found `{found}`")]
    BadCurve {
        /// Path of the file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What belongs there.
        expected: String,
        /// What is there, up to 80 letters.
        found: String,
    },
    /// A document in which a table's place is not marked.
    #[error("{path}: {reason}")]
    NoMark {
        /// Path of the file.
        path: PathBuf,
        /// What is missing.
        reason: String,
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
    /// Grouping by what the table has the mean of.
    #[error(
        "no groups by `{name}`: the table has its mean in each row; all values are in `records --out FILE`"
    )]
    IsMean {
        /// The column asked for.
        name: String,
    },
    /// A column that the table does not have.
    #[error("no column `{name}`; the table has {known}")]
    NoColumn {
        /// The name asked for.
        name: String,
        /// Those of the table.
        known: String,
    },
    /// A figure could not be drawn.
    #[error("figure `{figure}`: {reason}")]
    Drawing {
        /// Which figure.
        figure: String,
        /// The backend's reason.
        reason: String,
    },
}

impl Failure for ReportError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Record(error) => return error.kind(),
            Self::NoSummary { .. }
            | Self::BadImage { .. }
            | Self::WrongSize { .. }
            | Self::Unlisted { .. }
            | Self::Unreadable { .. }
            | Self::BadCurve { .. }
            | Self::NotImages { .. }
            | Self::NoMark { .. } => FailureKind::Missing,
            Self::TableFormat { .. }
            | Self::NoSource
            | Self::OneName { .. }
            | Self::NoFigure { .. }
            | Self::NoColumn { .. }
            | Self::IsMean { .. }
            | Self::EmptyGroups { .. }
            | Self::NoGroups { .. } => FailureKind::Usage,
            Self::Mixed { .. } | Self::SameRun { .. } => FailureKind::Mismatch,
            Self::Stale { .. } => FailureKind::Environment,
            Self::Template(_)
            | Self::NotWritten { .. }
            | Self::Frame(_)
            | Self::Stats(_)
            | Self::Csv(_)
            | Self::Drawing { .. } => FailureKind::Bug,
        })
    }
}
