//! Why a model cannot be opened, or cannot do what is asked of it.

use std::path::PathBuf;

use specimen_catalog::hub::HubError;
use specimen_foundation::failure::{Failure, FailureKind};
use specimen_weights::LoadError;

/// A prompt or a request that a model cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Weights that cannot be loaded.
    #[error(transparent)]
    Weights(#[from] LoadError),
    /// Published files that are here and are not what was published.
    #[error(transparent)]
    Published(#[from] HubError),
    /// A prompt the model does not take.
    #[error("model `{model}` cannot take the prompt: {reason}")]
    Prompt {
        /// Name of the model.
        model: String,
        /// Why, and what it would take.
        reason: String,
    },
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
    /// A drafter this model has no weights for.
    #[error("model `{model}` has no drafter `{drafter}`; it has: {known}")]
    Drafter {
        /// Name of the model.
        model: String,
        /// What was asked for.
        drafter: String,
        /// What there is.
        known: String,
    },
    /// A name that is not in the catalog.
    #[error("there is no model `{found}`; did you mean `{nearest}`? Known models: {known}")]
    Unknown {
        /// What was asked for.
        found: String,
        /// The known name nearest to it.
        nearest: &'static str,
        /// All names.
        known: String,
    },
    /// Published files that are neither below a folder of this program nor in the cache of the hub.
    #[error(
        "model `{model}` is not on this machine: no {parts} in {looked}; fetch it:\n    specimen data fetch {model}"
    )]
    Unfetched {
        /// The model, or the head of one.
        model: String,
        /// The parts that are missing, such as `target, text tokenizer`.
        parts: String,
        /// The folders that were looked in.
        looked: String,
    },
    /// `weights` of a spec that are not those of its model.
    #[error("model `{model}`: {path} has no {role}; expected a file of tensors, or a folder with {expected}")]
    Given {
        /// Name of the model.
        model: String,
        /// What the spec names.
        path: PathBuf,
        /// The part that is missing.
        role: String,
        /// The files that it can be.
        expected: String,
    },
    /// `weights` of a spec for a model that has no files.
    #[error(
        "model `{model}` takes no `weights`, found {path}: its own are part of the program; leave the key out"
    )]
    NoFiles {
        /// Name of the model.
        model: String,
        /// What the spec names.
        path: PathBuf,
    },
    /// Made weights for a model whose network has no way of being made.
    #[error(
        "model `{model}` cannot have made weights: only LlamaGen, Janus-Pro, Lumina-mGPT, Anole, Emu3 and Liquid can; fetch its own: \
         specimen data fetch {model}"
    )]
    NotMade {
        /// Name of the model.
        model: String,
    },
    /// Sampling settings the model cannot follow.
    #[error("model `{model}`: {reason}")]
    Sampling {
        /// Name of the model.
        model: String,
        /// What is wrong and what is possible.
        reason: String,
    },
}

impl Failure for ModelError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Published(error) => return error.kind(),
            Self::Weights(_) | Self::Unfetched { .. } | Self::Given { .. } => FailureKind::Missing,
            Self::Prompt { .. } | Self::Unknown { .. } => FailureKind::Usage,
            Self::Drafter { .. } | Self::Sampling { .. } | Self::NoFiles { .. } | Self::NotMade { .. } => {
                FailureKind::Spec
            }
            Self::NotKept { .. } => FailureKind::Environment,
        })
    }
}
