//! Vendi score: the effective number of different pictures in one set, without a reference.
//!
//! `exp` of the entropy of the eigenvalues of `K / n` (Friedman and Dieng 2023, definition 3.1), `K` holding the cosines
//! of the features. The eigenvalues above zero are also those of the second moment of the unit rows, so the smaller of
//! the two matrices is taken.

use faer::Mat;

use crate::blocks::{blocks, lower_gram, map_in_order, products};
use crate::error::{StatsError, require_count};
use crate::features::FeatureRows;
use crate::symmetric_eigenvalues::symmetric_eigenvalues;
use crate::unit_rows::unit_rows;

/// Returns the Vendi score of `features`, from 1 (all alike) to the number of rows or of features, whichever is
/// smaller.
///
/// # Errors
/// No rows, a row of zeros.
pub fn vendi(features: &FeatureRows) -> Result<f64, StatsError> {
    require_count("vendi score: rows", 1, features.n() as u64)?;
    let unit = unit_rows("vendi score: features", features)?;
    let (n, d) = (unit.ncols(), unit.nrows());
    let matrix = if n <= d { products(&unit, &(0..n), &unit, &(0..n)) } else { second_moment(&unit) };
    let eigenvalues = symmetric_eigenvalues(matrix).ok_or(StatsError::NoConvergence {
        what: "eigenvalues of the kernel of the vendi score",
        n_rows: n.min(d),
        n_columns: n.min(d),
    })?;
    let shares = eigenvalues.iter().map(|value| value / n as f64);
    // Zero eigenvalues add nothing to the entropy; rounding makes some of them negative.
    Ok(shares.filter(|&share| share > 0.0).map(|share| -share * share.ln()).sum::<f64>().exp())
}

/// Returns the sum of outer products of the rows of `x`, `[d, n]`, added up over fixed blocks of rows, in
/// the diagonal and the lower triangle of `[d, d]`.
fn second_moment(x: &Mat<f64>) -> Mat<f64> {
    let d = x.nrows();
    let mut total = Mat::zeros(d, d);
    // As many blocks at once as bound the memory, added in block order.
    for some in blocks(x.ncols()).chunks(8) {
        for part in map_in_order(some, |rows| lower_gram(x.subcols(rows.start, rows.len()).transpose())) {
            total += part;
        }
    }
    total
}
