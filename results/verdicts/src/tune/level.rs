//! The level of the intervals that decide. Each rung may decide each bound of a setting, and whether another is better;
//! together these decisions about one setting hold with 95 % (Bonferroni), so a tuning with more rungs has a stricter level.

use specimen_stats::fewest::{Undecided, observations_to_decide};

use super::{
    sample::{ALONE, Spread, t_quantile},
    schedule::Schedule,
};
use crate::VerdictError;

/// Level of an interval, in (0, 1), by the prompts of the tuning that forms it.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    now: f64,
    /// Of rungs: how the prompts are cut, and how many decisions a rung makes about a setting.
    rungs: Option<(Schedule, usize)>,
    /// Prompts that are judged; `None` where each has a value.
    n_judged: Option<usize>,
}

impl Level {
    /// One that is the same for any number of prompts.
    #[must_use]
    pub fn fixed(level: f64) -> Level {
        Level { now: level, rungs: None, n_judged: None }
    }

    /// That of rungs which decide `n_bounds` bounds and the objective.
    #[must_use]
    pub fn of_rungs(schedule: Schedule, n_bounds: usize) -> Level {
        let now = bonferroni((n_bounds + 1) * schedule.n_rungs());
        Level { now, rungs: Some((schedule, n_bounds + 1)), n_judged: None }
    }

    /// The same where `n` prompts are judged, which may have fewer values: images that were decoded together have one time.
    #[must_use]
    pub fn judging(self, n: usize) -> Level {
        Level { n_judged: Some(n), ..self }
    }

    /// That of this tuning.
    #[must_use]
    pub fn now(&self) -> f64 {
        self.now
    }

    /// That of a tuning whose rungs share `n` prompts.
    fn with(&self, n: u64) -> f64 {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        self.rungs.map_or(self.now, |(schedule, each)| bonferroni(each * schedule.n_rungs_with(n)))
    }

    /// The fewest prompts that show on which side of 0 the mean is, at the level of the tuning that has them, if mean, spread
    /// and the prompts of a value stay as they are. `None` where nothing says so or it is more than a million values.
    pub(super) fn prompts_to_decide(&self, spread: &Spread) -> Result<Option<u64>, VerdictError> {
        let of_a_value = self.n_judged.map_or(1.0, |n| (n as f64 / spread.n as f64).max(1.0));
        let mut level = self.now;
        loop {
            let half = t_quantile(spread.n, level)? * spread.error;
            let distance = spread.mean.abs();
            let open = Undecided { n: spread.n as u64, distance, side: half, half };
            let Some(n_values) = observations_to_decide(&open, level)? else { return Ok(None) };
            let n = (n_values as f64 * of_a_value).ceil() as u64;
            // No more prompts have a lower level, so this ends at the fewest.
            if self.with(n) <= level {
                return Ok(Some(n));
            }
            level = self.with(n);
        }
    }
}

fn bonferroni(n_decisions: usize) -> f64 {
    1.0 - (1.0 - ALONE) / n_decisions as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

    use specimen_stats::student::student_quantile;

    use super::*;

    #[test]
    fn as_many_as_it_names_decide_in_the_tuning_that_has_them_and_one_fewer_does_not() {
        let schedule = Schedule::of(18, None).unwrap();
        let level = Level::of_rungs(schedule, 2);
        assert!((level.now() - (1.0 - 0.05 / 6.0)).abs() < 1e-12);
        // Half the interval of n prompts with a deviation of 1, in a tuning whose rungs have as many.
        let half = |n: u64| {
            let rungs = Schedule::of(Schedule::limit_of_search(n as usize), None).unwrap().n_rungs().max(2);
            let level = 1.0 - 0.05 / (3 * rungs) as f64;
            student_quantile(n - 1, 0.5 + level / 2.0).unwrap() / (n as f64).sqrt()
        };
        let spread = |mean: f64| Spread { n: 12, mean, error: 1.0 / 12_f64.sqrt() };
        for mean in [0.1, 0.15, -0.2, 0.3, 0.42, -0.5, 0.7] {
            let n = level.prompts_to_decide(&spread(mean)).unwrap().unwrap();
            assert!(half(n) < mean.abs(), "{mean}: {n} do not decide");
            assert!((13..n).all(|fewer| half(fewer) >= mean.abs()), "{mean}: fewer than {n} decide");
        }
        let at_once = Level::fixed(level.now()).prompts_to_decide(&spread(0.1)).unwrap();
        assert!(level.prompts_to_decide(&spread(0.1)).unwrap() > at_once, "more rungs, a stricter level");
        // Values of batches of four are of four times the prompts.
        let each = Level::fixed(0.95).prompts_to_decide(&spread(0.3)).unwrap().unwrap();
        let of_four = Level::fixed(0.95).judging(48).prompts_to_decide(&spread(0.3)).unwrap();
        assert_eq!(of_four, Some(4 * each));
    }
}
