//! `diagnostics/<name>/<cell>.json`: what was seen in a few images of one cell that no number sums up, or the
//! reason why there is nothing. Made after the images, from their tokens and seeds, so that it costs no timed
//! image anything.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Document, ItemKey};

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
    /// How alike the paths of draft trees are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draft_paths: Option<DraftPaths>,
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
    /// `[n_rows, n_rows]`: between two image rows, mean over columns.
    pub between: Vec<f64>,
    /// `[n_cols, n_cols]`: within the last image row.
    pub last_row: Vec<f64>,
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
        let is_empty = self.feature_rows.is_empty() && self.draft_paths.is_none();
        if is_empty && self.why.as_deref().is_none_or(|why| why.trim().is_empty()) {
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
        Ok(())
    }
}
