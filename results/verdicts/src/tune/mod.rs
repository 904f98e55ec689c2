//! The best setting inside a budget, by a race over prompts. [`schedule`] cuts the prompts into rungs that share none and
//! a part that is held out; [`level`] is that of the intervals that decide; [`sample`] is what was measured of one quantity and how sure its mean is; [`bound`] compares a
//! sample with one bound, and is the only place that says whether a bound is met; [`trial`] is all of that for one
//! setting; [`rung`] decides which settings the next rung measures; [`tuning`] is the whole with its verdict and its
//! table. No clock and no file is read here.

pub mod bound;
pub mod level;
pub mod rung;
pub mod sample;
pub mod schedule;
mod show;
pub mod trial;
pub mod tuning;
mod verdict;

/// The largest `--limit` that a tuning advises.
pub const MOST_LIMIT: usize = schedule::Schedule::limit_of_held_out(verdict::MOST_ADVISED as usize);

/// The fewest prompts of a rung: fewer have no interval here, as in a run.
pub const FEWEST_PROMPTS: usize = specimen_stats::fewest::FEWEST_OBSERVATIONS;
