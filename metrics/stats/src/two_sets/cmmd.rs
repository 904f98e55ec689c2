//! CMMD: the squared maximum mean discrepancy of CLIP embeddings under a Gaussian kernel.
//!
//! Jayasumana et al. 2024 (arXiv 2401.09603), section 4: embeddings of unit length, kernel
//! `exp(-|x - y|^2 / (2 sigma^2))` with sigma 10, the biased estimate (pairs of a row with itself count), times 1000.
//! At that sigma the kernel hardly leaves 1, so what is summed here is its distance from 1, which loses no digits.

use crate::error::{StatsError, require_count};
use crate::features::{FeatureRows, same_width};
use crate::kernel_sums::{sum_between, sum_within};
use crate::unit_rows::unit_rows;

/// Width of the kernel.
const SIGMA: f64 = 10.0;
/// Factor of the printed value.
const SCALE: f64 = 1000.0;

/// Returns the CMMD of two sets of embeddings of any length above 0; at least 0 up to rounding, and symmetric to
/// rounding.
///
/// # Errors
/// Unequal widths, an empty set, and a row of zeros.
pub fn cmmd(first: &FeatureRows, second: &FeatureRows) -> Result<f64, StatsError> {
    same_width("cmmd: features per row", first, second)?;
    for side in [first, second] {
        require_count("cmmd: rows", 1, side.n() as u64)?;
    }
    let (x, y) = (unit_rows("cmmd: embeddings", first)?, unit_rows("cmmd: embeddings", second)?);
    // Of unit vectors |x - y|^2 = 2 - 2 x . y.
    let below_one = |dot: f64| ((dot - 1.0) / (SIGMA * SIGMA)).exp_m1();
    let (n, m) = (x.ncols() as f64, y.ncols() as f64);
    let within_first = 2.0 * sum_within(&x, below_one) / (n * n);
    let within_second = 2.0 * sum_within(&y, below_one) / (m * m);
    let between = sum_between(&x, &y, below_one) / (n * m);
    Ok(SCALE * (within_first + within_second - 2.0 * between))
}
