//! A Gaussian fitted to features, and the low-rank factor of its covariance.
//!
//! The factor `A` with `A A^T = covariance` has as many columns as the covariance has rank. It comes from a Cholesky
//! factorization: a plain one where all its pivots stand clear of rounding, else a diagonally pivoted one, which tells
//! the rank (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., theorem 10.3 and section 10.3). When
//! rounding left the matrix indefinite (statistics once stored as f32), from its symmetric eigenvectors with the
//! eigenvalues below zero set to zero. No multiple of the identity is ever added.

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::{llt, llt_pivoting};
use faer::{Mat, MatRef, Par, Side};

use crate::error::{StatsError, require_count, require_finite};
use crate::features::FeatureRows;
use crate::moments::Moments;
use crate::statistic::Statistic;

/// Smallest pivot, as a share of the largest variance, with which the plain factorization is taken. Rounding is some
/// `d * 2^-53` of the largest variance (2e-13 at 2048 features), so such a matrix has full rank beyond doubt.
const CLEAR_PIVOT: f64 = 1e-8;
/// Share of the trace by which a factor's squared norm may miss it before the eigenvector route is taken. Rounding in
/// the pivoted factorization costs about `d * 2^-52` (5e-13 at 2048 features).
const TRACE_TOLERANCE: f64 = 1e-9;
/// Share of the trace that rounding may have made negative: f32 storage costs up to `sqrt(d) * 2^-24` (3e-6 at 2048).
const NEGATIVE_SHARE: f64 = 1e-4;
/// Relative asymmetry allowed: f32 storage rounds both halves alike, so only the writer's own rounding remains.
const ASYMMETRY: f64 = 1e-6;

/// Mean and covariance of features, with the number of rows they came from if known.
// Invariant: `d >= 1`, `covariance` is `[d, d]`, symmetric and finite with a non-negative diagonal; `n >= 2` if known.
#[derive(Clone, Debug, PartialEq)]
pub struct Gaussian {
    mean: Vec<f64>,
    covariance: Vec<f64>,
    n: Option<u64>,
}

impl Gaussian {
    /// Takes a mean `[d]`, a covariance `[d, d]` (either order, it is symmetric) with divisor `n - 1`, and the
    /// number of rows; `None` for a statistics file that does not say.
    ///
    /// # Errors
    /// Wrong sizes, non-finite values, asymmetry, a negative variance, and fewer than two rows.
    pub fn new(mean: Vec<f64>, covariance: Vec<f64>, n: Option<u64>) -> Result<Self, StatsError> {
        let d = mean.len();
        require_count("gaussian: features", 1, d as u64)?;
        if covariance.len() != d * d {
            return Err(StatsError::WrongSize {
                what: "gaussian: entries of the covariance",
                expected: d * d,
                found: covariance.len(),
            });
        }
        require_finite("gaussian: mean", &mean)?;
        require_finite("gaussian: covariance", &covariance)?;
        if let Some(n) = n {
            require_count("gaussian: rows behind the covariance", 2, n)?;
        }
        check_symmetry(&covariance, d)?;
        Ok(Self { mean, covariance, n })
    }

    /// The mean, `[d]`.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The covariance, `[d, d]`.
    #[must_use]
    pub fn covariance(&self) -> &[f64] {
        &self.covariance
    }

    /// Rows behind the estimate, if known.
    #[must_use]
    pub fn n(&self) -> Option<u64> {
        self.n
    }

    /// Returns the factored form, which distances are computed from; worth keeping for a reference that many runs
    /// are compared with.
    ///
    /// # Errors
    /// A covariance that is not positive semidefinite.
    pub fn factor(&self) -> Result<FactoredGaussian, StatsError> {
        let d = self.mean.len();
        let trace: f64 = (0..d).map(|i| self.covariance[i * d + i]).sum();
        let max_rank = self.n.map_or(d, |n| usize::try_from(n - 1).map_or(d, |rank| rank.min(d)));
        let is_faithful =
            |factor: &Mat<f64>| (factor.squared_norm_l2() - trace).abs() <= TRACE_TOLERANCE * trace;
        let mean = self.mean.clone();
        if max_rank == d
            && let Some((factor, ln_determinant)) = plain_cholesky(self.matrix())
            && is_faithful(&factor)
        {
            let ln_determinant = Some(ln_determinant);
            return Ok(FactoredGaussian { mean, trace, factor, is_lower: true, ln_determinant });
        }
        let (factor, ln_determinant) = match pivoted_cholesky(self.matrix(), max_rank) {
            Some((factor, ln_determinant)) if is_faithful(&factor) => (factor, ln_determinant),
            _ => (clamped_eigenvectors(&self.matrix(), trace)?, None),
        };
        Ok(FactoredGaussian { mean, trace, factor, is_lower: false, ln_determinant })
    }

    /// A copy of the covariance to factor.
    fn matrix(&self) -> Mat<f64> {
        let d = self.mean.len();
        MatRef::from_row_major_slice(&self.covariance, d, d).to_owned()
    }
}

/// A Gaussian whose covariance is held as a factor `A A^T`.
#[derive(Clone, Debug)]
pub struct FactoredGaussian {
    /// `[d]`
    pub(crate) mean: Vec<f64>,
    /// Trace of the covariance.
    pub(crate) trace: f64,
    /// `[d, rank]`
    pub(crate) factor: Mat<f64>,
    /// Whether the factor is square and lower triangular.
    pub(crate) is_lower: bool,
    /// Logarithm of the factor's absolute determinant, where it is triangular but for the order of its rows and has
    /// full rank: the sum of its pivots' logarithms, exact to rounding.
    pub(crate) ln_determinant: Option<f64>,
}

impl FactoredGaussian {
    /// Returns the factored form straight from rows. With no more rows than features the centred rows over `sqrt(n -
    /// 1)` are a factor, exact for any rank and without a `[d, d]` matrix (the trace of the root of two such
    /// covariances is the nuclear norm of `Xc Yc^T`); with more rows it goes through [`Moments`].
    ///
    /// # Errors
    /// Fewer than two rows.
    pub fn of_rows(features: &FeatureRows) -> Result<Self, StatsError> {
        require_count("covariance of features", 2, features.n() as u64)?;
        let (n, d) = (features.n(), features.d());
        if n > d {
            return Moments::of_rows(features.values(), d)?.value()?.factor();
        }
        let mean = features.mean()?;
        let scale = ((n - 1) as f64).sqrt();
        let factor = Mat::from_fn(d, n, |j, i| (f64::from(features.row(i)[j]) - mean[j]) / scale);
        let trace = factor.squared_norm_l2();
        Ok(Self { mean, trace, factor, is_lower: false, ln_determinant: None })
    }

    /// Number of features.
    #[must_use]
    pub fn d(&self) -> usize {
        self.mean.len()
    }

    /// Columns of the factor: the numerical rank of the covariance, or one more where the factor is of the rows.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.factor.ncols()
    }
}

fn check_symmetry(covariance: &[f64], d: usize) -> Result<(), StatsError> {
    let fault = |why: String| Err(StatsError::NotCovariance { what: "gaussian", why });
    if let Some(i) = (0..d).find(|i| covariance[i * d + i] < 0.0) {
        return fault(format!("the variance of feature {i} is {}", covariance[i * d + i]));
    }
    for i in 0..d {
        for j in 0..i {
            let (lower, upper) = (covariance[i * d + j], covariance[j * d + i]);
            let scale = (covariance[i * d + i] * covariance[j * d + j]).sqrt();
            if (lower - upper).abs() > ASYMMETRY * scale {
                return fault(format!("entry ({i}, {j}) is {lower} and entry ({j}, {i}) is {upper}"));
            }
        }
    }
    Ok(())
}

/// Returns the lower triangular `A` with `A A^T` near `matrix` and the logarithm of its determinant; nothing where a
/// pivot is not clear of rounding.
fn plain_cholesky(matrix: Mat<f64>) -> Option<(Mat<f64>, f64)> {
    let d = matrix.nrows();
    let largest = (0..d).map(|k| matrix[(k, k)]).fold(0.0, f64::max);
    let mut lower = matrix;
    let scratch = llt::factor::cholesky_in_place_scratch::<f64>(d, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut memory);
    llt::factor::cholesky_in_place(lower.as_mut(), Default::default(), Par::Seq, stack, Default::default())
        .ok()?;
    let is_clear = |k: usize| lower[(k, k)].powi(2) >= CLEAR_PIVOT * largest;
    if largest <= 0.0 || !(0..d).all(is_clear) {
        return None;
    }
    // Above the diagonal lies unused input.
    for k in 1..d {
        lower.col_mut(k).subrows_mut(0, k).fill(0.0);
    }
    let ln_determinant = (0..d).map(|k| lower[(k, k)].ln()).sum();
    Some((lower, ln_determinant))
}

/// Returns `A` of at most `max_rank` columns with `A A^T` near `matrix`, and the logarithm of its determinant if it is
/// square; or nothing when a pivot is not a number.
fn pivoted_cholesky(matrix: Mat<f64>, max_rank: usize) -> Option<(Mat<f64>, Option<f64>)> {
    let d = matrix.nrows();
    let mut lower = matrix;
    let (mut forward, mut backward) = (vec![0_usize; d], vec![0_usize; d]);
    let scratch =
        llt_pivoting::factor::cholesky_in_place_scratch::<usize, f64>(d, Par::Seq, Default::default());
    let mut memory = MemBuffer::new(scratch);
    let (info, _) = llt_pivoting::factor::cholesky_in_place(
        lower.as_mut(),
        &mut forward,
        &mut backward,
        Par::Seq,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .ok()?;
    let rank = info.rank.min(max_rank);
    // Row `i` of the factor sits at the row to which pivoting moved it; above the diagonal lies unused input.
    let factor = Mat::from_fn(d, rank, |i, k| if backward[i] >= k { lower[(backward[i], k)] } else { 0.0 });
    let ln_determinant = (rank == d).then(|| (0..d).map(|k| lower[(k, k)].ln()).sum());
    Some((factor, ln_determinant))
}

/// Returns `U sqrt(max(lambda, 0))`, `[d, rank]`; fails when more than rounding is negative.
fn clamped_eigenvectors(matrix: &Mat<f64>, trace: f64) -> Result<Mat<f64>, StatsError> {
    let d = matrix.nrows();
    let eigen = matrix.self_adjoint_eigen(Side::Lower).map_err(|_| StatsError::NoConvergence {
        what: "eigenvectors of a covariance",
        n_rows: d,
        n_columns: d,
    })?;
    let lambda: Vec<f64> = eigen.S().column_vector().iter().copied().collect();
    let negative: f64 = lambda.iter().filter(|&&x| x < 0.0).map(|x| -x).sum();
    if negative > NEGATIVE_SHARE * trace {
        return Err(StatsError::NotCovariance {
            what: "gaussian",
            why: format!("its negative eigenvalues sum to {:.3e}, its trace is {trace:.3e}", -negative),
        });
    }
    let kept: Vec<usize> = (0..d).filter(|&k| lambda[k] > 0.0).collect();
    Ok(Mat::from_fn(d, kept.len(), |i, k| eigen.U()[(i, kept[k])] * lambda[kept[k]].sqrt()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    fn factor(covariance: &[f64], d: usize, n: Option<u64>) -> FactoredGaussian {
        Gaussian::new(vec![0.0; d], covariance.to_vec(), n).unwrap().factor().unwrap()
    }

    #[test]
    fn every_pair_of_entries_is_held_against_its_own_scale() {
        let variances = [4.0_f64, 9.0, 0.25];
        for (i, j) in [(1, 0), (2, 0), (2, 1)] {
            let scale = (variances[i] * variances[j]).sqrt();
            for (share, is_fine) in [(0.9, true), (-0.9, true), (1.1, false), (-1.1, false)] {
                let mut covariance = vec![0.0; 9];
                (0..3).for_each(|k| covariance[4 * k] = variances[k]);
                covariance[3 * i + j] = 0.1;
                covariance[3 * j + i] = 0.1 + share * ASYMMETRY * scale;
                let checked = check_symmetry(&covariance, 3);
                assert_eq!(checked.is_ok(), is_fine, "({i}, {j}) {share}");
                let reported = checked.err().map(|error| error.to_string()).unwrap_or_default();
                assert!(
                    is_fine || reported.contains(&format!("entry ({i}, {j}) is 0.1 and entry ({j}, {i})")),
                    "{reported}"
                );
            }
        }
    }

    #[test]
    fn a_pivot_near_rounding_is_not_taken_for_clear() {
        let diagonal =
            |small: f64| Mat::from_fn(3, 3, |i, j| if i == j { [2.0, 5.0, small][i] } else { 0.0 });
        let (lower, ln_determinant) = plain_cholesky(diagonal(5.1 * CLEAR_PIVOT)).unwrap();
        assert!((lower[(2, 2)].powi(2) - 5.1 * CLEAR_PIVOT).abs() < 1e-20);
        assert!((ln_determinant - 0.5 * (10.0 * 5.1 * CLEAR_PIVOT).ln()).abs() < 1e-12);
        assert!(plain_cholesky(diagonal(4.9 * CLEAR_PIVOT)).is_none());
        assert!(plain_cholesky(Mat::zeros(2, 2)).is_none());
    }

    #[test]
    fn a_determinant_is_known_where_the_rank_is_full_only() {
        let matrix = Mat::from_fn(2, 2, |i, j| [[4.0, 1.0], [1.0, 9.0]][i][j]);
        let (factor, ln_determinant) = pivoted_cholesky(matrix.clone(), 2).unwrap();
        assert_eq!(factor.ncols(), 2);
        assert!((ln_determinant.unwrap() - 0.5 * 35.0_f64.ln()).abs() < 1e-14);
        assert_eq!(pivoted_cholesky(matrix, 1).unwrap().1, None);
    }

    #[test]
    fn the_form_of_a_factor_follows_rank_and_pivots() {
        let whole = factor(&[4.0, 1.0, 1.0, 9.0], 2, None);
        assert!(whole.is_lower && whole.ln_determinant.is_some() && whole.rank() == 2);
        // Three rows of two features reach full rank, two do not.
        assert!(factor(&[4.0, 1.0, 1.0, 9.0], 2, Some(3)).is_lower);
        let claimed = factor(&[4.0, 1.0, 1.0, 9.0], 2, Some(2));
        assert!(
            !claimed.is_lower && claimed.rank() == 2,
            "its eigenvectors, as no factor of rank 1 is faithful"
        );
        let two = factor(&[1.0, 2.0, 2.0, 4.0], 2, Some(2));
        assert!(!two.is_lower && two.rank() == 1 && two.ln_determinant.is_none());
        // A second pivot too small for the plain way, and whole for the one with exchanges.
        let nearly = factor(&[1.0, 0.0, 0.0, 1e-10], 2, None);
        assert!(!nearly.is_lower && nearly.rank() == 2);
        assert!((nearly.ln_determinant.unwrap() - 0.5 * 1e-10_f64.ln()).abs() < 1e-9);
        let nothing = factor(&[0.0; 4], 2, None);
        assert_eq!((nothing.trace, nothing.rank()), (0.0, 0));
    }

    #[test]
    fn directions_of_no_variance_are_no_columns() {
        let matrix = Mat::from_fn(2, 2, |i, j| if i + j == 0 { 1.0 } else { 0.0 });
        assert_eq!(clamped_eigenvectors(&matrix, 1.0).unwrap().ncols(), 1);
        assert_eq!(clamped_eigenvectors(&Mat::zeros(2, 2), 0.0).unwrap().ncols(), 0);
    }

    #[test]
    fn rows_are_the_factor_until_there_are_more_of_them_than_features() {
        let rows = |n: usize| {
            let values = (0..n * 3).map(|i| ((i * i) as f32 * 0.7).sin()).collect();
            FactoredGaussian::of_rows(&FeatureRows::new(values, 3).unwrap()).unwrap()
        };
        assert_eq!((rows(2).rank(), rows(3).rank(), rows(3).is_lower), (2, 3, false));
        assert!(rows(4).is_lower);
    }
}
