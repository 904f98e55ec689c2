//! Rows of features, and what can go wrong on the way to them.

use std::{fmt::Display, path::Path};

use specimen_foundation::{
    failure,
    failure::{Failure, FailureKind, FailureMessage},
};
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
    /// What nobody acts on.
    #[error(transparent)]
    Stated(#[from] FailureMessage),
    /// Weights that cannot be read, or are another network's.
    #[error(transparent)]
    Weights(#[from] LoadError),
    /// Weights or a vocabulary that are not there, or are not what they should be.
    #[error(transparent)]
    Lookup(#[from] LookupError),
}

impl Failure for ExtractError {
    fn kind(&self) -> Option<FailureKind> {
        Some(if let Self::Stated(message) = self { message.kind } else { FailureKind::Missing })
    }
}

/// A batch that a network does not take.
pub(crate) fn batch(network: impl Display, expected: impl Display, found: impl Display) -> ExtractError {
    failure!(Bug: "{network} takes {expected}, found {found}").into()
}

/// A vocabulary that is not the one the network was trained with, or cannot be read.
pub(crate) fn vocabulary(path: impl AsRef<Path>, reason: impl Display) -> ExtractError {
    failure!(Missing: "{}: {reason}", path.as_ref().display()).into()
}
