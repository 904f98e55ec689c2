//! Fixed blocks of rows, worked on by any number of threads and combined in one order.
//!
//! Where blocks are cut depends on the number of rows only, and partial results are folded in block order, so no digit
//! depends on how many threads ran.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

/// Rows of one block. Part of the meaning of the last digits of every sum over blocks.
pub(crate) const BLOCK_ROWS: usize = 256;

/// Returns the blocks of `n` rows; the last may be short.
pub(crate) fn blocks(n: usize) -> Vec<Range<usize>> {
    (0..n).step_by(BLOCK_ROWS).map(|start| start..(start + BLOCK_ROWS).min(n)).collect()
}

/// Returns `work` of every item, in the order of the items, computed on all threads of the pool.
pub(crate) fn map_in_order<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    items.par_iter().map(&work).collect()
}

/// Returns the dot products of rows `i` of `x`, `[d, n]`, and rows `j` of `y`, `[i.len(), j.len()]`. Rows are kept as
/// columns, which lie in one piece.
pub(crate) fn products(x: &Mat<f64>, i: &Range<usize>, y: &Mat<f64>, j: &Range<usize>) -> Mat<f64> {
    let x = x.subcols(i.start, i.len());
    let y = y.subcols(j.start, j.len());
    let mut products = Mat::zeros(x.ncols(), y.ncols());
    matmul(products.as_mut(), Accum::Replace, x.transpose(), y, 1.0, Par::Seq);
    products
}

/// Returns `x^T x` in the diagonal and the lower triangle of a square matrix; what lies above is not meant to be read.
pub(crate) fn lower_gram(x: MatRef<'_, f64>) -> Mat<f64> {
    let mut gram = Mat::zeros(x.ncols(), x.ncols());
    lower_gram_into(&mut gram, x);
    gram
}

/// As [`lower_gram`], into a matrix of that size.
pub(crate) fn lower_gram_into(gram: &mut Mat<f64>, x: MatRef<'_, f64>) {
    let d = x.ncols();
    for strip in blocks(d) {
        let n_rows = d - strip.start;
        let below = x.subcols(strip.start, n_rows).transpose();
        let to = gram.as_mut().submatrix_mut(strip.start, strip.start, n_rows, strip.len());
        matmul(to, Accum::Replace, below, x.subcols(strip.start, strip.len()), 1.0, Par::Seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gram_matrix_has_every_product_of_columns() {
        // Around the edges of strips.
        for (n, d) in [(3, 1), (5, 255), (5, 256), (5, 257), (1, 600)] {
            let x = Mat::from_fn(n, d, |i, j| ((i * d + j) % 17) as f64 - 8.0);
            let gram = lower_gram(x.as_ref());
            assert_eq!((gram.nrows(), gram.ncols()), (d, d));
            for j in 0..d {
                for i in j..d {
                    let expected: f64 = (0..n).map(|k| x[(k, i)] * x[(k, j)]).sum();
                    assert_eq!(gram[(i, j)], expected, "{n} {d}: {i} {j}");
                }
            }
        }
    }
}
