//! How alike the target's features are along an image: cosines between image rows, within the last row, and between
//! any positions, of the features that predict its tokens, from one teacher-forced pass. The features are those of the
//! row with the caption, after the final norm: what draft heads read.

use specimen_decode::dist::TokenId;
use tch::{Kind, Tensor};

use crate::seam::{generation::ModelGeneration, likelihood::teacher_forced};

/// Cosines of an image's features.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureRows {
    /// Rows of the picture, and tokens of a row.
    pub n: usize,
    /// `[n, n]`: mean over columns of the cosine between the features of two image rows in that column.
    pub between: Vec<f64>,
    /// Mean cosine between the features of tokens that follow each other, in the order in which they are drawn.
    pub neighbours: f64,
    /// `[n, n]`: cosines between the features of the last image row.
    pub last_row: Vec<f64>,
}

/// Cosines of the features of `tokens`, which are a whole image of a square picture. Tokens that the format forces (line
/// ends, image end) belong to no row.
///
/// `generation` must be fresh: its prefix is used, its cache is not.
pub fn feature_rows(generation: &ModelGeneration, tokens: &[TokenId]) -> Result<FeatureRows, usize> {
    use specimen_decode::generation::Generation;
    let _guard = tch::no_grad_guard();
    let picture: Vec<usize> = (0..tokens.len()).filter(|&at| generation.forced(at).is_none()).collect();
    let n = picture.len().isqrt();
    if n == 0 || n * n != picture.len() {
        return Err(picture.len());
    }
    // `[n, n, d]`, every feature of length 1.
    let unit = unit_features(generation, tokens, &picture);
    let (n_tokens, following) = ((n * n) as i64, (n * n).saturating_sub(1).max(1) as i64);
    let products = unit.narrow(0, 0, n_tokens - 1) * unit.narrow(0, 1, n_tokens - 1);
    let neighbours = products.sum(Kind::Double).double_value(&[]) / following as f64;
    let unit = unit.view([n as i64, n as i64, -1]);
    let columns = unit.transpose(0, 1);
    let between = columns.matmul(&columns.transpose(1, 2)).mean_dim([0_i64].as_slice(), false, None::<Kind>);
    let last = unit.select(0, n as i64 - 1);
    Ok(FeatureRows {
        n,
        neighbours,
        between: host(&between),
        last_row: host(&last.matmul(&last.transpose(0, 1))),
    })
}

/// `[positions, positions]`: cosines between the features of `tokens`, a whole image, at these positions.
///
/// `generation` must be fresh: its prefix is used, its cache is not.
///
/// # Panics
/// If a position is beyond the image.
pub fn feature_pairs(generation: &ModelGeneration, tokens: &[TokenId], positions: &[usize]) -> Vec<f64> {
    let _guard = tch::no_grad_guard();
    let unit = unit_features(generation, tokens, positions);
    host(&unit.matmul(&unit.transpose(0, 1)))
}

/// `[positions, d]`: the features that predict the tokens at these positions, divided by their lengths.
fn unit_features(generation: &ModelGeneration, tokens: &[TokenId], positions: &[usize]) -> Tensor {
    let features = teacher_forced(generation, tokens).select(0, 0).to_kind(Kind::Float);
    let at: Vec<i64> = positions.iter().map(|&position| position as i64).collect();
    let features = features.index_select(0, &Tensor::from_slice(&at).to_device(features.device()));
    let lengths = features.norm_scalaropt_dim(2.0, [-1_i64].as_slice(), true).clamp_min(1e-12);
    features / lengths
}

fn host(values: &Tensor) -> Vec<f64> {
    Vec::try_from(values.to_kind(Kind::Double).to_device(tch::Device::Cpu).reshape([-1]))
        .expect("a tensor of doubles is a list of them")
}
