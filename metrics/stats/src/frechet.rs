//! Fréchet distance between two Gaussians (FID when the features are Inception's).
//!
//! `|m1 - m2|^2 + tr S1 + tr S2 - 2 tr sqrt(S1 S2)` (Dowson and Landau 1982; Heusel et al. 2017, eq. 6). With
//! `S1 = A A^T` and `S2 = B B^T` the eigenvalues of `S1 S2` are the squared singular values of `A^T B`, so the last
//! trace is their sum (from eigenvalues of a symmetric matrix where a bound shows that to be as good). No matrix square root, no complex numbers, no added epsilon, and no square root of a rounding
//! error where an eigenvalue should be zero: fewer rows than features is an ordinary case. The reference tools lose
//! 1e-6 relative there.

use faer::{Mat, Side};

use crate::error::StatsError;
use crate::gaussian::{FactoredGaussian, Gaussian};

/// Largest relative error of `tr sqrt(S1 S2)` for which the faster route by eigenvalues is taken.
const EIGENVALUE_ERROR: f64 = 1e-11;

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
    pub fn value(&self) -> f64 {
        self.mean_term + self.covariance_term
    }
}

/// Returns the Fréchet distance; symmetric in its arguments to rounding. Fails on unequal feature counts and on a
/// matrix that is not a covariance.
pub fn frechet_distance(first: &Gaussian, second: &Gaussian) -> Result<FrechetDistance, StatsError> {
    check_sizes(first.mean().len(), second.mean().len())?;
    frechet_distance_factored(&first.factor()?, &second.factor()?)
}

/// Like [`frechet_distance`], for a reference that is factored once and compared often.
pub fn frechet_distance_factored(
    first: &FactoredGaussian,
    second: &FactoredGaussian,
) -> Result<FrechetDistance, StatsError> {
    check_sizes(first.d(), second.d())?;
    let mean_term = first.mean.iter().zip(&second.mean).map(|(a, b)| (a - b) * (a - b)).sum();
    let product = first.factor.transpose() * &second.factor;
    let trace_sqrt = sum_of_singular_values(&product)?;
    let covariance_term = (first.trace + second.trace - 2.0 * trace_sqrt).max(0.0);
    Ok(FrechetDistance {
        mean_term,
        covariance_term,
        trace_first: first.trace,
        trace_second: second.trace,
        trace_sqrt,
    })
}

/// Returns the sum of singular values: as roots of eigenvalues of the Gram matrix where that is accurate (half the
/// time of the other way), else directly.
fn sum_of_singular_values(product: &Mat<f64>) -> Result<f64, StatsError> {
    if product.nrows() == product.ncols()
        && let Some(sum) = sum_of_eigenvalue_roots(product)?
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

/// Returns the same sum from the eigenvalues of `product product^T`, or nothing when rounding could move it by more
/// than [`EIGENVALUE_ERROR`]: an eigenvalue known to `u` has a root known to `u / (2 root)`, so small ones spoil it.
fn sum_of_eigenvalue_roots(product: &Mat<f64>) -> Result<Option<f64>, StatsError> {
    let d = product.nrows();
    let gram = product * product.transpose();
    let eigenvalues = gram.self_adjoint_eigenvalues(Side::Lower).map_err(|_| StatsError::NoConvergence {
        what: "eigenvalues of the product of two covariances",
        n_rows: d,
        n_columns: d,
    })?;
    // Ascending. Each is known to a few roundings of the largest, growing as the root of the size.
    let uncertainty = (d as f64).sqrt() * f64::EPSILON * eigenvalues.last().copied().unwrap_or(0.0);
    if eigenvalues.first().is_none_or(|&smallest| smallest <= uncertainty) {
        return Ok(None);
    }
    let sum: f64 = eigenvalues.iter().map(|x| x.sqrt()).sum();
    let error: f64 = eigenvalues.iter().map(|x| uncertainty / (2.0 * x.sqrt())).sum();
    Ok((error <= EIGENVALUE_ERROR * sum).then_some(sum))
}

fn check_sizes(first: usize, second: usize) -> Result<(), StatsError> {
    if first == second {
        return Ok(());
    }
    Err(StatsError::WrongSize { what: "frechet distance: features", expected: first, found: second })
}
