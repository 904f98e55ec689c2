//! Kernel Inception distance over all rows: the unbiased squared maximum mean discrepancy.
//!
//! Kernel `(x . y / D + 1)^3` (Binkowski et al. 2018, section 4; Gretton et al. 2012, eq. 3). Every pair of rows is
//! used, so there is no subset, no seed and no spread to quote; the value may be slightly negative for equal laws.
//! Products are f64 and are summed by fixed blocks in row order.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};

use crate::error::{StatsError, require_count};

/// Rows of one side of a block of kernel values. Part of the meaning of the last digits.
const BLOCK_ROWS: usize = 256;

/// Returns the unbiased KID between `first` and `second`, each `[n, d]` by rows; about 0 for equal laws, not scaled by
/// 1000. Symmetric to rounding. Fails on fewer than two rows a side, a ragged matrix, or a non-finite value.
pub fn kid(first: &[f32], second: &[f32], d: usize) -> Result<f64, StatsError> {
    let first = rows(first, d)?;
    let second = rows(second, d)?;
    Ok(mean_within(&first) + mean_within(&second) - 2.0 * mean_between(&first, &second))
}

/// Returns `[n, d]` in f64.
fn rows(values: &[f32], d: usize) -> Result<Mat<f64>, StatsError> {
    require_count("kid: features per row", 1, d as u64)?;
    if !values.len().is_multiple_of(d) {
        let what = "kid: numbers in the last row";
        return Err(StatsError::WrongSize { what, expected: d, found: values.len() % d });
    }
    if let Some(at) = values.iter().position(|x| !x.is_finite()) {
        return Err(StatsError::NotFinite { what: "kid: feature rows", at, value: f64::from(values[at]) });
    }
    let n = values.len() / d;
    require_count("kid: rows", 2, n as u64)?;
    Ok(Mat::from_fn(n, d, |i, j| f64::from(values[i * d + j])))
}

/// Mean kernel over ordered pairs of different rows.
fn mean_within(x: &Mat<f64>) -> f64 {
    let n = x.nrows();
    let mut above_diagonal = 0.0;
    for i in (0..n).step_by(BLOCK_ROWS) {
        for j in (i..n).step_by(BLOCK_ROWS) {
            let products = block_products(x, i, x, j);
            // In the block on the diagonal only columns right of the row are pairs not counted yet.
            above_diagonal += sum_of_kernel(products.as_ref(), x.ncols(), i == j);
        }
    }
    2.0 * above_diagonal / (n as f64 * (n - 1) as f64)
}

/// Mean kernel over pairs of a row of `x` and a row of `y`.
fn mean_between(x: &Mat<f64>, y: &Mat<f64>) -> f64 {
    let mut sum = 0.0;
    for i in (0..x.nrows()).step_by(BLOCK_ROWS) {
        for j in (0..y.nrows()).step_by(BLOCK_ROWS) {
            sum += sum_of_kernel(block_products(x, i, y, j).as_ref(), x.ncols(), false);
        }
    }
    sum / (x.nrows() as f64 * y.nrows() as f64)
}

/// Returns the dot products of the block of rows of `x` from `i` and of `y` from `j`.
fn block_products(x: &Mat<f64>, i: usize, y: &Mat<f64>, j: usize) -> Mat<f64> {
    let x = x.subrows(i, BLOCK_ROWS.min(x.nrows() - i));
    let y = y.subrows(j, BLOCK_ROWS.min(y.nrows() - j));
    let mut products = Mat::zeros(x.nrows(), y.nrows());
    matmul(products.as_mut(), Accum::Replace, x, y.transpose(), 1.0, Par::Seq);
    products
}

/// Sums the kernel over a block, or over its strict upper triangle.
fn sum_of_kernel(products: MatRef<'_, f64>, d: usize, is_strict_upper: bool) -> f64 {
    let mut sum = 0.0;
    for (j, column) in products.col_iter().enumerate() {
        let n_rows = if is_strict_upper { j.min(products.nrows()) } else { products.nrows() };
        sum += column.iter().take(n_rows).map(|dot| (dot / d as f64 + 1.0).powi(3)).sum::<f64>();
    }
    sum
}
