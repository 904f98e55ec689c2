//! The seam to the feature networks: prepared pixels or texts go in, rows of features come out, under an identity
//! that names network, layer, element type and weights. What implements it may use tensors; this crate does not.

use crate::error::{MeasureError, NetworkFault};
use crate::rules::{NetworkRule, PrefixAs};

/// Pictures of one size as the protocol's steps left them.
#[derive(Clone, Debug, PartialEq)]
pub struct Batch {
    /// How many.
    pub n: usize,
    /// Pixels down.
    pub height: usize,
    /// Pixels across.
    pub width: usize,
    /// `[n, 3, height, width]`, row-major.
    pub values: Vec<f32>,
}

/// A network for pictures, with its weights.
pub trait ImageNetwork {
    /// `inception-fid-2048-f32@1a2b3c4d5e6f`: network, layer, element type and digest of the weights.
    fn identity(&self) -> String;

    /// Width of a row.
    fn n_dims(&self) -> usize;

    /// Features of `batch`, `[n, n_dims]` by rows. The row of a picture does not depend on the pictures beside it,
    /// nor on its place.
    fn forward(&self, batch: Batch) -> Result<Vec<f32>, NetworkFault>;
}

/// A network for texts, with its weights.
pub trait TextNetwork {
    /// Width of a row, that of the picture network it belongs to.
    fn n_dims(&self) -> usize;

    /// Embeddings of `texts`, `[n, n_dims]` by rows.
    fn embed(&self, texts: &[String]) -> Result<Vec<f32>, NetworkFault>;
}

/// Opens networks by the names in protocols.
pub trait Networks {
    /// The network for pictures that a rule names.
    fn images(&self, rule: &NetworkRule) -> Result<Box<dyn ImageNetwork>, MeasureError>;

    /// The network for texts beside it, every text beginning with `prefix`.
    fn texts(
        &self,
        rule: &NetworkRule,
        prefix: &str,
        prefix_as: PrefixAs,
    ) -> Result<Box<dyn TextNetwork>, MeasureError>;
}

/// No networks: features and statistics that were made before are all that can be measured.
#[derive(Clone, Copy, Debug)]
pub struct NoNetworks;

impl Networks for NoNetworks {
    fn images(&self, rule: &NetworkRule) -> Result<Box<dyn ImageNetwork>, MeasureError> {
        Err(MeasureError::NoNetworks { network: rule.name.clone() })
    }

    fn texts(
        &self,
        rule: &NetworkRule,
        _prefix: &str,
        _prefix_as: PrefixAs,
    ) -> Result<Box<dyn TextNetwork>, MeasureError> {
        Err(MeasureError::NoNetworks { network: rule.name.clone() })
    }
}
