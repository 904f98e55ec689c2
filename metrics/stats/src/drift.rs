//! How much something changed over the course of interleaved blocks: the machine's speed, or a speedup that the
//! interleaving should protect from it.
//!
//! A straight line through the logarithms of the blocks' values, so a factor per block; its interval is Student's. Blocks
//! are in the order in which they ran.

use crate::bootstrap::Interval;
use crate::error::{StatsError, require_count, require_positive};
use crate::student::student_quantile;

/// A change over the whole course.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Drift {
    /// The fitted value at the last block over that at the first; 1 where nothing drifts.
    pub factor: f64,
    /// Its interval.
    pub interval: Interval,
    /// Blocks.
    pub n_blocks: usize,
}

/// Returns the drift of one positive value a block, with an interval at `level` in (0, 1). Fails for fewer than three
/// blocks, where no scatter about a line can be seen, and on values that are not above zero.
pub fn drift(blocks: &[f64], level: f64) -> Result<Drift, StatsError> {
    require_count("drift: blocks", 3, blocks.len() as u64)?;
    require_positive("drift", blocks)?;
    let n = blocks.len() as f64;
    let logs: Vec<f64> = blocks.iter().map(|value| value.ln()).collect();
    let (mean_place, mean_log) = ((n - 1.0) / 2.0, logs.iter().sum::<f64>() / n);
    let places = || (0..blocks.len()).map(|place| place as f64 - mean_place);
    let spread: f64 = places().map(|x| x * x).sum();
    let slope = places().zip(&logs).map(|(x, y)| x * (y - mean_log)).sum::<f64>() / spread;
    let rest: f64 = places().zip(&logs).map(|(x, y)| (y - mean_log - slope * x).powi(2)).sum();
    let standard_error = (rest / (n - 2.0) / spread).sqrt();
    let reach = student_quantile(blocks.len() as u64 - 2, 0.5 + 0.5 * level)? * standard_error;
    let over_all = |slope: f64| (slope * (n - 1.0)).exp();
    Ok(Drift {
        factor: over_all(slope),
        interval: Interval { lower: over_all(slope - reach), upper: over_all(slope + reach), level },
        n_blocks: blocks.len(),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;
    use crate::{counter_rng::CounterRng, normal::normal_quantile};

    #[test]
    fn a_steady_change_is_found_without_width() {
        let blocks: Vec<f64> = (0..9).map(|block| 3.0 * 1.01_f64.powi(block)).collect();
        let found = drift(&blocks, 0.95).unwrap();
        assert!((found.factor - 1.01_f64.powi(8)).abs() < 1e-12, "{found:?}");
        assert!(found.interval.upper - found.interval.lower < 1e-9);
        assert!((drift(&[2.0; 4], 0.95).unwrap().factor - 1.0).abs() < 1e-15);
    }

    #[test]
    fn intervals_of_a_drift_hold_it_at_their_level() {
        let n_runs = 2000_u64;
        let n_covered = (0..n_runs)
            .filter(|&run| {
                let rng = CounterRng::new(70_000 + run);
                let noise = |block: u64| normal_quantile(rng.uniform(block).max(1e-12)).unwrap();
                let blocks: Vec<f64> = (0..8).map(|b| (0.02 * b as f64 + 0.05 * noise(b)).exp()).collect();
                let interval = drift(&blocks, 0.95).unwrap().interval;
                (interval.lower..=interval.upper).contains(&(0.02_f64 * 7.0).exp())
            })
            .count();
        let share = n_covered as f64 / n_runs as f64;
        assert!((0.93..=0.97).contains(&share), "{share} covered");
    }

    #[test]
    fn too_few_blocks_and_times_of_zero_are_errors() {
        assert!(matches!(drift(&[1.0, 2.0], 0.95), Err(StatsError::TooFew { needed: 3, found: 2, .. })));
        assert!(drift(&[1.0, 0.0, 2.0], 0.95).is_err());
        assert!(drift(&[1.0, 2.0, 3.0], 1.0).is_err());
    }

    #[test]
    fn the_interval_is_students_with_two_degrees_less_than_blocks() {
        let blocks = [2.0, 2.2, 1.9, 2.4, 2.1, 2.6, 2.5, 2.3];
        let logs = blocks.map(f64::ln);
        let mean = logs.iter().sum::<f64>() / 8.0;
        let places = (0..8).map(|i| f64::from(i) - 3.5);
        let slope = places.clone().zip(&logs).map(|(x, y)| x * y).sum::<f64>() / 42.0;
        let rest: f64 = places.zip(&logs).map(|(x, y)| (y - mean - slope * x).powi(2)).sum();
        // Student's t of six degrees of freedom at 97.5 %.
        let reach = 2.446_911_851 * (rest / 6.0 / 42.0).sqrt();
        let found = drift(&blocks, 0.95).unwrap();
        assert!((found.interval.upper.ln() - 7.0 * (slope + reach)).abs() < 1e-7, "{found:?}");
        assert!((found.interval.lower.ln() - 7.0 * (slope - reach)).abs() < 1e-7, "{found:?}");
    }
}
