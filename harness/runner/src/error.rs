//! What can go wrong in a run, sorted by what the user must do about it.

use std::{
    fmt::Display,
    path::{Path, PathBuf},
};

use specimen_datasets::DatasetError;
use specimen_experiments::error::PlanError;
use specimen_foundation::{
    failure,
    failure::{Failure, FailureKind, FailureMessage},
};
use specimen_models::seam::model_error::ModelError;
use specimen_record::{RecordError, RunDir, mend_of, summary::error::SummaryError};
use specimen_stats::error::StatsError;
use specimen_weights::device_lost::DeviceLost;

/// An error of the runner.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The data.
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    /// The plan.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A model or its weights.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A metric under a protocol.
    #[error(transparent)]
    Measure(Box<specimen_measure::MeasureError>),
    /// The run directory.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// What nobody acts on.
    #[error(transparent)]
    Stated(#[from] FailureMessage),
    /// A statistic.
    #[error(transparent)]
    Stats(#[from] StatsError),
    /// A GPU that was lost: nothing more can be computed in this process.
    #[error(transparent)]
    DeviceLost(#[from] DeviceLost),
    /// A file outside the run's records.
    #[error("{path}: cannot {what}: {}", specimen_record::io_words(.source))]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// What was tried.
        what: &'static str,
        /// What the system said.
        source: std::io::Error,
    },
    /// Another process works here.
    #[error("{path}: {holder} is working on this run; wait until it ends, or end it")]
    Locked {
        /// Path of the lock.
        path: PathBuf,
        /// The process, its machine, and since when.
        holder: String,
    },
    /// A later worker took the shard over.
    #[error("{path}: {holder} has taken this shard over; nothing more is written here")]
    Superseded {
        /// Path of the lease.
        path: PathBuf,
        /// Who has it now.
        holder: String,
    },
    /// Asked to stop after the image under way.
    #[error(
        "interrupted; everything that was made is kept; continue with `run … --resume` (another command: start it again)"
    )]
    Interrupted,
    /// Asked to stop at once.
    #[error("aborted; images that were finished are kept, continue with --resume")]
    Aborted,
}

impl RunError {
    /// A file of `run` that is not what the run was made with. `mend` is what helps where the run is no import.
    pub(crate) fn damaged(run: &RunDir, complaint: impl ToString, mend: &str) -> Self {
        failure!(Missing: "{}; {}", complaint.to_string(), mend_of(run, mend)).into()
    }

    pub(crate) fn io(path: &std::path::Path, what: &'static str) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, what, source }
    }
}

impl Failure for RunError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Dataset(error) => return error.kind(),
            Self::Plan(error) => return error.kind(),
            Self::Model(error) => return error.kind(),
            Self::Measure(error) => return error.kind(),
            Self::Record(error) => return error.kind(),
            Self::Stated(message) => message.kind,
            Self::DeviceLost(_) | Self::Io { .. } => FailureKind::Environment,
            Self::Locked { .. } | Self::Superseded { .. } => FailureKind::Locked,
            Self::Interrupted => FailureKind::Interrupted,
            Self::Aborted => FailureKind::Aborted,
            Self::Stats(_) => FailureKind::Bug,
        })
    }
}

impl From<SummaryError> for RunError {
    fn from(error: SummaryError) -> Self {
        match error {
            SummaryError::Record(error) => error.into(),
            SummaryError::Stats(error) => error.into(),
            rows @ SummaryError::Rows { .. } => {
                failure!(Missing: "{rows}; `specimen verify` names the rows that were changed").into()
            }
        }
    }
}

/// A run with another plan is in the folder already.
pub(crate) fn other_plan(
    path: impl AsRef<Path>,
    expected: impl Display,
    found: impl Display,
    differences: impl Display,
) -> RunError {
    failure!(Spec: "{}: a run with another plan is there already (its digest is {found}, this spec gives \
        {expected}; {differences}); a run may get more prompts, samples, cells and metrics, and no other \
        change; choose another --out, or remove the run", path.as_ref().display())
    .into()
}

/// A run that was begun with other weights.
pub(crate) fn other_weights(
    path: impl AsRef<Path>,
    name: impl Display,
    expected: impl Display,
    found: impl Display,
) -> RunError {
    failure!(Missing: "{}: the run was begun with other weights of {name} (blake3 {expected}, now {found}); \
        restore those, or choose another --out", path.as_ref().display())
    .into()
}

/// An item failed in a run that ends with its first failure.
pub(crate) fn failed_fast(key: impl Display) -> RunError {
    failure!(Failed: "{key} failed, and --fail-fast ends the run; its record has the reason, everything that \
        was made is kept; continue with --resume")
    .into()
}

/// Items gave no image.
pub(crate) fn failed(n_failed: u64, n_items: u64, first: impl Display, why: impl Display) -> RunError {
    failure!(Failed: "{n_failed} of {n_items} items failed, the first is {first}: {why}; the rest is valid")
        .into()
}

/// A run is in the folder already and was not to be resumed.
pub(crate) fn exists(path: impl AsRef<Path>) -> RunError {
    failure!(Usage: "{}: a run is there already; continue it with --resume, or choose another --out",
        path.as_ref().display())
    .into()
}
