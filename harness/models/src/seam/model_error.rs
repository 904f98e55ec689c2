//! Why a model cannot be opened, or cannot do what is asked of it.

use std::{fmt::Display, path::PathBuf};

use specimen_catalog::hub::HubError;
use specimen_foundation::{failure, failure::Failure, failure::FailureKind, failure::FailureMessage};
use specimen_weights::LoadError;

/// A prompt or a request that a model cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// What nobody acts on.
    #[error(transparent)]
    Stated(#[from] FailureMessage),
    /// Weights that cannot be loaded.
    #[error(transparent)]
    Weights(#[from] LoadError),
    /// Published files that are here and are not what was published.
    #[error(transparent)]
    Published(#[from] HubError),
    /// Features of a prompt that cannot be written to the folder in which they are kept.
    #[error(
        "model `{model}`: features of the prompt cannot be written to {folder}: {source}; free disk space there, or set \
         SPECIMEN_CACHE to another folder"
    )]
    NotKept {
        /// Name of the model.
        model: String,
        /// Path of the folder.
        folder: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

impl Failure for ModelError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Stated(message) => message.kind,
            Self::Published(error) => return error.kind(),
            Self::Weights(_) => FailureKind::Missing,
            Self::NotKept { .. } => FailureKind::Environment,
        })
    }
}

/// Parameters of sampling, or guidance, that a model does not have.
pub(crate) fn sampling(model: impl Display, reason: impl Display) -> ModelError {
    failure!(Spec: "model `{model}`: {reason}").into()
}

/// A prompt that a model cannot take.
pub(crate) fn prompt(model: impl Display, reason: impl Display) -> ModelError {
    failure!(Usage: "model `{model}` cannot take the prompt: {reason}").into()
}
