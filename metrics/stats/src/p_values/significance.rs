//! Pearson's chi-square test of observed counts against expected probabilities.
//!
//! The lossless tests of the benchmark use it: sampled tokens against the target's distribution. Cells expecting fewer than
//! five observations are pooled (Cochran, Biometrics 10, 1954), smallest first, so the chi-square distribution holds well.

use crate::error::{StatsError, require_count};
use crate::gamma::gamma_q;

/// The smallest expectation of a cell that is not pooled.
pub const MIN_EXPECTED: f64 = 5.0;
/// How far the probabilities may sum from one.
const SUM_TOLERANCE: f64 = 1e-6;

/// A finished goodness-of-fit test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ChiSquareFit {
    /// Pearson's statistic, `sum (observed - expected)^2 / expected`.
    pub statistic: f64,
    /// Cells after pooling, less one.
    pub degrees_of_freedom: u64,
    /// Probability of a statistic at least this large under the expected distribution, in `[0, 1]`.
    pub p: f64,
    /// Cells that were pooled together, 0 if none.
    pub n_pooled: usize,
}

/// Tests `observed` counts, `[n_cells]`, against `expected` probabilities, `[n_cells]`, summing to one.
///
/// # Errors
/// Unequal lengths, probabilities that are negative or do not sum to 1 within 1e-6, an observation in a cell of
/// probability zero ([`StatsError::Impossible`]: the distribution is refuted without a test), fewer than two cells
/// after pooling.
pub fn chi_square_fit(observed: &[u64], expected: &[f64]) -> Result<ChiSquareFit, StatsError> {
    check_cells(observed, expected)?;
    let n: u64 = observed.iter().sum();
    require_count("chi-square fit", 1, n)?;
    let (cells, n_pooled) = pool(observed, expected, n as f64);
    require_count("chi-square fit: cells with an expectation of 5 or more", 2, cells.len() as u64)?;
    // Scaling by the sum removes its rounding, so equal counts give exactly zero.
    let scale = n as f64 / cells.iter().map(|cell| cell.1).sum::<f64>();
    let statistic = cells.iter().map(|&(count, e)| (count - e * scale).powi(2) / (e * scale)).sum();
    let degrees_of_freedom = cells.len() as u64 - 1;
    Ok(ChiSquareFit {
        statistic,
        degrees_of_freedom,
        p: chi_square_p(statistic, degrees_of_freedom)?,
        n_pooled,
    })
}

/// Returns the probability that a chi-square number with `degrees_of_freedom` is at least `statistic`.
///
/// # Errors
/// A negative or non-finite statistic and zero degrees of freedom.
pub fn chi_square_p(statistic: f64, degrees_of_freedom: u64) -> Result<f64, StatsError> {
    gamma_q(0.5 * degrees_of_freedom as f64, 0.5 * statistic)
}

fn check_cells(observed: &[u64], expected: &[f64]) -> Result<(), StatsError> {
    if observed.len() != expected.len() {
        return Err(StatsError::WrongSize {
            what: "chi-square fit: observed cells",
            expected: expected.len(),
            found: observed.len(),
        });
    }
    for (cell, (&count, &p)) in observed.iter().zip(expected).enumerate() {
        if !(0.0..=1.0 + SUM_TOLERANCE).contains(&p) {
            let what = "chi-square fit: probability";
            return Err(StatsError::OutOfRange { what, at: cell, value: p, range: "[0, 1]" });
        }
        if p == 0.0 && count > 0 {
            return Err(StatsError::Impossible { what: "chi-square fit", cell, count });
        }
    }
    let sum: f64 = expected.iter().sum();
    if (sum - 1.0).abs() > SUM_TOLERANCE {
        return Err(StatsError::OutOfRange {
            what: "chi-square fit: sum of the probabilities",
            at: 0,
            value: sum,
            range: "1 within 1e-6",
        });
    }
    Ok(())
}

/// Returns (observed, expected) counts a cell, the small cells pooled into the first, and how many went into it. The
/// pool takes the next smallest cell while it is itself too small.
fn pool(observed: &[u64], expected: &[f64], n: f64) -> (Vec<(f64, f64)>, usize) {
    let mut cells: Vec<(f64, f64)> = observed
        .iter()
        .zip(expected)
        .filter(|&(_, &p)| p > 0.0)
        .map(|(&count, &p)| (count as f64, p * n))
        .collect();
    cells.sort_by(|a, b| a.1.total_cmp(&b.1));
    let (mut count, mut expectation, mut n_pooled) = (0.0, 0.0, 0);
    for &(o, e) in &cells {
        let is_pool_too_small = n_pooled > 0 && expectation < MIN_EXPECTED;
        if e >= MIN_EXPECTED && !is_pool_too_small {
            break;
        }
        count += o;
        expectation += e;
        n_pooled += 1;
    }
    if n_pooled == 0 {
        return (cells, 0);
    }
    let mut pooled = vec![(count, expectation)];
    pooled.extend_from_slice(&cells[n_pooled..]);
    (pooled, n_pooled)
}
