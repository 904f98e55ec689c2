//! How alike the target's features are along an image: cosines between image rows, and within the last row, of the
//! features that predict its tokens, from one teacher-forced pass. The features are those of the row with the
//! caption, after the final norm: what draft heads read.

use specimen_decode::dist::TokenId;
use tch::{Kind, Tensor};

use crate::seam::{generation::ModelGeneration, likelihood::teacher_forced};

/// Cosines of an image's features.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureRows {
    /// `[n_rows, n_rows]`: mean over columns of the cosine between the features of two image rows in that column.
    pub between: Vec<f64>,
    /// `[n_cols, n_cols]`: cosines between the features of the last image row.
    pub last_row: Vec<f64>,
}

/// Cosines of the features of `tokens`, which are a whole image of `n_cols` tokens a row.
///
/// `generation` must be fresh: its prefix is used, its cache is not.
///
/// # Panics
/// If the tokens are no whole rows.
#[must_use]
pub fn feature_rows(generation: &ModelGeneration, tokens: &[TokenId], n_cols: usize) -> FeatureRows {
    let _guard = tch::no_grad_guard();
    assert!(!tokens.is_empty() && tokens.len().is_multiple_of(n_cols), "an image has whole rows");
    let (n_rows, n_cols) = ((tokens.len() / n_cols) as i64, n_cols as i64);
    let features = teacher_forced(generation, tokens).select(0, 0).to_kind(Kind::Float);
    let lengths = features.norm_scalaropt_dim(2.0, [-1_i64].as_slice(), true).clamp_min(1e-12);
    // `[n_rows, n_cols, d]`, every feature of length 1.
    let unit = (features / lengths).view([n_rows, n_cols, -1]);
    let columns = unit.transpose(0, 1);
    let between = columns.matmul(&columns.transpose(1, 2)).mean_dim([0_i64].as_slice(), false, None::<Kind>);
    let last = unit.select(0, n_rows - 1);
    FeatureRows { between: host(&between), last_row: host(&last.matmul(&last.transpose(0, 1))) }
}

fn host(values: &Tensor) -> Vec<f64> {
    Vec::try_from(values.to_kind(Kind::Double).to_device(tch::Device::Cpu).reshape([-1]))
        .expect("a tensor of doubles is a list of them")
}
