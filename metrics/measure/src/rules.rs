//! The tables of a protocol, one a metric: what the value depends on besides the features. A protocol without a
//! metric's table does not say how that metric is computed.

use serde::{Deserialize, Serialize};
pub use specimen_foundation::dtype::Dtype;
use specimen_stats::{
    StatsError,
    clip_scalings::ClipScaling,
    inception_score::SplitCut,
    kid_subsets::{SubsetPlan, SubsetRule},
};

/// What makes features.
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

/// `[fid]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct FidRule {
    /// The covariance is divided by `n - ddof`; every tool takes 1, and nothing else is computed here.
    pub ddof: u32,
}

/// `[kid]`, the estimator of the squared discrepancy under the cubic kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "estimator", rename_all = "kebab-case", deny_unknown_fields)]
pub enum KidRule {
    /// The unbiased estimate over all pairs of rows.
    AllPairs,
    /// The mean over random subsets.
    Subsets {
        /// Whose order of draws.
        draw: Draw,
        /// The side that is the tool's first set, which its order of draws speaks of.
        first: FirstSet,
        /// How many.
        n_subsets: usize,
        /// Rows of each.
        subset_size: usize,
        /// Seed of NumPy's generator.
        seed: u32,
    },
}

/// Whose subsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Draw {
    /// torch-fidelity's.
    TorchFidelity,
    /// clean-fid's.
    CleanFid,
}

/// The side of a comparison that a tool takes for its first set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FirstSet {
    /// The reference: torchmetrics, clean-fid.
    Real,
    /// What is measured: torch-fidelity's input 1.
    Generated,
}

/// `[prdc]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PrdcRule {
    /// Which neighbour a ball reaches.
    pub k: usize,
    /// Whether the surface of a ball belongs to it.
    pub rule: Surface,
}

/// How a distance is held against a radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum Surface {
    /// The surface does not belong to the ball.
    #[serde(rename = "<")]
    Open,
    /// It does.
    #[serde(rename = "<=")]
    Closed,
}

impl Surface {
    /// `<` or `<=`.
    #[must_use]
    pub fn sign(self) -> &'static str {
        match self {
            Self::Open => "<",
            Self::Closed => "<=",
        }
    }
}

/// `[is]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct InceptionScoreRule {
    /// The layer of the logits, which is another than that of the features.
    pub layer: String,
    /// Splits, over which the score is averaged.
    pub n_splits: usize,
    /// How pictures are cut into splits.
    #[serde(default)]
    pub split: Split,
    /// Seed of the shuffle before the split; without it pictures are split in the order of their names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shuffle_seed: Option<u32>,
}

/// How pictures are cut into splits, and what the deviation over them is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// As even as can be, divisor `n`: torch-fidelity.
    #[default]
    Even,
    /// `torch.chunk`: of equal size but the last, maybe fewer than asked for; divisor `n - 1`: torchmetrics.
    Chunks,
}

impl Split {
    /// The statistic's name for it.
    #[must_use]
    pub fn cut(self) -> SplitCut {
        match self {
            Self::Even => SplitCut::Even,
            Self::Chunks => SplitCut::Chunks,
        }
    }
}

/// `[cmmd]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct CmmdRule {
    /// The kernel of the biased estimate.
    pub kernel: CmmdKernel,
}

/// The kernel of CMMD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum CmmdKernel {
    /// Gaussian of width 10 on embeddings of unit length, times 1000.
    #[serde(rename = "gaussian-10")]
    Gaussian10,
}

/// `[vendi]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct VendiRule {
    /// The kernel whose eigenvalues are counted.
    pub kernel: VendiKernel,
}

/// The kernel of the Vendi score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum VendiKernel {
    /// The cosine of two rows.
    Cosine,
}

/// `[clip-score]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ClipScoreRule {
    /// Whose scale the value is on.
    pub scaling: Scaling,
    /// What every text begins with.
    #[serde(default)]
    pub prefix: String,
    /// Where it is put.
    #[serde(default)]
    pub prefix_as: PrefixAs,
    /// How texts are cleaned and cut.
    #[serde(default)]
    pub text: TextCleaning,
}

/// Whose cleaning of texts, and whose cut of those that are too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TextCleaning {
    /// OpenAI's: ftfy and HTML entities are mended, and a text that is too long keeps its end token.
    #[default]
    OpenAi,
    /// transformers': NFC, white space and lower case only, and a text that is too long loses its end token.
    Hf,
}

/// The scales of CLIP scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// `mean(2.5 max(cos, 0))`.
    Clipscore,
    /// `max(mean(100 cos), 0)`.
    Torchmetrics,
    /// `mean(cos)`.
    RawCosine,
}

impl Scaling {
    /// The statistic behind the name.
    #[must_use]
    pub fn statistic(self) -> ClipScaling {
        match self {
            Self::Clipscore => ClipScaling::ClipScore,
            Self::Torchmetrics => ClipScaling::Torchmetrics,
            Self::RawCosine => ClipScaling::RawCosine,
        }
    }
}

/// Where a prefix goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PrefixAs {
    /// In front of the text, before it is cut into tokens.
    #[default]
    Text,
    /// As tokens between the start token and those of the text.
    Tokens,
}

impl KidRule {
    /// How subsets are drawn, where they are.
    ///
    /// # Errors
    /// Counts that make no subsets.
    pub fn subsets(&self) -> Result<Option<SubsetPlan>, StatsError> {
        match *self {
            Self::AllPairs => Ok(None),
            Self::Subsets { draw, first: _, n_subsets, subset_size, seed } => {
                let rule = match draw {
                    Draw::TorchFidelity => SubsetRule::TorchFidelity,
                    Draw::CleanFid => SubsetRule::CleanFid,
                };
                SubsetPlan::new(rule, n_subsets, subset_size, seed).map(Some)
            }
        }
    }
}
