//! Sums of a kernel over pairs of rows, the parts of every maximum mean discrepancy.
//!
//! A kernel is a function of the dot product of two rows. Products are f64; sums are taken by fixed blocks in row
//! order (see [`crate::blocks`]).

use std::ops::Range;

use faer::{Mat, MatRef};

use crate::blocks::{blocks, map_in_order, products};
use crate::features::FeatureRows;

/// Returns the rows in f64, `[d, n]`.
pub(crate) fn widen(features: &FeatureRows) -> Mat<f64> {
    Mat::from_fn(features.d(), features.n(), |j, i| f64::from(features.row(i)[j]))
}

/// Sum of the kernel over unordered pairs of different rows of `x`, `[d, n]`.
pub(crate) fn sum_within(x: &Mat<f64>, kernel: impl Fn(f64) -> f64 + Sync) -> f64 {
    let cuts = blocks(x.ncols());
    let pairs: Vec<(&Range<usize>, &Range<usize>)> =
        cuts.iter().enumerate().flat_map(|(at, i)| cuts[at..].iter().map(move |j| (i, j))).collect();
    // In the block on the diagonal only columns right of the row are pairs not counted yet.
    let sums =
        map_in_order(&pairs, |(i, j)| sum_block(products(x, i, x, j).as_ref(), i.start == j.start, &kernel));
    sums.iter().sum()
}

/// Sum of the kernel over pairs of a row of `x`, `[d, n]`, and a row of `y`, `[d, m]`.
pub(crate) fn sum_between(x: &Mat<f64>, y: &Mat<f64>, kernel: impl Fn(f64) -> f64 + Sync) -> f64 {
    let (above, beside) = (blocks(x.ncols()), blocks(y.ncols()));
    let pairs: Vec<(&Range<usize>, &Range<usize>)> =
        above.iter().flat_map(|i| beside.iter().map(move |j| (i, j))).collect();
    let sums = map_in_order(&pairs, |(i, j)| sum_block(products(x, i, y, j).as_ref(), false, &kernel));
    sums.iter().sum()
}

/// Sums the kernel over a block, or over its strict upper triangle.
fn sum_block(products: MatRef<'_, f64>, is_strict_upper: bool, kernel: &impl Fn(f64) -> f64) -> f64 {
    let mut sum = 0.0;
    for (j, column) in products.col_iter().enumerate() {
        let n_rows = if is_strict_upper { j.min(products.nrows()) } else { products.nrows() };
        sum += column.iter().take(n_rows).map(|&dot| kernel(dot)).sum::<f64>();
    }
    sum
}
