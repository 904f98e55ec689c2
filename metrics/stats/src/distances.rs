//! Squared Euclidean distances between rows, by blocks, and which of them count as equal.
//!
//! `|x - y|^2 = |x|^2 + |y|^2 - 2 x . y` in f64, after both sets are moved to a common origin, which keeps the
//! cancellation small. Distances that differ by less than the rounding of that formula are ties: a copy of a row is at
//! distance zero and a copied neighbourhood has the same radius, whatever order a matrix product sums in.

use std::ops::Range;

use faer::Mat;

use crate::blocks::products;
use crate::features::FeatureRows;

/// Rows about a common origin.
#[derive(Clone, Debug)]
pub(crate) struct CentredRows {
    /// `[d, n]`, a column a row.
    rows: Mat<f64>,
    /// `[n]`, squared lengths.
    squares: Vec<f64>,
}

impl CentredRows {
    /// Returns `features - origin`, `origin` being `[d]`.
    pub(crate) fn new(features: &FeatureRows, origin: &[f64]) -> Self {
        let rows = Mat::from_fn(features.d(), features.n(), |j, i| f64::from(features.row(i)[j]) - origin[j]);
        let squares = rows.col_iter().map(|row| row.squared_norm_l2()).collect();
        Self { rows, squares }
    }

    /// Number of rows.
    pub(crate) fn n(&self) -> usize {
        self.rows.ncols()
    }

    /// Returns the squared distances of rows `i` to rows `j` of `other`, `[i.len(), j.len()]`, at least 0.
    pub(crate) fn squared_distances(&self, i: &Range<usize>, other: &Self, j: &Range<usize>) -> Mat<f64> {
        let mut distances = products(&self.rows, i, &other.rows, j);
        let squares = &self.squares[i.clone()];
        for (column, square) in distances.col_iter_mut().zip(&other.squares[j.clone()]) {
            for (distance, own) in column.iter_mut().zip(squares) {
                *distance = (own + square - 2.0 * *distance).max(0.0);
            }
        }
        distances
    }

    /// Returns what rounding may do to a squared distance between row `i` and row `j` of `other`: a sum of `d`
    /// products with independent roundings, on either side of a comparison, with room to spare.
    pub(crate) fn rounding(&self, i: usize, other: &Self, j: usize) -> f64 {
        let relative = 4.0 * (self.rows.nrows() as f64).sqrt() * f64::EPSILON;
        relative * (self.squares[i] + other.squares[j])
    }
}
