//! Rows of features, and what can go wrong on the way to them.

use std::path::PathBuf;

use specimen_foundation::failure::{Failure, FailureKind};
use specimen_weights::LoadError;

use crate::weights_lookup::LookupError;

/// Rows of features.
#[derive(Clone, Debug, PartialEq)]
pub struct Features {
    /// Width of a row.
    pub n_dims: usize,
    /// `[n, n_dims]`, row-major.
    pub rows: Vec<f32>,
}

/// What can go wrong on the way from pictures to features.
#[derive(Debug, thiserror::Error)]
pub enum ExtractError {
    /// Weights that cannot be read, or are another network's.
    #[error(transparent)]
    Weights(#[from] LoadError),
    /// Weights or a vocabulary that are not there, or are not what they should be.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// A caption outside the network's vocabulary.
    #[error("caption ids {found:?} are not {expected} ids below {n_words}")]
    Caption {
        /// The ids.
        found: Vec<u16>,
        /// Slots of a caption.
        expected: usize,
        /// Vocabulary size.
        n_words: usize,
    },
    /// A layer that a network does not have.
    #[error("{network} has no layer `{found}`; it has {known}")]
    Layer {
        /// Name of the network.
        network: &'static str,
        /// The layer that was asked for.
        found: String,
        /// The layers that there are.
        known: String,
    },
    /// A batch that a network does not take.
    #[error("{network} takes {expected}, found {found}")]
    Batch {
        /// Name of the network.
        network: String,
        /// What it takes.
        expected: String,
        /// What came.
        found: String,
    },
    /// Pictures that are too small for a network.
    #[error(
        "{network} takes pictures of at least {least}x{least} pixels, found {width}x{height}; give larger pictures"
    )]
    TooSmall {
        /// Name of the network.
        network: &'static str,
        /// Least pixels along an edge.
        least: usize,
        /// Pixels across.
        width: usize,
        /// Pixels down.
        height: usize,
    },
    /// A vocabulary that is not the one the network was trained with, or cannot be read.
    #[error("{path}: {reason}")]
    Vocabulary {
        /// Path of the file.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
}

impl Failure for ExtractError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Weights(_) | Self::Lookup(_) | Self::Vocabulary { .. } | Self::TooSmall { .. } => {
                FailureKind::Missing
            }
            Self::Layer { .. } => FailureKind::Spec,
            Self::Batch { .. } | Self::Caption { .. } => FailureKind::Bug,
        })
    }
}
