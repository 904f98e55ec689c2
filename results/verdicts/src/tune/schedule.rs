//! Which prompts each rung takes. A rung judges by all prompts so far and has as many of them as the one before had
//! twice; its new prompts are in no earlier rung. A third of the prompts, and at least [`FEWEST_PROMPTS`], is held out for
//! the setting that is chosen.

use serde::{Deserialize, Serialize};

use super::FEWEST_PROMPTS;
use crate::VerdictError;

/// Rungs without `--prompts`, at most: each is a run of its own that starts workers.
const MOST_RUNGS: usize = 6;

/// Prompts of a tuning.
// Invariant: `first >= FEWEST_PROMPTS`, `first << (n_rungs - 1) <= n_search`, and
// `n_prompts - n_search >= FEWEST_PROMPTS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedule {
    n_rungs: usize,
    first: usize,
    n_search: usize,
    n_prompts: usize,
    /// Whether `first` was asked for, and not chosen by the number of prompts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_first_given: bool,
}

impl Schedule {
    /// Rungs on `n_prompts`. Without `first`, the number of prompts of the first rung, there are as many rungs as six
    /// prompts allow in the first, and at most six.
    ///
    /// # Errors
    /// When there are too few prompts, or `first` is smaller than [`FEWEST_PROMPTS`].
    pub fn of(n_prompts: usize, first: Option<usize>) -> Result<Schedule, VerdictError> {
        let smallest = first.unwrap_or(FEWEST_PROMPTS);
        if smallest < FEWEST_PROMPTS {
            return Err(VerdictError::RungTooSmall { first: smallest, fewest: FEWEST_PROMPTS });
        }
        let n_search = search_of(n_prompts);
        if n_search < smallest {
            let needed = Schedule::limit_of_search(smallest);
            return Err(VerdictError::TooFewPrompts { n_prompts, first: smallest, needed });
        }
        let n_rungs = rungs_of(n_search, first);
        let is_first_given = first.is_some();
        let first = first.unwrap_or(n_search >> (n_rungs - 1));
        Ok(Schedule { n_rungs, first, n_search, n_prompts, is_first_given })
    }

    /// Rungs of a tuning with the same first rung whose rungs share `n` prompts; never fewer than here.
    #[must_use]
    pub fn n_rungs_with(&self, n: usize) -> usize {
        if n <= self.n_search {
            return self.n_rungs;
        }
        rungs_of(n, Some(self.first).filter(|_| self.is_first_given))
    }

    /// Rungs there will be at most.
    #[must_use]
    pub fn n_rungs(&self) -> usize {
        self.n_rungs
    }

    /// Prompts of all rungs together.
    #[must_use]
    pub fn n_search(&self) -> usize {
        self.n_search
    }

    /// New prompts of rung `rung`, from 0: first position, and the one past the last.
    #[must_use]
    pub fn prompts(&self, rung: usize) -> [usize; 2] {
        let end = |rung: usize| if rung + 1 >= self.n_rungs { self.n_search } else { self.first << rung };
        [if rung == 0 { 0 } else { end(rung - 1) }, end(rung)]
    }

    /// Prompts that no rung has.
    #[must_use]
    pub fn held_out(&self) -> [usize; 2] {
        [self.n_search, self.n_prompts]
    }

    /// Prompts of a spec whose rungs have `n` of them.
    #[must_use]
    pub fn limit_of_search(n: usize) -> usize {
        (3 * n).div_ceil(2).max(n + FEWEST_PROMPTS)
    }

    /// Prompts of a spec whose held-out part has `n` of them.
    #[must_use]
    pub const fn limit_of_held_out(n: usize) -> usize {
        if n <= FEWEST_PROMPTS { 2 * FEWEST_PROMPTS } else { 3 * n - 2 }
    }
}

/// Rungs that share `n_search` prompts, at least as many as the first rung has.
fn rungs_of(n_search: usize, first: Option<usize>) -> usize {
    let n_rungs = 1 + (n_search / first.unwrap_or(FEWEST_PROMPTS)).ilog2() as usize;
    if first.is_some() { n_rungs } else { n_rungs.min(MOST_RUNGS) }
}

/// Prompts of `n_prompts` that the rungs share.
fn search_of(n_prompts: usize) -> usize {
    (2 * n_prompts / 3).min(n_prompts.saturating_sub(FEWEST_PROMPTS))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(n_prompts: usize, rungs: &[[usize; 2]], held_out: [usize; 2]) {
        let schedule = Schedule::of(n_prompts, None).expect("there are enough prompts");
        let found: Vec<_> = (0..schedule.n_rungs()).map(|rung| schedule.prompts(rung)).collect();
        assert_eq!((found.as_slice(), schedule.held_out()), (rungs, held_out), "{n_prompts}");
    }

    #[test]
    fn a_rung_has_twice_the_prompts_so_far_none_twice_and_a_third_is_held_out() {
        check(12, &[[0, 6]], [6, 12]);
        check(17, &[[0, 11]], [11, 17]);
        check(18, &[[0, 6], [6, 12]], [12, 18]);
        check(48, &[[0, 8], [8, 16], [16, 32]], [32, 48]);
        check(50, &[[0, 8], [8, 16], [16, 33]], [33, 50]);
        let large = [[0, 104], [104, 208], [208, 416], [416, 832], [832, 1664], [1664, 3333]];
        check(5000, &large, [3333, 5000]);
    }

    #[test]
    fn the_first_rung_has_six_prompts_or_more_and_may_be_given() {
        for n_prompts in 12..600 {
            let schedule = Schedule::of(n_prompts, None).expect("there are enough prompts");
            let [from, to] = schedule.prompts(0);
            assert!(from == 0 && to >= 6, "{n_prompts}: {schedule:?}");
        }
        let given = Schedule::of(48, Some(10)).expect("it fits");
        assert_eq!((given.prompts(0), given.prompts(1), given.held_out()), ([0, 10], [10, 32], [32, 48]));
    }

    #[test]
    fn a_larger_tuning_has_as_many_rungs_as_its_own_schedule() {
        for first in [None, Some(6), Some(10)] {
            let small = Schedule::of(30, first).expect("there are enough prompts");
            for n in 20..2000 {
                let larger =
                    Schedule::of(Schedule::limit_of_search(n), first).expect("there are enough prompts");
                assert_eq!((larger.n_search(), larger.n_rungs()), (n, small.n_rungs_with(n)), "{first:?}");
            }
            assert_eq!(small.n_rungs_with(6), small.n_rungs(), "the tuning continues with its own rungs");
        }
    }

    #[test]
    fn too_few_prompts_are_refused_with_the_number_that_would_do() {
        let refused =
            |n_prompts, first| Schedule::of(n_prompts, first).expect_err("it does not fit").to_string();
        assert!(refused(11, None).contains("at least 12"), "{}", refused(11, None));
        assert!(refused(32, Some(30)).contains("at least 45"), "{}", refused(32, Some(30)));
        assert!(refused(32, Some(2)).contains("at least 6"), "{}", refused(32, Some(2)));
    }

    #[test]
    fn the_limits_it_names_are_the_smallest_that_do() {
        for n in 6..200 {
            let limit = Schedule::limit_of_search(n);
            assert!(search_of(limit) >= n && search_of(limit - 1) < n, "{n}: {limit}");
            let limit = Schedule::limit_of_held_out(n);
            assert!(limit >= 12 && limit - search_of(limit) >= n, "{n}: {limit}");
            assert!(limit == 12 || limit - 1 - search_of(limit - 1) < n, "{n}: {limit}");
        }
    }
}
