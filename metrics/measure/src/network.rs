//! The seam to the feature networks: prepared pixels or texts go in, rows of features come out, under an identity
//! that names network, layer, element type and weights. What implements it may use tensors; this crate does not.

use serde::{Deserialize, Serialize};
pub use specimen_foundation::dtype::Dtype;

use crate::error::{MeasureError, NetworkFault};
use crate::metrics::clip_score::ClipScoreRule;

/// The network of a protocol, which makes the features.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkRule {
    /// The network's name, `inception-fid` say.
    pub name: String,
    /// The layer whose output is the feature, `2048` say.
    pub layer: String,
    /// What its arithmetic is done in.
    pub dtype: Dtype,
}

/// Where weights came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provenance {
    /// In words.
    pub words: String,
    /// Whether a published digest vouches for it.
    pub is_published: bool,
}

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

/// One layer of the rows that a network gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// As [`ImageNetwork::identity`], of this layer.
    pub identity: String,
    /// Its features of a row.
    pub n_dims: usize,
}

/// A network for pictures, with its weights.
pub trait ImageNetwork {
    /// `inception-fid-2048-f32@1a2b3c4d5e6f`: network, layer, element type and digest of the weights.
    fn identity(&self) -> String;

    /// Width of a row.
    fn n_dims(&self) -> usize;

    /// The layers whose features stand one behind the other in a row; one unless the network was opened for several.
    fn parts(&self) -> Vec<Part> {
        vec![Part { identity: self.identity(), n_dims: self.n_dims() }]
    }

    /// Where its weights came from; absent for a network without weights.
    fn provenance(&self) -> Option<Provenance> {
        None
    }

    /// Features of `batch`, `[n, n_dims]` by rows. The row of a picture does not depend on the pictures beside it,
    /// nor on its place; it may depend on how many they are, in its last digits.
    ///
    /// # Errors
    /// A batch that the network does not take.
    fn forward(&self, batch: Batch) -> Result<Vec<f32>, NetworkFault>;
}

/// A network for texts, with its weights.
pub trait TextNetwork {
    /// As [`ImageNetwork::identity`].
    fn identity(&self) -> String;

    /// Logarithm of the factor that the network was trained to multiply cosines with.
    fn logit_scale(&self) -> f64;

    /// Width of a row, that of the picture network it belongs to.
    fn n_dims(&self) -> usize;

    /// How many of `texts` there are of each kind that a reader of a score should know of, by the kind's name among the
    /// details: `captions_cut` are longer than what the network sees of them.
    fn counts(&self, texts: &[String]) -> Vec<(&'static str, usize)>;

    /// Embeddings of `texts`, `[n, n_dims]` by rows.
    ///
    /// # Errors
    /// Texts that the network does not take.
    fn embed(&self, texts: &[String]) -> Result<Vec<f32>, NetworkFault>;
}

/// Opens networks by the names in protocols.
pub trait Networks {
    /// The network for pictures that a rule names.
    ///
    /// # Errors
    /// A network that cannot be opened.
    fn images(&self, rule: &NetworkRule) -> Result<Box<dyn ImageNetwork>, MeasureError>;

    /// The network of a rule, opened for several layers that one pass computes; a row has their features one behind
    /// the other, each as [`Networks::images`] would give them.
    ///
    /// # Errors
    /// A network that cannot be opened, or has no such layer.
    fn images_of_layers(
        &self,
        rule: &NetworkRule,
        layers: &[&str],
    ) -> Result<Box<dyn ImageNetwork>, MeasureError>;

    /// Features of a row by the network and layer that a rule names, where that is known without weights.
    fn n_dims(&self, _: &NetworkRule) -> Option<usize> {
        None
    }

    /// The network for texts beside it, in the same element type, with texts as `texts` prepares them.
    ///
    /// # Errors
    /// A network that cannot be opened.
    fn texts(&self, rule: &NetworkRule, texts: &ClipScoreRule) -> Result<Box<dyn TextNetwork>, MeasureError>;
}

/// No networks: features and statistics that were made before are all that can be measured.
#[derive(Clone, Copy, Debug)]
pub struct NoNetworks;

impl Networks for NoNetworks {
    fn images(&self, rule: &NetworkRule) -> Result<Box<dyn ImageNetwork>, MeasureError> {
        Err(MeasureError::NoNetworks { network: rule.name.clone() })
    }

    fn images_of_layers(
        &self,
        rule: &NetworkRule,
        _: &[&str],
    ) -> Result<Box<dyn ImageNetwork>, MeasureError> {
        self.images(rule)
    }

    fn texts(&self, rule: &NetworkRule, _: &ClipScoreRule) -> Result<Box<dyn TextNetwork>, MeasureError> {
        Err(MeasureError::NoNetworks { network: rule.name.clone() })
    }
}
