//! Why a head cannot be trained.

use std::path::PathBuf;

use specimen_foundation::failure::{Failure, FailureKind};

/// What stands in the way of a training, with what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum TrainError {
    /// A training specification that says something wrong.
    #[error("{path}: {reason}")]
    Spec {
        /// The specification, with line and column where they are known.
        path: PathBuf,
        /// What is wrong, and what is expected.
        reason: String,
    },
    /// A loss or a gradient that is no number.
    #[error(
        "step {step}: the loss is {what} and the gradient is {grad_norm} long: training diverged; lower \
         schedule.learning_rate or raise schedule.n_warmup, and remove {state} to begin again"
    )]
    Diverged {
        /// The step, from 1.
        step: u64,
        /// The loss.
        what: f64,
        /// Length of the gradient.
        grad_norm: f64,
        /// The last saved state, from before the step.
        state: PathBuf,
    },
    /// A saved file of another training: its state, or its images.
    #[error(
        "{path}: it was made for {found}; expected: {expected}. Remove it to begin again, or use another folder"
    )]
    OfAnother {
        /// The file.
        path: PathBuf,
        /// What it says of itself.
        found: String,
        /// What the training would have it say.
        expected: String,
    },
    /// Features of another target, or of other images.
    #[error(
        "{path}: these features have {what} {found}, and the training has {expected}; write its own with `specimen data features`, or leave `features` out of the specification"
    )]
    OtherFeatures {
        /// The manifest, or a file of features.
        path: PathBuf,
        /// The entry in which they differ.
        what: String,
        /// What the features have, as JSON.
        found: String,
        /// What the training has, as JSON.
        expected: String,
    },
    /// Features that are not there, or not all of them.
    #[error(
        "{path}: there are no whole features; `specimen data features` writes them, or continues where it was cut; or leave `features` out of the specification"
    )]
    NoFeatures {
        /// The folder.
        path: PathBuf,
    },
    /// A file of features that is not the one that was written.
    #[error("{path}: {reason}; remove it and run `specimen data features` again")]
    DamagedFeatures {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Weights to begin with that are not those of the head.
    #[error(
        "{path}: these weights do not fit a head of `{model}`: {reason}; name those of a head of this model, or leave head.from out"
    )]
    Start {
        /// The file.
        path: PathBuf,
        /// Name of the model.
        model: String,
        /// What does not fit.
        reason: String,
    },
}

impl Failure for TrainError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Spec { .. } => FailureKind::Spec,
            Self::Diverged { .. } => FailureKind::Failed,
            Self::OfAnother { .. }
            | Self::OtherFeatures { .. }
            | Self::NoFeatures { .. }
            | Self::DamagedFeatures { .. }
            | Self::Start { .. } => FailureKind::Missing,
        })
    }
}
