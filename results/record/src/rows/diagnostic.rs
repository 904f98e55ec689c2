//! `diagnostics/<name>/<cell>.json`: what was seen in a few images of one cell that no number sums up, or the
//! reason why there is nothing. Made after the images, from their tokens and seeds, so that it costs no timed
//! image anything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Document, ItemKey, SCHEMA};

/// One diagnostic of one cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DiagnosticFile {
    /// Schema number.
    pub schema: u32,
    /// Name of the diagnostic.
    pub diagnostic: String,
    /// Name of the cell.
    pub cell: String,
    /// Cosines of features, one entry an image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feature_rows: Vec<FeatureRows>,
    /// Cosines of features between positions of the whole image, one entry an image.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub feature_pairs: Vec<FeaturePairs>,
    /// How alike the paths of draft trees are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft_paths: Option<DraftPaths>,
    /// How sure target and drafter are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Confidence>,
    /// Guesses of Jacobi windows by the change of their probability.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risen_tokens: Option<RisenTokens>,
    /// Why there is nothing.
    pub why: Option<String>,
}

/// Cosines of the target's features along one image, rounded to four decimals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeatureRows {
    /// Key of the image.
    pub key: ItemKey,
    /// Token rows of it.
    pub n_rows: u32,
    /// Tokens of a row.
    pub n_cols: u32,
    /// Mean between tokens that follow each other; absent in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<f64>,
    /// `[n_rows, n_rows]`: between two image rows, mean over columns.
    pub between: Vec<f64>,
    /// `[n_cols, n_cols]`: within the last image row.
    pub last_row: Vec<f64>,
}

/// Cosines of the target's features at some positions of one image, rounded to four decimals.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FeaturePairs {
    /// Key of the image.
    pub key: ItemKey,
    /// Tokens of the image, those that the format forces included.
    pub n_tokens: u32,
    /// The positions, from 0, evenly spread over the image, at most 64 of them.
    pub positions: Vec<u32>,
    /// `[positions, positions]`.
    pub cosines: Vec<f64>,
}

/// How sure target and drafter are, and how often a draft token of such a probability is accepted.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Confidence {
    /// Sampled tokens by the largest probability of the target's distribution they came from or were tested against;
    /// bins of equal width from 0 to 1.
    pub target: Vec<u64>,
    /// Mean of that probability.
    pub target_mean: f64,
    /// Candidates that were tested first among their siblings, by the drafter's probability of them; bins as above.
    /// Empty if candidates are chosen, so that they have no probability.
    pub tested: Vec<u64>,
    /// Those of them that were accepted.
    pub accepted: Vec<u64>,
    /// Images that were decoded again for it.
    pub n_images: u64,
    /// Those of them whose tokens came out as recorded: fewer on another machine than the run's.
    pub n_repeated: u64,
}

/// Guesses of Jacobi windows by the base-2 logarithm of the target's probability of them in one iteration over that in
/// the iteration before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RisenTokens {
    /// Middle of each bin, of width 1; the outer bins hold all that is beyond them.
    pub log2_ratio: Vec<f64>,
    /// Guesses that were tested, by the change between the two iterations before the test; a hit was accepted.
    pub accepted: GuessTally,
    /// Guesses behind the first rejection, by the change up to that iteration; a hit is the image's token in the end.
    pub correct: GuessTally,
    /// Images that were decoded again for it.
    pub n_images: u64,
    /// Those of them whose tokens came out as recorded: fewer on another machine than the run's.
    pub n_repeated: u64,
}

/// Guesses and hits among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuessTally {
    /// Guesses by bin.
    pub guesses: Vec<u64>,
    /// Hits by bin.
    pub hits: Vec<u64>,
    /// Guesses whose probability rose, and hits among them.
    pub risen: [u64; 2],
    /// Guesses whose probability fell or stayed, and hits among them.
    pub not_risen: [u64; 2],
}

/// A histogram of the similarity of the paths of draft trees.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DraftPaths {
    /// Weight of a position relative to the one before it.
    pub alpha: f64,
    /// Lower end of the first bin, upper end of the last.
    pub range: [f64; 2],
    /// Trees by bin, of equal width.
    pub counts: Vec<u64>,
    /// Trees with too few paths to compare.
    pub n_single: u64,
    /// Mean over the counted trees; absent where there are none.
    pub mean: Option<f64>,
    /// Images that were decoded again for it.
    pub n_images: u64,
    /// Those of them whose tokens came out as recorded: fewer on another machine than the run's.
    pub n_repeated: u64,
}

impl Document for DiagnosticFile {
    const KIND: &'static str = "diagnostic";

    fn schema(&self) -> u32 {
        self.schema
    }

    fn check(&self) -> Result<(), String> {
        if self.is_empty() && self.why.as_deref().is_none_or(|why| why.trim().is_empty()) {
            return Err(format!("`{}` shows nothing and has no `why`", self.diagnostic));
        }
        for image in &self.feature_rows {
            let square = |n: u32| (n as usize) * (n as usize);
            if image.between.len() != square(image.n_rows) || image.last_row.len() != square(image.n_cols) {
                return Err(format!(
                    "{}: {} x {} tokens have other cosines",
                    image.key, image.n_rows, image.n_cols
                ));
            }
        }
        for image in &self.feature_pairs {
            let n = image.positions.len();
            if image.cosines.len() != n * n {
                return Err(format!("{}: {n} positions have {} cosines", image.key, image.cosines.len()));
            }
        }
        let bins = |name: &str, parts: &[&Vec<u64>], n: usize| match parts.iter().all(|part| part.len() == n)
        {
            true => Ok(()),
            false => Err(format!("`{name}` has parts of other lengths than {n} bins")),
        };
        if let Some(found) = &self.confidence {
            bins("confidence", &[&found.accepted], found.tested.len())?;
        }
        if let Some(found) = &self.risen_tokens {
            let parts = [&found.accepted, &found.correct].map(|tally| [&tally.guesses, &tally.hits]);
            bins("risen_tokens", parts.as_flattened(), found.log2_ratio.len())?;
        }
        Ok(())
    }
}

impl DiagnosticFile {
    /// A file that shows nothing yet.
    pub fn new(diagnostic: &str, cell: &str) -> DiagnosticFile {
        DiagnosticFile {
            schema: SCHEMA,
            diagnostic: diagnostic.to_owned(),
            cell: cell.to_owned(),
            feature_rows: Vec::new(),
            feature_pairs: Vec::new(),
            draft_paths: None,
            confidence: None,
            risen_tokens: None,
            why: None,
        }
    }

    fn is_empty(&self) -> bool {
        let has_maps = !self.feature_rows.is_empty() || !self.feature_pairs.is_empty();
        let has_counts =
            self.draft_paths.is_some() || self.confidence.is_some() || self.risen_tokens.is_some();
        !has_maps && !has_counts
    }
}
