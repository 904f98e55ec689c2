//! Which prompts each rung takes. Every rung has twice the prompts of the one before and at most half its settings
//! (rounded up), so rungs cost about the same; no prompt is taken twice, so a setting that was lucky in one rung is
//! not lucky in the next for the same reason.

use serde::{Deserialize, Serialize};

use crate::VerdictError;

/// The fewest prompts that have an interval.
const FEWEST: usize = 2;

/// Prompts of a tuning.
// Invariant: `first >= FEWEST`, and all rungs and a held-out part at least as large as the last fit into `n_prompts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    n_rungs: usize,
    first: usize,
    n_prompts: usize,
}

impl Schedule {
    /// Rungs for `n_settings` (at least 1) on `n_prompts`. Without `first`, the number of prompts of the first rung, it
    /// is the largest that leaves at least as many prompts held out as the last rung has.
    ///
    /// # Errors
    /// When there are no settings or too few prompts.
    pub fn of(n_settings: usize, n_prompts: usize, first: Option<usize>) -> Result<Schedule, VerdictError> {
        if n_settings == 0 {
            return Err(VerdictError::NothingToTune);
        }
        let mut n_rungs = 1;
        let mut left = kept_of(n_settings);
        while left > 1 {
            n_rungs += 1;
            left = kept_of(left);
        }
        // 1 + 2 + 4 + ... of the rungs, and the last once more.
        let shares = (1_usize << n_rungs) - 1 + (1 << (n_rungs - 1));
        let largest = n_prompts / shares;
        let first = first.unwrap_or(largest.max(FEWEST));
        if first < FEWEST || first > largest {
            let needed = shares.saturating_mul(first.max(FEWEST));
            return Err(VerdictError::TooFewPrompts { n_settings, n_rungs, n_prompts, first, needed });
        }
        Ok(Schedule { n_rungs, first, n_prompts })
    }

    /// Rungs there will be at most.
    #[must_use]
    pub fn n_rungs(&self) -> usize {
        self.n_rungs
    }

    /// Prompts of rung `rung`, from 0: first position, and the one past the last.
    #[must_use]
    pub fn prompts(&self, rung: usize) -> [usize; 2] {
        let before = ((1 << rung) - 1) * self.first;
        [before, before + (self.first << rung)]
    }

    /// Prompts that no rung has: all that are left.
    #[must_use]
    pub fn held_out(&self) -> [usize; 2] {
        [self.prompts(self.n_rungs)[0], self.n_prompts]
    }
}

/// Settings of `n` that go on.
pub(crate) fn kept_of(n: usize) -> usize {
    n.div_ceil(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(n_settings: usize, n_prompts: usize, rungs: &[[usize; 2]], held_out: [usize; 2]) {
        let schedule = Schedule::of(n_settings, n_prompts, None).expect("there are enough prompts");
        let found: Vec<_> = (0..schedule.n_rungs()).map(|rung| schedule.prompts(rung)).collect();
        assert_eq!((found.as_slice(), schedule.held_out()), (rungs, held_out), "{n_settings} {n_prompts}");
    }

    #[test]
    fn rungs_double_share_no_prompt_and_leave_at_least_as_many_as_the_last() {
        check(1, 4, &[[0, 2]], [2, 4]);
        check(2, 5, &[[0, 2]], [2, 5]);
        check(4, 32, &[[0, 6], [6, 18]], [18, 32]);
        check(6, 88, &[[0, 8], [8, 24], [24, 56]], [56, 88]);
        check(
            64,
            5000,
            &[[0, 52], [52, 156], [156, 364], [364, 780], [780, 1612], [1612, 3276]],
            [3276, 5000],
        );
    }

    #[test]
    fn too_few_prompts_are_refused_with_the_number_that_would_do() {
        let refused = |n_settings, n_prompts, first| {
            Schedule::of(n_settings, n_prompts, first).expect_err("it does not fit").to_string()
        };
        assert!(refused(6, 21, None).contains("22 prompts"), "{}", refused(6, 21, None));
        assert!(refused(6, 32, Some(4)).contains("44 prompts"), "{}", refused(6, 32, Some(4)));
        assert!(refused(6, 32, Some(1)).contains("22 prompts"), "{}", refused(6, 32, Some(1)));
        assert!(refused(0, 32, None).contains("no cell"), "{}", refused(0, 32, None));
        assert_eq!(Schedule::of(6, 32, Some(2)).expect("it fits").held_out(), [14, 32]);
    }
}
