//! Inception Score: how sure a classifier is of each picture, and how evenly the pictures spread over its classes.
//!
//! `exp(mean_x KL(p(y|x) || mean_x p(y|x)))` (Salimans et al. 2016, section 4), from logits. The value depends on the
//! split: torch-fidelity shuffles with `RandomState(2020)`, cuts 10 splits and reports mean and population deviation
//! over them; with one split the value is that of all pictures. All is f64, summed in row order within a split.

use crate::blocks::map_in_order;
use crate::error::{StatsError, require_count};
use crate::features::FeatureRows;
use crate::numpy_random::NumpyRandom;

/// The order in which pictures are cut into splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitOrder {
    /// As they come.
    AsGiven,
    /// By `RandomState(seed).permutation(n)`; torch-fidelity takes the seed 2020.
    Shuffled(u32),
}

/// How pictures in their order are cut into splits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitCut {
    /// Split `i` of `s` holds rows `floor(i n / s)` to `floor((i + 1) n / s)`, and the deviation is that of the splits
    /// as they are (divisor `s`): torch-fidelity.
    Even,
    /// Splits of `ceil(n / s)` rows, the last of what is left, so that there may be fewer than `s`; the deviation is
    /// that of a sample (divisor one less): `torch.chunk` and `torch.std`, torchmetrics.
    Chunks,
}

/// The score over splits.
#[derive(Clone, Debug, PartialEq)]
pub struct InceptionScore {
    /// Mean over splits, from 1 to the number of classes.
    pub mean: f64,
    /// Deviation over splits, with the divisor of the cut; 0 for one split, where torch.std has none.
    pub deviation: f64,
    /// The score of each split.
    pub values: Vec<f64>,
}

/// Returns the score of `logits`, `[n, n_classes]`, before any softmax and without the classifier's bias as the
/// tools have it, over splits that are cut evenly.
///
/// # Errors
/// No split and fewer pictures than splits.
pub fn inception_score(
    logits: &FeatureRows,
    n_splits: usize,
    order: SplitOrder,
) -> Result<InceptionScore, StatsError> {
    inception_score_cut(logits, n_splits, order, SplitCut::Even)
}

/// As [`inception_score`], over splits that are cut by `cut`.
///
/// # Errors
/// As [`inception_score`].
pub fn inception_score_cut(
    logits: &FeatureRows,
    n_splits: usize,
    order: SplitOrder,
    cut: SplitCut,
) -> Result<InceptionScore, StatsError> {
    require_count("inception score: splits", 1, n_splits as u64)?;
    let n = logits.n();
    require_count("inception score: pictures (one a split)", n_splits as u64, n as u64)?;
    let order: Vec<usize> = match order {
        SplitOrder::AsGiven => (0..n).collect(),
        SplitOrder::Shuffled(seed) => NumpyRandom::new(seed).permutation(n),
    };
    let splits: Vec<&[usize]> = match cut {
        SplitCut::Even => (0..n_splits).map(|i| &order[i * n / n_splits..(i + 1) * n / n_splits]).collect(),
        SplitCut::Chunks => order.chunks(n.div_ceil(n_splits)).collect(),
    };
    let values = map_in_order(&splits, |rows| score_of_split(logits, rows));
    let n_values = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n_values;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let divisor = match cut {
        SplitCut::Even => n_values,
        SplitCut::Chunks => (n_values - 1.0).max(1.0),
    };
    Ok(InceptionScore { mean, deviation: (squares / divisor).sqrt(), values })
}

/// `exp` of the mean divergence, as the entropy of the mean less the mean entropy.
fn score_of_split(logits: &FeatureRows, rows: &[usize]) -> f64 {
    let n = rows.len() as f64;
    let mut mean = vec![0.0; logits.d()];
    let mut negative_entropy = 0.0;
    for &row in rows {
        let largest = logits.row(row).iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let shifted: Vec<f64> = logits.row(row).iter().map(|&x| f64::from(x) - f64::from(largest)).collect();
        let total: f64 = shifted.iter().map(|x| x.exp()).sum();
        for (sum, x) in mean.iter_mut().zip(&shifted) {
            let p = x.exp() / total;
            *sum += p / n;
            negative_entropy += p * (x - total.ln());
        }
    }
    // A class of probability zero adds nothing to either entropy.
    let negative_entropy_of_mean: f64 = mean.iter().filter(|&&p| p > 0.0).map(|p| p * p.ln()).sum();
    (negative_entropy / n - negative_entropy_of_mean).exp()
}
