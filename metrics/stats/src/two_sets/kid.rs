//! Kernel Inception distance over all rows: the unbiased squared maximum mean discrepancy.
//!
//! Kernel `(x . y / D + 1)^3` (Binkowski et al. 2018, section 4; Gretton et al. 2012, eq. 3). Every pair of rows is
//! used, so there is no subset, no seed and no spread to quote; the value may be slightly negative for equal distributions.
//! The published tools average over random subsets instead: [`crate::kid_subsets`].

use faer::Mat;

use crate::error::{StatsError, require_count};
use crate::features::{FeatureRows, same_width};
use crate::kernel_sums::{sum_between, sum_within, widen};

/// Returns the unbiased KID between `first` and `second`, each `[n, d]` by rows; about 0 for equal distributions, not scaled
/// by 1000. Symmetric to rounding.
///
/// # Errors
/// Fewer than two rows a side, a ragged matrix, or a non-finite value.
pub fn kid(first: &[f32], second: &[f32], d: usize) -> Result<f64, StatsError> {
    kid_of_rows(&FeatureRows::new(first.to_vec(), d)?, &FeatureRows::new(second.to_vec(), d)?)
}

/// Like [`kid`], for rows that were checked before.
///
/// # Errors
/// Unequal widths and fewer than two rows a side.
pub fn kid_of_rows(first: &FeatureRows, second: &FeatureRows) -> Result<f64, StatsError> {
    same_width("kid: features per row", first, second)?;
    for side in [first, second] {
        require_count("kid: rows", 2, side.n() as u64)?;
    }
    Ok(unbiased_discrepancy(&widen(first), &widen(second)))
}

/// Returns the unbiased squared discrepancy of two sets of at least two rows, `[d, n]` and `[d, m]`.
pub(crate) fn unbiased_discrepancy(first: &Mat<f64>, second: &Mat<f64>) -> f64 {
    let d = first.nrows() as f64;
    let kernel = |dot: f64| (dot / d + 1.0).powi(3);
    let within = |x: &Mat<f64>| {
        let n = x.ncols() as f64;
        2.0 * sum_within(x, kernel) / (n * (n - 1.0))
    };
    let between = sum_between(first, second, kernel) / (first.ncols() as f64 * second.ncols() as f64);
    within(first) + within(second) - 2.0 * between
}
