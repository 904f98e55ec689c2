//! Fréchet distance between two Gaussians (FID when the features are Inception's).
//!
//! `|m1 - m2|^2 + tr S1 + tr S2 - 2 tr sqrt(S1 S2)` (Dowson and Landau 1982; Heusel et al. 2017, eq. 6). With
//! `S1 = A A^T` and `S2 = B B^T` the eigenvalues of `S1 S2` are the squared singular values of `A^T B`, so the last
//! trace is their sum, taken from eigenvalues of a symmetric matrix where the determinant shows that to be as good. No
//! matrix square root, no complex numbers, no added epsilon, and no square root of a rounding error where an eigenvalue
//! should be zero: fewer rows than features is an ordinary case. The reference tools are 1e-5 relative off
//! there, with twenty rows of 2048 features.

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, Mat, Par};

use crate::blocks::lower_gram;
use crate::error::{StatsError, require_finite};
use crate::gaussian::{FactoredGaussian, Gaussian};
use crate::symmetric_eigenvalues::symmetric_eigenvalues;

/// Largest relative error of `tr sqrt(S1 S2)` for which the faster route by eigenvalues is taken.
const EIGENVALUE_ERROR: f64 = 1e-11;
/// How many times the error read off the determinant must fit into [`EIGENVALUE_ERROR`]: the reading is one draw, which
/// is a hundred times too small in one case of a hundred.
const ERROR_SAFETY: f64 = 100.0;

/// The distance by its parts. All are finite and at least zero.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrechetDistance {
    /// Squared distance of the means.
    pub mean_term: f64,
    /// `tr S1 + tr S2 - 2 tr sqrt(S1 S2)`; what rounding makes negative is set to zero.
    pub covariance_term: f64,
    /// `tr S1`.
    pub trace_first: f64,
    /// `tr S2`.
    pub trace_second: f64,
    /// `tr sqrt(S1 S2)`.
    pub trace_sqrt: f64,
}

impl FrechetDistance {
    /// The distance: mean term plus covariance term.
    #[must_use]
    pub fn value(&self) -> f64 {
        self.mean_term + self.covariance_term
    }
}

/// Returns the Fréchet distance of two fitted Gaussians, whose statistics come from files or from
/// [`Moments`](crate::moments::Moments); symmetric in its arguments to rounding. From rows of features take
/// [`frechet_distance_factored`].
///
/// # Errors
/// Unequal feature counts and a matrix that is not a covariance.
pub fn frechet_distance(first: &Gaussian, second: &Gaussian) -> Result<FrechetDistance, StatsError> {
    check_sizes(first.mean().len(), second.mean().len())?;
    frechet_distance_factored(&first.factor()?, &second.factor()?)
}

/// Like [`frechet_distance`], for a reference that is factored once and compared often.
///
/// # Errors
/// As [`frechet_distance`].
pub fn frechet_distance_factored(
    first: &FactoredGaussian,
    second: &FactoredGaussian,
) -> Result<FrechetDistance, StatsError> {
    check_sizes(first.d(), second.d())?;
    let mean_term = first.mean.iter().zip(&second.mean).map(|(a, b)| (a - b) * (a - b)).sum();
    let product = cross_product(first, second);
    let ln_determinant = first.ln_determinant.zip(second.ln_determinant).map(|(a, b)| a + b);
    let trace_sqrt = sum_of_singular_values(&product, ln_determinant)?;
    let covariance_term = (first.trace + second.trace - 2.0 * trace_sqrt).max(0.0);
    let parts = [mean_term, covariance_term, first.trace, second.trace, trace_sqrt];
    require_finite(
        "frechet distance: terms of means and of covariances, traces and trace of the root",
        &parts,
    )?;
    Ok(FrechetDistance {
        mean_term,
        covariance_term,
        trace_first: first.trace,
        trace_second: second.trace,
        trace_sqrt,
    })
}

/// Returns `A^T B`; where both factors are triangular, without the products with their zeros.
fn cross_product(first: &FactoredGaussian, second: &FactoredGaussian) -> Mat<f64> {
    if !(first.is_lower && second.is_lower) {
        return first.factor.transpose() * &second.factor;
    }
    let d = first.d();
    let mut product = Mat::zeros(d, d);
    triangular::matmul(
        product.as_mut(),
        BlockStructure::Rectangular,
        Accum::Replace,
        first.factor.transpose(),
        BlockStructure::TriangularUpper,
        second.factor.as_ref(),
        BlockStructure::TriangularLower,
        1.0,
        Par::Seq,
    );
    product
}

/// Returns the sum of singular values of the product of two factors, the logarithm of whose determinant is known if both
/// are triangular: as roots of eigenvalues of the Gram matrix where that is accurate (a third of the time of the other
/// way at 2048 features), else directly.
fn sum_of_singular_values(product: &Mat<f64>, ln_determinant: Option<f64>) -> Result<f64, StatsError> {
    if let Some(ln_determinant) = ln_determinant
        && let Some(sum) = sum_of_eigenvalue_roots(product, ln_determinant)
    {
        return Ok(sum);
    }
    let singular_values = product.singular_values().map_err(|_| StatsError::NoConvergence {
        what: "singular values of the product of two covariance factors",
        n_rows: product.nrows(),
        n_columns: product.ncols(),
    })?;
    Ok(singular_values.iter().sum())
}

/// Returns the same sum from the eigenvalues of `product^T product`, or nothing where they are not accurate enough.
///
/// Rounding moves each eigenvalue by about one amount, so its root by the more the smaller it is. How much is read off
/// the determinant, which the factors know to rounding and which the small eigenvalues decide: an amount `u` with
/// independent signs moves `sum ln x` by `u sqrt(sum x^-2)` and `sum sqrt x` by `u sqrt(sum 1/(4 x))`.
fn sum_of_eigenvalue_roots(product: &Mat<f64>, ln_determinant: f64) -> Option<f64> {
    // Nothing also where squares overflow, which singular values need not.
    let eigenvalues = symmetric_eigenvalues(lower_gram(product.as_ref()))?;
    // Ascending.
    let smallest = eigenvalues.first().copied().unwrap_or(0.0);
    if smallest <= 0.0 {
        return None;
    }
    let sum: f64 = eigenvalues.iter().map(|x| x.sqrt()).sum();
    let missed = (eigenvalues.iter().map(|x| x.ln()).sum::<f64>() - 2.0 * ln_determinant).abs();
    // Both sums in units of the smallest eigenvalue, where neither can overflow.
    let inverses: f64 = eigenvalues.iter().map(|x| smallest / x).sum();
    let squared_inverses: f64 = eigenvalues.iter().map(|x| (smallest / x).powi(2)).sum();
    let error = missed * 0.5 * (smallest * inverses / squared_inverses).sqrt();
    (ERROR_SAFETY * error <= EIGENVALUE_ERROR * sum).then_some(sum)
}

fn check_sizes(first: usize, second: usize) -> Result<(), StatsError> {
    if first == second {
        return Ok(());
    }
    Err(StatsError::WrongSize { what: "frechet distance: features", expected: first, found: second })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;
    use crate::counter_rng::CounterRng;
    use crate::features::FeatureRows;

    #[test]
    fn roots_of_eigenvalues_are_taken_while_the_determinant_vouches_for_them() {
        // Singular values 1.5 and 2. Off by `u`, the logarithm of the determinant moves by `u sqrt(sum x^-2)` and the
        // sum of roots by `u sqrt(sum 1 / (4 x))`, where `x` are 2.25 and 4.
        let product = Mat::from_fn(2, 2, |i, j| if i == j { [1.5, 2.0][i] } else { 0.0 });
        let exact = 3.0_f64.ln();
        let (squares, inverses) = (2.25_f64.powi(-2) + 4.0_f64.powi(-2), 0.25 / 2.25 + 0.25 / 4.0);
        let allowed = EIGENVALUE_ERROR / ERROR_SAFETY * 3.5 * (squares / inverses).sqrt();
        for (share, is_taken) in [(0.0, true), (0.98, true), (1.02, false), (-0.98, true), (-1.02, false)] {
            // The logarithm is compared with twice this one.
            let found = sum_of_eigenvalue_roots(&product, exact + 0.5 * share * allowed);
            assert_eq!(found.is_some(), is_taken, "{share}");
            assert!(found.is_none_or(|sum| (sum - 3.5).abs() < 1e-12), "{found:?}");
        }
        let singular = Mat::from_fn(2, 2, |i, j| if i + j == 0 { 1.0 } else { 0.0 });
        assert_eq!(sum_of_eigenvalue_roots(&singular, 0.0), None);
    }

    #[test]
    fn the_determinant_of_a_product_is_that_of_both_factors() {
        let gaussian = |scale: f64| {
            let covariance = vec![4.0 * scale, scale, scale, 9.0 * scale];
            Gaussian::new(vec![0.0; 2], covariance, None).unwrap().factor().unwrap()
        };
        let (first, second) = (gaussian(1.0), gaussian(3.0));
        let product = cross_product(&first, &second);
        let ln_determinant = first.ln_determinant.unwrap() + second.ln_determinant.unwrap();
        assert!(sum_of_eigenvalue_roots(&product, ln_determinant).is_some());
        // sqrt(35) of the one and 3 sqrt(35) of the other.
        assert!((ln_determinant - 105.0_f64.ln()).abs() < 1e-14);
    }

    /// Fitted to `2 d` rows of `d` features of one strength.
    fn drawn(d: usize, seed: u64) -> FactoredGaussian {
        let rng = CounterRng::new(seed);
        let rows = (0..2 * d * d).map(|i| rng.uniform(i as u64) as f32).collect();
        FactoredGaussian::of_rows(&FeatureRows::new(rows, d).unwrap()).unwrap()
    }

    #[test]
    fn the_faster_way_is_the_one_taken_and_gives_what_the_other_gives() {
        for d in [40, 64, 130, 300] {
            let (first, second) = (drawn(d, 1), drawn(d, 2));
            let product = cross_product(&first, &second);
            let ln_determinant = first.ln_determinant.unwrap() + second.ln_determinant.unwrap();
            let sum = sum_of_eigenvalue_roots(&product, ln_determinant).unwrap();
            let expected: f64 = product.singular_values().unwrap().iter().sum();
            assert!((sum - expected).abs() < 1e-13 * expected, "{d}: {sum} {expected}");
        }
    }

    #[test]
    fn covariances_whose_products_overflow_have_a_distance_all_the_same() {
        let of = |scale: f64| {
            let covariance = [1.0, 0.9, 0.9, 1.0].map(|x| scale * x).to_vec();
            Gaussian::new(vec![0.0; 2], covariance, None).unwrap()
        };
        let distance = frechet_distance(&of(1e150), &of(0.51e158)).unwrap();
        // Both have the same eigenvectors: `(sqrt(0.51e158) - sqrt(1e150))^2 tr`.
        let expected = 2.0 * (0.51e158_f64.sqrt() - 1e75).powi(2);
        assert!((distance.value() - expected).abs() < 1e-12 * expected, "{distance:?} {expected}");
    }

    #[test]
    fn a_distance_beyond_all_numbers_is_an_error() {
        let at = |mean: f64| Gaussian::new(vec![mean], vec![1.0], None).unwrap();
        let error = frechet_distance(&at(1e200), &at(-1e200)).unwrap_err();
        assert!(error.to_string().contains("frechet distance"), "{error}");
    }
}
