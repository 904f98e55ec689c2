//! The seam of every feature network: pictures in, rows of features out, under an identity that names the
//! weights and the preprocessing.

use std::path::PathBuf;

use specimen_foundation::failure::{Failure, FailureKind};
use specimen_weights::LoadError;

use crate::weights_lookup::LookupError;

/// 8-bit pictures of one size, as decoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pictures {
    /// Pixels across.
    pub width: usize,
    /// Pixels down.
    pub height: usize,
    /// 3 for RGB, 1 for grey.
    pub channels: usize,
    /// `[n, height, width, channels]`, row-major.
    pub bytes: Vec<u8>,
}

impl Pictures {
    /// Number of pictures.
    #[must_use]
    pub fn len(&self) -> usize {
        let size = self.width * self.height * self.channels;
        self.bytes.len().checked_div(size).unwrap_or(0)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

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
    /// The weights.
    #[error(transparent)]
    Weights(#[from] LoadError),
    /// Weights or a vocabulary that are not there, or are not what they should be.
    #[error(transparent)]
    Lookup(#[from] LookupError),
    /// Pictures of a size the network does not take.
    #[error("{extractor} takes pictures of {expected}, found {found}")]
    Size {
        /// The network.
        extractor: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What came.
        found: String,
    },
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
        /// The network.
        network: &'static str,
        /// The layer that was asked for.
        found: String,
        /// The layers that there are.
        known: String,
    },
    /// A batch that a network does not take.
    #[error("{network} takes {expected}, found {found}")]
    Batch {
        /// The network.
        network: String,
        /// What it takes.
        expected: String,
        /// What came.
        found: String,
    },
    /// A vocabulary that is not the one the network was trained with, or cannot be read.
    #[error("{path}: {reason}")]
    Vocabulary {
        /// The file.
        path: PathBuf,
        /// What is wrong and what to do.
        reason: String,
    },
}

impl Failure for ExtractError {
    fn kind(&self) -> Option<FailureKind> {
        Some(match self {
            Self::Weights(_) | Self::Lookup(_) | Self::Vocabulary { .. } => FailureKind::Missing,
            Self::Layer { .. } => FailureKind::Spec,
            Self::Batch { .. } | Self::Size { .. } | Self::Caption { .. } => FailureKind::Bug,
        })
    }
}

/// A network that turns pictures into features.
pub trait FeatureExtractor {
    /// Name, preprocessing and weights digest, as `scenes@64-rgb@1a2b3c4d5e6f`: part of every number's
    /// identity.
    fn identity(&self) -> String;

    /// Features of `pictures`, `[n, d]`.
    ///
    /// # Errors
    /// Pictures of a size the network does not take.
    fn features(&self, pictures: &Pictures) -> Result<Features, ExtractError>;
}
