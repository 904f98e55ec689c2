//! What can go wrong in a run, sorted by what the user must do about it.

use std::path::PathBuf;

use specimen_datasets::DatasetError;
use specimen_experiments::error::PlanError;
use specimen_foundation::failure::{Failure, FailureKind};
use specimen_models::seam::model_error::ModelError;
use specimen_record::{RecordError, summary::error::SummaryError};
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
    /// A file of another tool's scores that is not of the run's images.
    #[error("{0}")]
    Scores(String),
    /// A statistic.
    #[error(transparent)]
    Stats(#[from] StatsError),
    /// Settings that cannot run here.
    #[error("{0}")]
    Spec(String),
    /// An image that was made elsewhere and cannot be imported.
    #[error("{0}")]
    Image(String),
    /// The machine lacks something.
    #[error("{0}")]
    Environment(String),
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
    /// A run with another plan is in the folder already.
    #[error(
        "{path}: a run with another plan is there already (its digest is {found}, this spec gives {expected}; \
         {differences}); a run may get more prompts, samples, cells and metrics, and no other change; choose another --out, \
         or remove the run"
    )]
    OtherPlan {
        /// The run's folder.
        path: PathBuf,
        /// Digest of the plan asked for.
        expected: String,
        /// Digest of the plan that is there.
        found: String,
        /// What differs between the specs, from theirs to this one's.
        differences: String,
    },
    /// A file of a run that is not what the run was made with, and cannot be made again from the others.
    #[error("{complaint}; {mend}")]
    Damaged {
        /// The file and what is wrong with it, in the words of `specimen verify`.
        complaint: String,
        /// What a person can do.
        mend: String,
    },
    /// A run that was begun with other weights.
    #[error(
        "{path}: the run was begun with other weights of {name} (blake3 {expected}, now {found}); restore \
         those, or choose another --out"
    )]
    OtherWeights {
        /// Path of the manifest.
        path: PathBuf,
        /// Model and role.
        name: String,
        /// Digest the run was begun with.
        expected: String,
        /// Digest of what was loaded now.
        found: String,
    },
    /// A file of an external cell that is not what its images were made with.
    #[error(
        "{path}: cell `{cell}` has made {n_images} images with another {file} (blake3 {expected}, now {found}); an \
         image of another script is never put next to these. Restore that file, or make a new run: {new_run}"
    )]
    OtherFile {
        /// Path of the manifest.
        path: PathBuf,
        /// The `[[cell]]`.
        cell: Box<str>,
        /// The file as the spec names it.
        file: Box<str>,
        /// Images that are there.
        n_images: u64,
        /// The command of a run in another folder.
        new_run: Box<str>,
        /// Digest the run was begun with.
        expected: Box<str>,
        /// Digest of what is there now.
        found: Box<str>,
    },
    /// A run is in the folder already and was not to be resumed.
    #[error("{path}: a run is there already; continue it with --resume, or choose another --out")]
    Exists {
        /// The run's folder.
        path: PathBuf,
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
    /// A worker ended before its shard was done.
    #[error(
        "the worker of shard {shard} ended with {status} before its shard was done: {why}; its log: {log}"
    )]
    Worker {
        /// Number of the shard.
        shard: u32,
        /// How it ended.
        status: String,
        /// The error that it reported, or the last line of its log.
        why: String,
        /// Where to look.
        log: PathBuf,
        /// Its exit code, where it had one: the driver ends with the same.
        code: Option<i32>,
    },
    /// Shards that no worker of the cluster could finish.
    #[error(
        "{n_shards} shard(s) were given up, everything else that was made is kept; shard {shard} {why}; its log: {log}; \
         continue with --resume"
    )]
    GivenUp {
        /// How many.
        n_shards: usize,
        /// The first.
        shard: u32,
        /// How its workers ended, and what helps.
        why: String,
        /// Where to look.
        log: PathBuf,
        /// The exit code of its last worker, where it left one.
        code: Option<i32>,
    },
    /// An item failed in a run that ends with its first failure.
    #[error(
        "{key} failed, and --fail-fast ends the run; its record has the reason, everything that was made is kept; \
         continue with --resume"
    )]
    FailedFast {
        /// The item.
        key: String,
    },
    /// Records whose traces were lost.
    #[error(
        "{path}: {n} image(s) have no trace of their steps, the first is {first}; remove the folder of its shard \
         and continue with --resume, which makes it again"
    )]
    WithoutSteps {
        /// The merged traces.
        path: PathBuf,
        /// How many.
        n: usize,
        /// Key of the first.
        first: String,
    },
    /// Items gave no image.
    #[error("{n_failed} of {n_items} items failed, the first is {first}: {why}; the rest is valid")]
    Failed {
        /// Failed items.
        n_failed: u64,
        /// All items.
        n_items: u64,
        /// Key of the first.
        first: String,
        /// Its message.
        why: String,
    },
}

impl RunError {
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
            Self::Spec(_) | Self::OtherPlan { .. } => FailureKind::Spec,
            Self::OtherWeights { .. }
            | Self::Damaged { .. }
            | Self::OtherFile { .. }
            | Self::WithoutSteps { .. }
            | Self::Scores(_)
            | Self::Image(_) => FailureKind::Missing,
            Self::Environment(_) | Self::DeviceLost(_) | Self::Io { .. } => FailureKind::Environment,
            Self::Exists { .. } => FailureKind::Usage,
            Self::Locked { .. } | Self::Superseded { .. } => FailureKind::Locked,
            Self::Failed { .. } | Self::FailedFast { .. } => FailureKind::Failed,
            Self::Interrupted => FailureKind::Interrupted,
            Self::Aborted => FailureKind::Aborted,
            Self::Worker { code, .. } => FailureKind::of_exit_code(*code),
            Self::GivenUp { code: None, .. } => FailureKind::Environment,
            Self::GivenUp { code, .. } => FailureKind::of_exit_code(*code),
            Self::Stats(_) => FailureKind::Bug,
        })
    }
}

impl From<SummaryError> for RunError {
    fn from(error: SummaryError) -> Self {
        match error {
            SummaryError::Record(error) => error.into(),
            SummaryError::Stats(error) => error.into(),
            rows @ SummaryError::Rows { .. } => Self::Damaged {
                complaint: rows.to_string(),
                mend: "`specimen verify` names the rows that were changed".to_owned(),
            },
        }
    }
}
