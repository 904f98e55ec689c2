//! How a protocol names its networks, and what opens them. The networks are behind the seam of
//! `specimen_pixels::network`; what implements them may use tensors, this crate does not.

use std::{fmt, path::PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use specimen_foundation::dtype::Dtype;
pub use specimen_pixels::network::{Batch, FeatureNetwork, NetworkFault, PairNetwork, Part, PromptedNetwork};

use crate::error::MeasureError;
use crate::metrics::clip_score::ClipScoreRule;

/// The network of a protocol, which makes the features.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
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
    /// Their file.
    pub file: PathBuf,
    /// Where they came from, in words.
    pub words: String,
    /// Whether a published digest vouches for it.
    pub is_published: bool,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.file.display(), self.words)
    }
}

impl Provenance {
    /// What a reader must know of values by the network `identity` with these weights; nothing where a published digest
    /// vouches for them. It names no folder, so that it is the same on every machine.
    pub fn note(&self, identity: &str) -> Option<String> {
        let file = self.file.file_name().unwrap_or_default().to_string_lossy();
        let note =
            || format!("{identity}: no published digest vouches for its weights: {file}: {}", self.words);
        (!self.is_published).then(note)
    }
}

/// A network for pictures, and where its weights came from.
pub struct Opened {
    /// The network.
    pub network: Box<dyn FeatureNetwork>,
    /// Absent for a network without weights.
    pub provenance: Option<Provenance>,
}

/// A network that compares pictures in pairs, and where its weights came from.
pub struct OpenedPairs {
    /// The network.
    pub network: Box<dyn PairNetwork>,
    /// Of each of its files.
    pub provenance: Vec<Provenance>,
}

/// What makes a score of each row of features, with its weights.
pub trait RowHead {
    /// Its name and the digest of its weights, as [`FeatureNetwork::identity`].
    fn identity(&self) -> String;

    /// The score of each row of `n_dims` features.
    fn scores(&self, rows: &[f32], n_dims: usize) -> Result<Vec<f64>, NetworkFault>;
}

/// A head on features, and where its weights came from.
pub struct OpenedHead {
    /// The head.
    pub head: Box<dyn RowHead>,
    /// Absent for a head without weights.
    pub provenance: Option<Provenance>,
}

/// A network that scores pictures with their prompts, and where its weights came from.
pub struct OpenedPrompted {
    /// The network.
    pub network: Box<dyn PromptedNetwork>,
    /// Absent for a network without weights.
    pub provenance: Option<Provenance>,
}

/// A network for texts, with its weights.
pub trait TextNetwork {
    /// As [`FeatureNetwork::identity`].
    fn identity(&self) -> String;

    /// Logarithm of the factor that the network was trained to multiply cosines with.
    fn logit_scale(&self) -> f64;

    /// Width of a row, that of the picture network it belongs to.
    fn n_dims(&self) -> usize;

    /// How many of `texts` there are of each kind that a reader of a score should know of, by the kind's name among the
    /// details: `captions_cut` are longer than what the network sees of them.
    fn counts(&self, texts: &[String]) -> Vec<(&'static str, usize)>;

    /// Embeddings of `texts`, `[n, n_dims]` by rows.
    fn embed(&self, texts: &[String]) -> Result<Vec<f32>, NetworkFault>;
}

/// Opens networks by the names in protocols.
pub trait Networks {
    /// The network for pictures that a rule names, opened for `layers`, at least one, which one pass computes.
    fn images(&self, rule: &NetworkRule, _layers: &[&str]) -> Result<Opened, MeasureError> {
        Err(crate::error::no_networks(&rule.name))
    }

    /// Features of a row by the network and layer that a rule names, where that is known without weights.
    fn n_dims(&self, _: &NetworkRule) -> Option<usize> {
        None
    }

    /// The head on features that is called `name`.
    fn head(&self, name: &str) -> Result<OpenedHead, MeasureError> {
        Err(crate::error::no_networks(name))
    }

    /// The network that a rule names and that scores pictures with their prompts, of which it sees `n_tokens`.
    fn prompted(&self, rule: &NetworkRule, _n_tokens: usize) -> Result<OpenedPrompted, MeasureError> {
        Err(crate::error::no_networks(&rule.name))
    }

    /// The network that compares pictures in pairs and is called `name`, computing in `dtype`.
    fn pairs(&self, name: &str, _dtype: Dtype) -> Result<OpenedPairs, MeasureError> {
        Err(crate::error::no_networks(name))
    }

    /// The network for texts beside it, in the same element type, with texts as `texts` prepares them.
    fn texts(
        &self,
        rule: &NetworkRule,
        _texts: &ClipScoreRule,
    ) -> Result<Box<dyn TextNetwork>, MeasureError> {
        Err(crate::error::no_networks(&rule.name))
    }
}

/// No networks: features and statistics that were made before are all that can be measured.
#[derive(Clone, Copy, Debug)]
pub struct NoNetworks;

impl Networks for NoNetworks {}
