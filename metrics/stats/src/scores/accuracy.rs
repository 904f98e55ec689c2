//! Shares of hits with Wilson intervals.
//!
//! The interval is Wilson's score interval (JASA 22, 1927): it stays inside `[0, 1]` and holds its level near the ends,
//! where the textbook interval collapses to a point.

use crate::bootstrap::Interval;
use crate::error::{StatsError, require_count};
use crate::normal::normal_quantile;

/// Hits among trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HitCounts {
    /// Trials that hit; at most `n_trials`.
    pub n_hits: u64,
    /// All trials.
    pub n_trials: u64,
}

/// A share of hits with its interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Hits over trials, in `[0, 1]`.
    pub value: f64,
    /// Wilson interval.
    pub interval: Interval,
    /// Trials.
    pub n: u64,
}

impl HitCounts {
    /// Returns the share of hits with a Wilson interval at `level`.
    ///
    /// # Errors
    /// No trials, more hits than trials, or a level outside (0, 1).
    pub fn accuracy(&self, level: f64) -> Result<Accuracy, StatsError> {
        require_count("accuracy", 1, self.n_trials)?;
        check_counts(*self)?;
        if !(level > 0.0 && level < 1.0) {
            return Err(StatsError::OutOfRange {
                what: "accuracy: level",
                at: 0,
                value: level,
                range: "(0, 1)",
            });
        }
        let z = normal_quantile(0.5 + level / 2.0)?;
        let n = self.n_trials as f64;
        let value = self.n_hits as f64 / n;
        let widening = z * z / n;
        let centre = (value + widening / 2.0) / (1.0 + widening);
        let half = z / (1.0 + widening) * (value * (1.0 - value) / n + widening / (4.0 * n)).sqrt();
        let interval = Interval { lower: (centre - half).max(0.0), upper: (centre + half).min(1.0), level };
        Ok(Accuracy { value, interval, n: self.n_trials })
    }
}

fn check_counts(counts: HitCounts) -> Result<(), StatsError> {
    if counts.n_hits <= counts.n_trials {
        return Ok(());
    }
    let why = format!("{} hits among {} trials", counts.n_hits, counts.n_trials);
    Err(StatsError::Inconsistent { what: "accuracy", why })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    #[test]
    fn the_wilson_interval_equals_the_reference_values() {
        // scipy.stats.binomtest(k, n).proportion_ci(method="wilson"), SciPy 1.17.1. Both sides are a few roundings of
        // numbers below one.
        for (n_hits, n_trials, lower, upper) in WILSON {
            let got = HitCounts { n_hits, n_trials }.accuracy(0.95).unwrap().interval;
            assert!((got.lower - lower).abs() < 1e-14 && (got.upper - upper).abs() < 1e-14, "{got:?}");
        }
    }

    /// Hits, trials, lower end, upper end.
    const WILSON: [(u64, u64, f64, f64); 4] = [
        (0, 10, 0.0, 0.27753279986288926),
        (7, 10, 0.39677814746114526, 0.892208732593699),
        (10, 10, 0.7224672001371109, 1.0),
        (431, 500, 0.8289979864047199, 0.8894819911011163),
    ];

    #[test]
    fn counts_that_cannot_be_are_refused() {
        assert!(HitCounts { n_hits: 0, n_trials: 0 }.accuracy(0.95).is_err());
        assert!(HitCounts { n_hits: 2, n_trials: 1 }.accuracy(0.95).is_err());
        assert!(HitCounts { n_hits: 1, n_trials: 2 }.accuracy(1.0).is_err());
    }

    #[test]
    fn a_level_that_is_none_is_refused() {
        let counts = HitCounts { n_hits: 3, n_trials: 4 };
        for level in [0.0, 1.0, -0.5, 1.5, f64::NAN] {
            assert!(counts.accuracy(level).is_err(), "{level}");
        }
        assert!(counts.accuracy(0.95).is_ok());
    }
}
