//! What a chi-square test can see: its power against a given departure, and the smallest departure it would probably
//! find. Under a departure the statistic is noncentral chi-square with `lambda = n sum_i (r_i - p_i)^2 / p_i` for the
//! real law `r` (Cohen, Statistical Power Analysis, 1988, chapter 7).

use crate::error::{StatsError, require_count};
use crate::significance::chi_square_p;

/// Share of departures of the stated size that the stated test finds.
pub const POWER: f64 = 0.8;

/// Bisection halves the interval so often: from 1e6 to below 1e-9.
const N_HALVINGS: u32 = 60;

/// The probability that a test on level `alpha` rejects when the statistic is noncentral chi-square with
/// `degrees_of_freedom` and `lambda >= 0`. Fails for no degrees of freedom, `alpha` outside (0, 1), and a `lambda` that
/// is negative or above 1e6.
pub fn chi_square_power(alpha: f64, degrees_of_freedom: u64, lambda: f64) -> Result<f64, StatsError> {
    require_count("chi-square power: degrees of freedom", 1, degrees_of_freedom)?;
    if !(0.0..=1e6).contains(&lambda) {
        let (what, range) = ("chi-square power: lambda", "[0, 1e6]");
        return Err(StatsError::OutOfRange { what, at: 0, value: lambda, range });
    }
    let critical = critical_value(alpha, degrees_of_freedom)?;
    // A Poisson(lambda / 2) mixture of central laws; terms far from its mean weigh nothing.
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

/// The `lambda` at which a test on level `alpha` has the power [`POWER`]. Fails as [`chi_square_power`].
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
/// power [`POWER`] wherever it lies: a departure is hardest to find where it is spread evenly, half of the cells gaining
/// what the others lose, for which `lambda = 4 n tv^2`. Fails as [`chi_square_power`], and for no observations.
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

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
mod tests {
    use super::*;

    #[test]
    fn power_without_departure_is_the_level_and_grows_with_the_departure() {
        for (alpha, df) in [(0.05, 1), (0.001, 19), (1e-4, 200)] {
            assert!((chi_square_power(alpha, df, 0.0).unwrap() - alpha).abs() < 1e-9 * alpha.max(1e-3));
            let powers: Vec<f64> =
                [0.0, 1.0, 10.0, 100.0, 1000.0].map(|l| chi_square_power(alpha, df, l).unwrap()).to_vec();
            assert!(powers.windows(2).all(|pair| pair[0] < pair[1] || pair[1] > 1.0 - 1e-9), "{powers:?}");
        }
    }

    #[test]
    fn one_degree_of_freedom_is_the_two_sided_normal_test() {
        // (z(0.975) + z(0.8))^2 up to the far tail, which is below 1e-5 here.
        let expected = (1.959_963_985_f64 + 0.841_621_234).powi(2);
        assert!((detectable_lambda(0.05, 1).unwrap() - expected).abs() < 1e-3);
    }

    #[test]
    fn power_equals_the_integral_over_the_one_shifted_normal_of_the_sum() {
        for (alpha, df, lambda) in [(0.05, 4, 12.0_f64), (1e-3, 10, 30.0), (1e-4, 25, 80.0)] {
            let critical = critical_value(alpha, df).unwrap();
            let step = 1e-3;
            let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
            let tail = |z: f64| {
                let left = critical - (z + lambda.sqrt()).powi(2);
                if left <= 0.0 { 1.0 } else { chi_square_p(left, df - 1).unwrap() }
            };
            let points = (-9000..=9000).map(|i| f64::from(i) * step);
            let expected: f64 = points.map(|z| density(z) * tail(z) * step).sum();
            let found = chi_square_power(alpha, df, lambda).unwrap();
            assert!((found - expected).abs() < 1e-5, "df {df}: {found} for {expected}");
        }
    }

    #[test]
    fn four_times_the_observations_halve_what_can_be_seen() {
        let few = detectable_tv(1e-3, 20, 1000).unwrap();
        let many = detectable_tv(1e-3, 20, 4000).unwrap();
        assert!((few / many - 2.0).abs() < 1e-9 && few > 0.05 && few < 0.2, "{few} and {many}");
    }

    #[test]
    fn senseless_questions_are_errors() {
        assert!(chi_square_power(0.0, 3, 1.0).is_err());
        assert!(chi_square_power(0.05, 0, 1.0).is_err());
        assert!(chi_square_power(0.05, 3, -1.0).is_err());
        assert!(detectable_tv(0.05, 20, 0).is_err());
        assert!(detectable_tv(0.05, 1, 10).is_err());
    }
}
