//! What a chi-square test can see: its power against a given departure, and the smallest departure it would probably
//! find. Under a departure the statistic is noncentral chi-square with `lambda = n sum_i (r_i - p_i)^2 / p_i` for the
//! real distribution `r` (Cohen, Statistical Power Analysis, 1988, chapter 7).

use crate::error::{StatsError, require_count};
use crate::significance::chi_square_p;

/// Share of departures of the stated size that the stated test finds.
const POWER: f64 = 0.8;

/// Bisection halves the interval so often: from 1e6 to below 1e-9.
const N_HALVINGS: u32 = 60;

/// The probability that a test on level `alpha` rejects when the statistic is noncentral chi-square with
/// `degrees_of_freedom` and `lambda >= 0`.
///
/// # Errors
/// No degrees of freedom, `alpha` outside (0, 1), and a `lambda` that is negative or above 1e6.
pub fn chi_square_power(alpha: f64, degrees_of_freedom: u64, lambda: f64) -> Result<f64, StatsError> {
    require_count("chi-square power: degrees of freedom", 1, degrees_of_freedom)?;
    if !(0.0..=1e6).contains(&lambda) {
        let (what, range) = ("chi-square power: lambda", "[0, 1e6]");
        return Err(StatsError::OutOfRange { what, at: 0, value: lambda, range });
    }
    let critical = critical_value(alpha, degrees_of_freedom)?;
    // A Poisson(lambda / 2) mixture of central distributions; terms far from its mean weigh nothing.
    let mean = 0.5 * lambda;
    let reach = 12.0 * mean.sqrt() + 40.0;
    let first = (mean - reach).max(0.0).floor() as u64;
    let last = (mean + reach).ceil() as u64;
    let mut power = 0.0;
    let mut total = 0.0;
    let mut log_factorial: f64 = (1..=first).map(|k| (k as f64).ln()).sum();
    for k in first..=last {
        if k > first {
            log_factorial += (k as f64).ln();
        }
        let log_weight = if mean == 0.0 {
            if k == 0 { 0.0 } else { f64::NEG_INFINITY }
        } else {
            k as f64 * mean.ln() - mean - log_factorial
        };
        let weight = log_weight.exp();
        total += weight;
        if weight > 0.0 {
            power += weight * chi_square_p(critical, degrees_of_freedom + 2 * k)?;
        }
    }
    Ok((power / total).clamp(0.0, 1.0))
}

/// The `lambda` at which a test on level `alpha` has the power `POWER`.
///
/// # Errors
/// As [`chi_square_power`].
pub fn detectable_lambda(alpha: f64, degrees_of_freedom: u64) -> Result<f64, StatsError> {
    let (mut low, mut high) = (0.0, 1.0);
    while chi_square_power(alpha, degrees_of_freedom, high)? < POWER {
        low = high;
        high *= 2.0;
    }
    for _ in 0..N_HALVINGS {
        let middle = 0.5 * (low + high);
        let is_enough = POWER <= chi_square_power(alpha, degrees_of_freedom, middle)?;
        (low, high) = if is_enough { (low, middle) } else { (middle, high) };
    }
    Ok(high)
}

/// The smallest total variation that a test of `n` observations in `n_cells` equally probable cells finds with the
/// power `POWER` wherever it lies: a departure is hardest to find where it is spread evenly, half of the cells
/// gaining what the others lose, for which `lambda = 4 n tv^2`.
///
/// # Errors
/// As [`chi_square_power`], and no observations.
pub fn detectable_tv(alpha: f64, n_cells: u64, n: u64) -> Result<f64, StatsError> {
    require_count("detectable total variation: observations", 1, n)?;
    require_count("detectable total variation: cells", 2, n_cells)?;
    Ok(0.5 * (detectable_lambda(alpha, n_cells - 1)? / n as f64).sqrt())
}

/// The statistic above which a test on level `alpha` rejects.
fn critical_value(alpha: f64, degrees_of_freedom: u64) -> Result<f64, StatsError> {
    if !(alpha > 0.0 && alpha < 1.0) {
        let (what, range) = ("chi-square power: alpha", "(0, 1)");
        return Err(StatsError::OutOfRange { what, at: 0, value: alpha, range });
    }
    let (mut low, mut high) = (0.0, 1.0);
    while alpha < chi_square_p(high, degrees_of_freedom)? {
        low = high;
        high *= 2.0;
    }
    for _ in 0..N_HALVINGS {
        let middle = 0.5 * (low + high);
        let is_beyond = chi_square_p(middle, degrees_of_freedom)? <= alpha;
        (low, high) = if is_beyond { (low, middle) } else { (middle, high) };
    }
    Ok(high)
}
