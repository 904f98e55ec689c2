//! Squared Euclidean distances between rows, and which of them count as equal.
//!
//! `|x - y|^2 = |x|^2 + |y|^2 - 2 x . y` in f64, after both sets are moved to a common origin, which keeps the
//! cancellation small. Distances that differ by less than the rounding of that formula are ties: a copy of a row is at
//! distance zero and a copied neighbourhood has the same radius, whatever order a matrix product sums in.
//!
//! Most distances are only compared, and are far from what they are compared with. So blocks of them come from a product
//! in f32 with a bound on its error, and the few that the bound leaves open are computed in f64: the answers are those
//! of f64 throughout.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, Par};

use crate::features::FeatureRows;

/// Columns of partial sums of a dot product: fixed, so that its digits are.
const LANES: usize = 8;

/// What a product too small for f32 may lose, with room to spare.
const UNDERFLOW: f64 = 1e-36;

/// Squared lengths up to which no sum of a rough distance leaves f32's range.
const LARGEST_SQUARE: f64 = 1e37;

/// Returns an f32 that is no smaller than `x`, nor after one more rounded addition of such.
pub(crate) fn upward(x: f64) -> f32 {
    (x * (1.0 + 8.0 * f64::from(f32::EPSILON))) as f32
}

/// Rows about a common origin.
#[derive(Clone, Debug)]
pub(crate) struct CentredRows<'a> {
    features: &'a FeatureRows,
    /// `[d]`
    origin: &'a [f64],
    /// `[d, n]`, a column a row, rounded to f32.
    rounded: Mat<f32>,
    /// `[n]`, squared lengths before rounding.
    squares: Vec<f64>,
}

impl<'a> CentredRows<'a> {
    /// Returns `features - origin`, `origin` being `[d]`.
    pub(crate) fn new(features: &'a FeatureRows, origin: &'a [f64]) -> Self {
        let (n, d) = (features.n(), features.d());
        let mut rounded = Mat::zeros(d, n);
        let mut squares = Vec::with_capacity(n);
        let mut centred = vec![0.0; d];
        for i in 0..n {
            centre(features.row(i), origin, &mut centred);
            squares.push(dot(&centred, &centred));
            for (to, &from) in rounded.col_mut(i).iter_mut().zip(&centred) {
                *to = from as f32;
            }
        }
        Self { features, origin, rounded, squares }
    }

    /// Number of rows.
    pub(crate) fn n(&self) -> usize {
        self.features.n()
    }

    /// Returns the squared distance of row `i` to row `j` of `other`, at least 0.
    pub(crate) fn squared_distance(&self, i: usize, other: &Self, j: usize) -> f64 {
        let (x, y) = (self.features.row(i), other.features.row(j));
        let mut sums = [0.0; LANES];
        for ((x, y), o) in x.chunks(LANES).zip(y.chunks(LANES)).zip(self.origin.chunks(LANES)) {
            for (((sum, &x), &y), &o) in sums.iter_mut().zip(x).zip(y).zip(o) {
                *sum += (f64::from(x) - o) * (f64::from(y) - o);
            }
        }
        (self.squares[i] + other.squares[j] - 2.0 * sums.iter().sum::<f64>()).max(0.0)
    }

    /// Returns the squared distances of rows `i` to rows `j` of `other`, `[i.len(), j.len()]`, each within
    /// [`error`](Self::error) of the f64 one, or not finite where f32 cannot hold it; they may be a little below 0.
    pub(crate) fn rough_distances(&self, i: &Range<usize>, other: &Self, j: &Range<usize>) -> Mat<f32> {
        let x = self.rounded.subcols(i.start, i.len());
        let y = other.rounded.subcols(j.start, j.len());
        let mut distances: Mat<f32> = Mat::zeros(i.len(), j.len());
        matmul(distances.as_mut(), Accum::Replace, x.transpose(), y, -2.0_f32, Par::Seq);
        let squares: Vec<f32> = self.squares[i.clone()].iter().map(|&square| square as f32).collect();
        for (column, &square) in distances.col_iter_mut().zip(&other.squares[j.clone()]) {
            let square = square as f32;
            for (distance, own) in column.iter_mut().zip(&squares) {
                *distance += own + square;
            }
        }
        distances
    }

    /// Returns how far a rough distance between row `i` and row `j` of `other` may lie from the f64 one: a sum of `d`
    /// products of rounded factors in f32 in any order (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed.,
    /// section 3.1) and the additions after it, with `2 |x| |y| <= |x|^2 + |y|^2`; and `d` products below f32's range.
    pub(crate) fn error(&self, i: usize, other: &Self, j: usize) -> f64 {
        self.error_share() * (self.squares[i] + other.squares[j]) + self.underflow()
    }

    /// The part of [`error`](Self::error) that does not grow with the lengths.
    pub(crate) fn underflow(&self) -> f64 {
        self.features.d() as f64 * UNDERFLOW
    }

    /// Returns row `i`'s part of a margin of `share` times both squared lengths and [`underflow`](Self::underflow), never
    /// smaller for being f32; infinite where f32 may not hold the distances, so that whatever is reported of them is
    /// within the margin.
    pub(crate) fn margin(&self, i: usize, share: f64) -> f32 {
        match self.squares[i] < LARGEST_SQUARE {
            true => upward(share * self.squares[i] + self.underflow()),
            false => f32::INFINITY,
        }
    }

    /// [`error`](Self::error) as a share of both squared lengths.
    pub(crate) fn error_share(&self) -> f64 {
        1.01 * (self.features.d() as f64 + 8.0) * (f64::from(f32::EPSILON) / 2.0)
    }

    /// Returns what rounding may do to a squared distance between row `i` and row `j` of `other`: a sum of `d`
    /// products with independent roundings, on either side of a comparison, with room to spare.
    pub(crate) fn rounding(&self, i: usize, other: &Self, j: usize) -> f64 {
        self.rounding_share() * (self.squares[i] + other.squares[j])
    }

    /// [`rounding`](Self::rounding) as a share of both squared lengths.
    pub(crate) fn rounding_share(&self) -> f64 {
        4.0 * (self.features.d() as f64).sqrt() * f64::EPSILON
    }
}

fn centre(row: &[f32], origin: &[f64], centred: &mut [f64]) {
    for ((to, &x), &o) in centred.iter_mut().zip(row).zip(origin) {
        *to = f64::from(x) - o;
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    let mut sums = [0.0; LANES];
    for (x, y) in x.chunks(LANES).zip(y.chunks(LANES)) {
        for ((sum, x), y) in sums.iter_mut().zip(x).zip(y) {
            *sum += x * y;
        }
    }
    sums.iter().sum()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::counter_rng::CounterRng;

    #[test]
    fn a_rough_distance_lies_within_its_bound() {
        let (n, d) = (40, 300);
        let rng = CounterRng::new(3);
        // Lengths over six orders of magnitude, far from the origin they are moved to.
        let value = |at: u64| {
            let scale = 10_f64.powi((at / d as u64 % 7) as i32 - 3);
            (5.0 + scale * (rng.uniform(at) - 0.5)) as f32
        };
        let rows = FeatureRows::new((0..(n * d) as u64).map(value).collect(), d).unwrap();
        let origin = rows.mean().unwrap();
        let rows = CentredRows::new(&rows, &origin);
        let rough = rows.rough_distances(&(0..n), &rows, &(0..n));
        let mut largest: f64 = 0.0;
        for i in 0..n {
            assert_eq!(rows.squared_distance(i, &rows, i), 0.0);
            for j in 0..n {
                let missed = (f64::from(rough[(i, j)]) - rows.squared_distance(i, &rows, j)).abs();
                assert!(missed <= rows.error(i, &rows, j), "{i} {j}: {missed:e}");
                largest = largest.max(missed / rows.error(i, &rows, j));
            }
        }
        // The bound is not so wide that everything would be computed twice.
        assert!(largest > 1e-4, "{largest}");
    }

    #[test]
    fn bounds_are_those_of_their_formulas_and_round_upward() {
        let rows = FeatureRows::new(vec![3.0, 4.0, 0.0, 1.0, 0.0, 2.0], 3).unwrap();
        let rows = CentredRows::new(&rows, &[0.0; 3]);
        let unit = f64::from(f32::EPSILON) / 2.0;
        assert_eq!(rows.underflow(), 3.0 * UNDERFLOW);
        assert_eq!(rows.error_share(), 1.01 * 11.0 * unit);
        assert_eq!(rows.rounding_share(), 4.0 * 3.0_f64.sqrt() * f64::EPSILON);
        assert_eq!(rows.error(0, &rows, 1), 1.01 * 11.0 * unit * 30.0 + 3.0 * UNDERFLOW);
        assert_eq!(rows.rounding(0, &rows, 1), 4.0 * 3.0_f64.sqrt() * f64::EPSILON * 30.0);
        assert_eq!(rows.margin(0, 0.125), upward(3.125));
        let exact = 0.1_f64;
        let up = f64::from(upward(exact));
        assert!(up > exact && up < exact * (1.0 + 10.0 * f64::from(f32::EPSILON)), "{up}");
        assert!(up / exact > 1.0 + 7.0 * f64::from(f32::EPSILON), "{up}");
    }

    #[test]
    fn lengths_that_f32_may_not_hold_have_no_bound() {
        let edge = LARGEST_SQUARE.sqrt() as f32;
        let rows = FeatureRows::new(vec![edge * 0.99, edge * 1.01], 1).unwrap();
        let rows = CentredRows::new(&rows, &[0.0]);
        assert!(rows.margin(0, 1e-3).is_finite());
        assert_eq!(rows.margin(1, 1e-3), f32::INFINITY);
    }
}
