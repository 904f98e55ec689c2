//! Comparisons of a method with its baseline, prompt by prompt.
//!
//! Both sides were run on the same prompts with the same seeds, so the prompt is the unit that is resampled: what makes
//! one prompt slow for both sides cancels. Pairs are kept in id order, so the digits do not depend on record order.

use std::collections::BTreeMap;
use std::fmt::Display;

use crate::averages::{arithmetic_mean, standard_error};
use crate::bootstrap::{BootstrapPlan, Estimate, Interval, bootstrap};
use crate::error::{StatsError, require_count, require_finite, require_positive};
use crate::median_interval::{MedianEstimate, median_interval};
use crate::rounding::is_equal;
use crate::student::student_two_sided_p;
use crate::t_power::detectable_mean;

/// By what share of the largest score two scores of one image may differ. Networks in f32 take the images of a batch
/// together, and the last bits of an image's score depend on how many they are: 2e-7 of a cosine was seen with a small
/// network.
pub const SCORE_ROUNDING: f64 = 1e-5;

/// Returns the scores of `method`, with the baseline's in place of those that differ from it by rounding alone: by at most
/// [`SCORE_ROUNDING`] of the largest score of both.
#[must_use]
pub fn scores_up_to_rounding<K: Ord + Clone>(
    baseline: &BTreeMap<K, f64>,
    method: &BTreeMap<K, f64>,
) -> BTreeMap<K, f64> {
    let largest = baseline.values().chain(method.values()).map(|score| score.abs()).fold(0.0, f64::max);
    let rounded = |id: &K, score: f64| {
        let is_one = |other: &&f64| (score - **other).abs() <= SCORE_ROUNDING * largest;
        baseline.get(id).filter(is_one).copied().unwrap_or(score)
    };
    method.iter().map(|(id, score)| (id.clone(), rounded(id, *score))).collect()
}

/// The values of two runs on the same ids.
// Invariant: the three vectors have one length, at least 1; ids ascend strictly; values are finite.
#[derive(Clone, Debug, PartialEq)]
pub struct Paired<K> {
    ids: Vec<K>,
    baseline: Vec<f64>,
    method: Vec<f64>,
}

impl<K: Ord + Display> Paired<K> {
    /// Pairs two lists of (id, value) by id.
    ///
    /// # Errors
    /// An id that is missing on a side or occurs twice on one, a non-finite value (`at` counts in id order) and
    /// empty lists.
    pub fn join(
        baseline: impl IntoIterator<Item = (K, f64)>,
        method: impl IntoIterator<Item = (K, f64)>,
    ) -> Result<Self, StatsError> {
        let baseline = by_id(baseline, "baseline")?;
        let mut method = by_id(method, "method")?;
        let mut paired = Self { ids: Vec::new(), baseline: Vec::new(), method: Vec::new() };
        for (id, value) in baseline {
            let Some(other) = method.remove(&id) else {
                return Err(StatsError::Unpaired { id: id.to_string(), present: "baseline" });
            };
            paired.ids.push(id);
            paired.baseline.push(value);
            paired.method.push(other);
        }
        if let Some(id) = method.keys().next() {
            return Err(StatsError::Unpaired { id: id.to_string(), present: "method" });
        }
        require_count("pairing", 1, paired.ids.len() as u64)?;
        require_finite("pairing: baseline", &paired.baseline)?;
        require_finite("pairing: method", &paired.method)?;
        Ok(paired)
    }
}

impl<K> Paired<K> {
    /// The ids, ascending.
    #[must_use]
    pub fn ids(&self) -> &[K] {
        &self.ids
    }

    /// Number of pairs.
    #[must_use]
    pub fn n_pairs(&self) -> usize {
        self.ids.len()
    }

    /// `method - baseline`, in id order.
    pub fn differences(&self) -> impl Iterator<Item = f64> + '_ {
        self.method.iter().zip(&self.baseline).map(|(a, b)| a - b)
    }

    /// Returns `sum(baseline) / sum(method)`: the speedup when the values are times. Both sums are over the same
    /// prompts, so this is also the ratio of mean times.
    ///
    /// # Errors
    /// Values that are not above zero and fewer than two pairs.
    pub fn ratio_of_sums(&self, plan: &BootstrapPlan) -> Result<Estimate, StatsError> {
        self.require_positive_values()?;
        bootstrap(self.n_pairs(), plan, |chosen| {
            let (mut above, mut below) = (0.0, 0.0);
            for &i in chosen {
                above += self.baseline[i];
                below += self.method[i];
            }
            above / below
        })
    }

    /// What each prompt adds to the ratio of sums, to first order: `(above - ratio * below) / mean(below)`. These sum to zero.
    fn pulls(&self, ratio: f64) -> Result<Vec<f64>, StatsError> {
        let mean = arithmetic_mean(&self.method)?;
        let pairs = self.baseline.iter().zip(&self.method);
        Ok(pairs.map(|(above, below)| (above - ratio * below) / mean).collect())
    }

    /// Returns the two-sided p value of no change of the [`Paired::ratio_of_sums`], and the smallest factor that these pairs
    /// would have found with 80 % power: Student's t of its logarithm, whose standard error is that of what each prompt adds
    /// to it, to first order. No p value where no prompt moves it.
    ///
    /// # Errors
    /// As [`Paired::ratio_of_sums`].
    pub fn ratio_of_sums_test(&self) -> Result<(Option<f64>, f64), StatsError> {
        self.require_positive_values()?;
        let ratio = self.baseline.iter().sum::<f64>() / self.method.iter().sum::<f64>();
        let pulls = self.pulls(ratio)?;
        let error = if is_constant(&pulls, ratio) { 0.0 } else { standard_error(&pulls)? / ratio };
        let p = match error > 0.0 {
            true => Some(student_two_sided_p(pulls.len() as u64 - 1, ratio.ln() / error)?),
            false => None,
        };
        Ok((p, detectable_difference(error, self.n_pairs())?.exp()))
    }

    /// Returns the geometric mean of `baseline / method` over prompts, which gives a short prompt the weight of a
    /// long one.
    ///
    /// # Errors
    /// As [`Paired::ratio_of_sums`].
    pub fn geometric_mean_ratio(&self, plan: &BootstrapPlan) -> Result<Estimate, StatsError> {
        self.require_positive_values()?;
        let logs: Vec<f64> = self.baseline.iter().zip(&self.method).map(|(a, b)| (a / b).ln()).collect();
        bootstrap(self.n_pairs(), plan, |chosen| {
            (chosen.iter().map(|&i| logs[i]).sum::<f64>() / chosen.len() as f64).exp()
        })
    }

    /// Returns the median of `baseline / method` over prompts, which a few odd prompts do not move, with an interval
    /// at `level` in (0, 1).
    ///
    /// # Errors
    /// Values that are not above zero and fewer pairs than the level needs (six at 0.95).
    pub fn median_ratio(&self, level: f64) -> Result<MedianEstimate, StatsError> {
        self.require_positive_values()?;
        let ratios: Vec<f64> = self.baseline.iter().zip(&self.method).map(|(a, b)| a / b).collect();
        median_interval(&ratios, level)
    }

    /// Returns the pairs of natural logarithms: their [`Paired::mean_difference`] asks whether the ratio of the
    /// values is 1, and the exponential of what it could detect is the smallest factor these pairs would have shown.
    ///
    /// # Errors
    /// Values that are not above zero.
    pub fn logarithms(&self) -> Result<Self, StatsError>
    where
        K: Clone,
    {
        self.require_positive_values()?;
        let logs = |values: &[f64]| values.iter().map(|value| value.ln()).collect();
        Ok(Self { ids: self.ids.clone(), baseline: logs(&self.baseline), method: logs(&self.method) })
    }

    /// Returns the mean of `method - baseline` and how it stands to zero.
    ///
    /// # Errors
    /// Fewer than two pairs.
    pub fn mean_difference(&self, plan: &BootstrapPlan) -> Result<MeanDifference, StatsError> {
        let differences: Vec<f64> = self.differences().collect();
        let sides = self.baseline.iter().chain(&self.method).map(|value| value.abs());
        let is_still = is_constant(&differences, sides.fold(0.0, f64::max));
        let resampled = bootstrap(differences.len(), plan, |chosen| {
            chosen.iter().map(|&i| differences[i]).sum::<f64>() / chosen.len() as f64
        })?;
        let value = resampled.value;
        let standard_error = if is_still { 0.0 } else { standard_error(&differences)? };
        let (z, p) = if standard_error > 0.0 {
            let z = value / standard_error;
            (Some(z), Some(student_two_sided_p(differences.len() as u64 - 1, z)?))
        } else {
            (None, None)
        };
        Ok(MeanDifference {
            value,
            standard_error,
            z,
            p,
            detectable: detectable_difference(standard_error, differences.len())?,
            interval: resampled.interval,
            n_pairs: differences.len(),
        })
    }

    fn require_positive_values(&self) -> Result<(), StatsError> {
        require_positive("ratio: baseline", &self.baseline)?;
        require_positive("ratio: method", &self.method)
    }
}

/// The mean difference of two runs, method minus baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanDifference {
    /// The mean difference, in the unit of the values.
    pub value: f64,
    /// Standard error of the mean over prompts, `s / sqrt(n)`.
    pub standard_error: f64,
    /// `value / standard_error`; absent when all differences are equal, where no scale exists.
    pub z: Option<f64>,
    /// Two-sided p value of `z` by Student's t with one degree of freedom less than pairs; absent with it.
    pub p: Option<f64>,
    /// The difference that this many pairs would have found with 80 % power, see [`detectable_difference`].
    pub detectable: f64,
    /// BCa bootstrap interval; absent for fewer pairs than [`fewest_observations`](crate::fewest::fewest_observations) of the
    /// level.
    pub interval: Option<Interval>,
    /// Pairs.
    pub n_pairs: usize,
}

/// How far `sum(above) / sum(below)` of one run is from that of another, over the same prompts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RatioChange {
    /// The first run's ratio of sums.
    pub first: f64,
    /// The second's.
    pub second: f64,
    /// Second minus first, with its BCa interval where there are enough prompts.
    pub change: Estimate,
    /// Two-sided p value of no change by Student's t, from the change linearised in each prompt's times; absent where no
    /// prompt moves it.
    pub p: Option<f64>,
    /// The change that this many prompts would have found with 80 % power, see [`detectable_difference`].
    pub detectable: f64,
}

/// Returns the change of a ratio of sums between two runs of the same prompts: the speedup where `baseline` and
/// `method` are times.
///
/// # Errors
/// Values that are not above zero, prompts that are not the same, and fewer than two.
pub fn ratio_of_sums_change<K: Ord + Clone>(
    first: &Paired<K>,
    second: &Paired<K>,
    plan: &BootstrapPlan,
) -> Result<RatioChange, StatsError> {
    first.require_positive_values()?;
    second.require_positive_values()?;
    if first.ids != second.ids {
        return Err(StatsError::WrongSize {
            what: "change of a ratio: prompts of both runs",
            expected: first.ids.len(),
            found: first.ids.iter().filter(|id| second.ids.binary_search(id).is_ok()).count(),
        });
    }
    let ratio = |pairs: &Paired<K>, chosen: &[usize]| {
        let sum = |values: &[f64]| chosen.iter().map(|&i| values[i]).sum::<f64>();
        sum(&pairs.baseline) / sum(&pairs.method)
    };
    let change = bootstrap(first.n_pairs(), plan, |chosen| ratio(second, chosen) - ratio(first, chosen))?;
    let all: Vec<usize> = (0..first.n_pairs()).collect();
    let (at_first, at_second) = (ratio(first, &all), ratio(second, &all));
    let (a, b) = (first.pulls(at_first)?, second.pulls(at_second)?);
    let pulls: Vec<f64> = b.iter().zip(&a).map(|(b, a)| b - a).collect();
    // Ratios that are the same on every prompt pull nowhere.
    let error = if is_constant(&pulls, at_first.max(at_second)) { 0.0 } else { standard_error(&pulls)? };
    let p = match error > 0.0 {
        true => Some(student_two_sided_p(pulls.len() as u64 - 1, change.value / error)?),
        false => None,
    };
    Ok(RatioChange {
        first: at_first,
        second: at_second,
        change,
        p,
        detectable: detectable_difference(error, first.n_pairs())?,
    })
}

/// Whether values computed from numbers up to `size` differ from one another by rounding alone.
fn is_constant(values: &[f64], size: f64) -> bool {
    values.iter().all(|value| is_equal(*value, values[0], size))
}

/// Returns the true difference that a two-sided 5 % t-test on `n` pairs finds with 80 % power, if their standard error is
/// the true one: 3.27 of them at 8 pairs, 3.00 at 16 and 2.80 at very many (see [`detectable_mean`]).
///
/// # Errors
/// A standard error that is negative or not finite, and fewer than two pairs.
pub fn detectable_difference(standard_error: f64, n: usize) -> Result<f64, StatsError> {
    if !(standard_error.is_finite() && standard_error >= 0.0) {
        return Err(StatsError::OutOfRange {
            what: "detectable difference: standard error",
            at: 0,
            value: standard_error,
            range: "a finite number, 0 or more",
        });
    }
    require_count("detectable difference: pairs", 2, n as u64)?;
    if standard_error == 0.0 {
        return Ok(0.0);
    }
    Ok(detectable_mean(0.05, n as u64 - 1)? * standard_error)
}

fn by_id<K: Ord + Display>(
    values: impl IntoIterator<Item = (K, f64)>,
    side: &'static str,
) -> Result<BTreeMap<K, f64>, StatsError> {
    let mut map = BTreeMap::new();
    for (id, value) in values {
        if map.contains_key(&id) {
            return Err(StatsError::DuplicateId { id: id.to_string(), side });
        }
        map.insert(id, value);
    }
    Ok(map)
}
