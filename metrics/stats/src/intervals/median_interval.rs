//! The median with an interval that assumes nothing about the distribution of the values.
//!
//! Between the `k`-th value from below and the `k`-th from above is the median with a probability that the binomial distribution
//! of one half gives exactly; to meet a level in between, neighbouring ends are interpolated (Hettmansperger and
//! Sheather, Statistics and Probability Letters 4, 1986). A bootstrap of the median has no valid acceleration, so it is
//! not used here.

use crate::bootstrap::Interval;
use crate::error::{StatsError, require_count, require_finite};
use crate::fewest::fewest_observations;
use crate::order_statistics::quantile_of_sorted;

/// A median and its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MedianEstimate {
    /// The middle value, or the mean of the two inner ones.
    pub value: f64,
    /// Two-sided interval, ends within the values.
    pub interval: Interval,
    /// Values.
    pub n: usize,
}

/// Returns the median of `values` with an interval at `level` in (0, 1).
///
/// # Errors
/// Non-finite values, and where there are too few for the level: even their whole range would hold the median too
/// seldom (six reach 0.95).
pub fn median_interval(values: &[f64], level: f64) -> Result<MedianEstimate, StatsError> {
    if !(level > 0.0 && level < 1.0) {
        return Err(StatsError::OutOfRange {
            what: "median interval: level",
            at: 0,
            value: level,
            range: "(0, 1), such as 0.95",
        });
    }
    require_finite("median interval", values)?;
    let n = values.len();
    require_count("median interval", fewest_observations(level) as u64, n as u64)?;
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // `coverage[k - 1]` is that of the k-th values from both ends; it falls with k.
    let coverage = coverages(n);
    let k = coverage.iter().take_while(|&&covered| covered >= level).count();
    let (wide, narrow) = (coverage[k - 1], coverage.get(k).copied().unwrap_or(0.0));
    let share = (wide - level) / (wide - narrow);
    let inner = (n - k) as f64 * share / (k as f64 + (n as f64 - 2.0 * k as f64) * share);
    let between = |outer: usize, next: usize| (1.0 - inner) * sorted[outer] + inner * sorted[next];
    let interval = Interval {
        lower: between(k - 1, k.min(n - 1)),
        upper: between(n - k, (n - k).saturating_sub(1)),
        level,
    };
    Ok(MedianEstimate { value: quantile_of_sorted(&sorted, 0.5), interval, n })
}

/// Returns, for each `k` from 1 to `n / 2`, the probability that the median is between the `k`-th values from the ends.
fn coverages(n: usize) -> Vec<f64> {
    // Logarithms: half to the power of n underflows past a thousand values.
    let mut log_mass = -(n as f64) * std::f64::consts::LN_2;
    let mut below = 0.0;
    (1..=n / 2)
        .map(|k| {
            below += log_mass.exp();
            log_mass += ((n - k + 1) as f64 / k as f64).ln();
            1.0 - 2.0 * below
        })
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    #[test]
    fn coverages_are_those_of_the_binomial_law() {
        // Ten values: 1 - 2 (1, 11, 56, 176, 386) / 1024.
        let exact = [1022.0, 1002.0, 912.0, 672.0, 252.0].map(|n: f64| n / 1024.0);
        for (found, exact) in coverages(10).iter().zip(exact) {
            assert!((found - exact).abs() < 1e-12, "{found} {exact}");
        }
        assert!(coverages(5000).iter().all(|share| (-1e-9..=1.0).contains(share)));
    }

    #[test]
    fn ends_lie_between_the_order_statistics_around_the_level() {
        let values: Vec<f64> = (1..=10).map(f64::from).collect();
        // The second values cover 0.979, the third 0.891.
        let found = median_interval(&values, 0.95).unwrap();
        assert_eq!((found.value, found.n), (5.5, 10));
        assert!(found.interval.lower > 2.0 && found.interval.lower < 3.0, "{found:?}");
        assert!((found.interval.lower + found.interval.upper - 11.0).abs() < 1e-12, "{found:?}");
    }

    #[test]
    fn too_few_values_for_a_level_are_an_error() {
        let n = |n: u32, level| median_interval(&(0..n).map(f64::from).collect::<Vec<_>>(), level);
        assert!(matches!(n(5, 0.95), Err(StatsError::TooFew { needed: 6, found: 5, .. })));
        assert!(n(6, 0.95).is_ok());
        assert!(n(9, 1.0).is_err());
        assert!(median_interval(&[1.0, f64::NAN, 2.0, 3.0, 4.0, 5.0], 0.9).is_err());
    }
}
