//! What can be wrong with an export.

use std::path::PathBuf;

use specimen_datasets::DatasetError;
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
    /// Files would be written into the run.
    #[error("{}: is in the folder of the run, whose files are sealed; give --out a folder elsewhere", path.display())]
    InsideRun {
        /// The folder.
        path: PathBuf,
    },
    /// An image that a benchmark needs and the run does not have.
    #[error("{key} has no image{}; make it with `specimen run SPEC --out RUN --resume`", because(.why.as_ref()))]
    NoImage {
        /// The item.
        key: String,
        /// Why it failed.
        why: Option<String>,
    },
    /// A run of another dataset than the benchmark's.
    #[error("the run is of the dataset `{dataset}` ({why}), expected `{expected}` or a file like it")]
    OtherDataset {
        /// The run's dataset.
        dataset: String,
        /// The benchmark's.
        expected: &'static str,
        /// What the run's dataset is instead.
        why: String,
    },
    /// A run of other prompts than the benchmark's.
    #[error("prompt `{id}` of the run is `{found}`, {}{}; the run must be of the benchmark's prompts", file.display(), instead(.expected.as_ref()))]
    OtherPrompts {
        /// The benchmark's prompts.
        file: PathBuf,
        /// Id of the prompt.
        id: String,
        /// Its text in the run.
        found: String,
        /// The benchmark's text of this id.
        expected: Option<String>,
    },
    /// Another number of images a prompt than the benchmark takes.
    #[error(
        "cell {cell}: prompt `{id}` has {found} images, expected {expected} (a grid of two by two); set `samples = {expected}` in the spec's [dataset]"
    )]
    Samples {
        /// The cell.
        cell: String,
        /// Id of the prompt.
        id: String,
        /// What the benchmark takes.
        expected: usize,
        /// What the run has.
        found: usize,
    },
    /// An image that does not fit into a grid.
    #[error(
        "{key} is {width} pixels wide and {height} high, expected {expected} each way: the script cuts the grid into squares of one size"
    )]
    NotSquare {
        /// The image.
        key: String,
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
        /// Pixels of the cell's first image across.
        expected: u32,
    },
    /// A file of no tool whose results are read.
    #[error("{}: expected a file of results: {known}", path.display())]
    NoResults {
        /// The file.
        path: PathBuf,
        /// Endings, and which file each is.
        known: String,
    },
    /// A line of a file of results.
    #[error("{}: line {line}: {problem}; nothing was imported", path.display())]
    Row {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// What was expected and found.
        problem: String,
    },
    /// Images without a result.
    #[error(
        "{}: {n_missing} of {n} images of cell {cell} have no result, the first is {first}; score the whole folder again; nothing \
         was imported", path.display()
    )]
    Missing {
        /// The file.
        path: PathBuf,
        /// How many.
        n_missing: usize,
        /// Images of the cell.
        n: usize,
        /// The cell.
        cell: String,
        /// Key of the first.
        first: String,
    },
    /// The benchmark's prompts.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
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
            Self::NoSummary { .. }
            | Self::NoImage { .. }
            | Self::OtherDataset { .. }
            | Self::OtherPrompts { .. }
            | Self::Samples { .. }
            | Self::NotSquare { .. }
            | Self::Row { .. }
            | Self::Missing { .. } => Some(FailureKind::Missing),
            Self::Taken { .. } | Self::InsideRun { .. } | Self::NoResults { .. } => Some(FailureKind::Usage),
            Self::Dataset(error) => error.kind(),
            Self::Record(error) => error.kind(),
            Self::Io { .. } => Some(FailureKind::Environment),
        }
    }
}

fn because(why: Option<&String>) -> String {
    why.map_or_else(String::new, |why| format!(" ({why})"))
}

fn instead(expected: Option<&String>) -> String {
    expected.map_or_else(|| " has none of this id".to_owned(), |text| format!(" has `{text}`"))
}
