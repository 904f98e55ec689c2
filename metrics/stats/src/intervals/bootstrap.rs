//! Bootstrap standard errors and intervals for any function of resampled observations.
//!
//! Intervals are bias-corrected and accelerated (BCa; Efron, JASA 82, 1987; Efron and Tibshirani 1993, chapter 14):
//! they need no scale and hold their level for the skewed ratios of run times better than plain percentiles. The
//! acceleration comes from the jackknife. Resamples of `n` are too narrow by `sqrt((n - 1) / n)` and know their own
//! spread no better than Student's t; both are mended in the tails (Hesterberg, The American Statistician 69, 2015,
//! expanded intervals).
//!
//! Up to [`MOST_ENUMERATED`] observations every resample is made, with its weight, so nothing is left to chance (Efron and
//! Tibshirani 1993, section 6.4). Of more, resamples are drawn. Draws are counter-based: the same seed and observations give the
//! same digits.

use crate::averages::standard_deviation;
use crate::counter_rng::CounterRng;
use crate::error::{StatsError, require_count, require_finite};
use crate::fewest::fewest_observations;
use crate::normal::{normal_cdf, normal_quantile};
use crate::rounding::is_equal;
use crate::student::expanded_quantile;

/// The fewest resamples accepted: below, the ends of a 95 % interval rest on too few replicates.
pub const MIN_RESAMPLES: usize = 2000;

/// Resamples behind the intervals of a run, and of what compares runs.
pub const N_RESAMPLES: usize = 4000;

/// The most observations of which all resamples are made: 6,435 that differ, of 16,777,216.
pub const MOST_ENUMERATED: usize = 8;

/// How to resample. There is no default seed.
// Invariant: `n_resamples >= MIN_RESAMPLES`, `0 < level < 1`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BootstrapPlan {
    seed: u64,
    n_resamples: usize,
    level: f64,
}

impl BootstrapPlan {
    /// Takes a seed, the number of resamples (at least [`MIN_RESAMPLES`]) and the two-sided level in (0, 1).
    ///
    /// # Errors
    /// Fewer resamples, another level.
    pub fn new(seed: u64, n_resamples: usize, level: f64) -> Result<Self, StatsError> {
        require_count("bootstrap: resamples", MIN_RESAMPLES as u64, n_resamples as u64)?;
        if !(level > 0.0 && level < 1.0) {
            return Err(StatsError::OutOfRange {
                what: "bootstrap: level",
                at: 0,
                value: level,
                range: "(0, 1), such as 0.95",
            });
        }
        Ok(Self { seed, n_resamples, level })
    }
}

/// A two-sided interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Lower end.
    pub lower: f64,
    /// Upper end.
    pub upper: f64,
    /// Two-sided level, in (0, 1).
    pub level: f64,
}

/// A statistic with its bootstrap uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The statistic of the observations as they are.
    pub value: f64,
    /// Standard deviation of the statistic over the resamples.
    pub standard_error: f64,
    /// BCa interval; absent for fewer observations than [`fewest_observations`] of the level.
    pub interval: Option<Interval>,
    /// Observations.
    pub n: usize,
}

/// Returns `statistic` of the `n` observations with its uncertainty. `statistic` gets indices below `n` (with
/// repeats, in draw order) and must be finite for any such choice.
///
/// # Errors
/// Fewer than two observations or a non-finite value.
pub fn bootstrap(
    n: usize,
    plan: &BootstrapPlan,
    statistic: impl Fn(&[usize]) -> f64,
) -> Result<Estimate, StatsError> {
    require_count("bootstrap", 2, n as u64)?;
    let all: Vec<usize> = (0..n).collect();
    let value = statistic(&all);
    require_finite("bootstrap: statistic", &[value])?;
    let mut replicates = match n <= MOST_ENUMERATED {
        true => Replicates::all(n, &statistic)?,
        false => Replicates::drawn(n, plan, &statistic)?,
    };
    let value = replicates.without_rounding(value);
    let acceleration = jackknife_acceleration(n, &statistic)?;
    let bias = replicates.bias_correction(value)?;
    let tail = expanded_tail(n, (1.0 - plan.level) / 2.0)?;
    let end = |tail: f64| -> Result<f64, StatsError> {
        let shifted = bias + normal_quantile(tail)?;
        let p = normal_cdf(bias + shifted / (1.0 - acceleration * shifted));
        Ok(replicates.quantile(p))
    };
    let interval = match n < fewest_observations(plan.level) {
        true => None,
        false => Some(Interval { lower: end(tail)?, upper: end(1.0 - tail)?, level: plan.level }),
    };
    Ok(Estimate { value, standard_error: replicates.standard_error, interval, n })
}

/// Returns the normal tail that stands for `tail` of Student's t with `n - 1` degrees of freedom, widened by
/// `sqrt(n / (n - 1))`. The t quantile is its expansion.
fn expanded_tail(n: usize, tail: f64) -> Result<f64, StatsError> {
    let nu = (n - 1) as f64;
    let t = -expanded_quantile(nu, tail)?;
    // Few observations and a high level reach past the last replicate; its quantile is the end then.
    Ok(normal_cdf(-t * (n as f64 / nu).sqrt()).max(1e-12))
}

/// The statistic of resamples.
// Invariant: `values` ascend and are finite; `up_to[i]` resamples have one of the first `i + 1` values.
struct Replicates {
    values: Vec<f64>,
    up_to: Vec<u64>,
    standard_error: f64,
}

impl Replicates {
    /// Of resamples that are drawn.
    fn drawn(
        n: usize,
        plan: &BootstrapPlan,
        statistic: impl Fn(&[usize]) -> f64,
    ) -> Result<Self, StatsError> {
        let rng = CounterRng::new(plan.seed);
        let mut chosen = vec![0; n];
        let values: Vec<f64> = (0..plan.n_resamples as u64)
            .map(|replicate| {
                for (slot, index) in chosen.iter_mut().enumerate() {
                    *index = rng.index(replicate * n as u64 + slot as u64, n);
                }
                statistic(&chosen)
            })
            .collect();
        require_finite("bootstrap: replicates", &values)?;
        let standard_error = standard_deviation(&values)?;
        Ok(Self::of(values.into_iter().map(|value| (value, 1)).collect(), standard_error))
    }

    /// Of every resample: one for each multiset of observations, counted as often as its orders are drawn.
    fn all(n: usize, statistic: impl Fn(&[usize]) -> f64) -> Result<Self, StatsError> {
        let mut chosen = vec![0; n];
        let mut weighted = vec![(statistic(&chosen), n_orders(&chosen))];
        // The next multiset in ascending order: its last index that can grow does, and those after it are the same.
        while let Some(at) = chosen.iter().rposition(|&index| index + 1 < n) {
            let next = chosen[at] + 1;
            chosen[at..].fill(next);
            weighted.push((statistic(&chosen), n_orders(&chosen)));
        }
        let values: Vec<f64> = weighted.iter().map(|(value, _)| *value).collect();
        require_finite("bootstrap: replicates", &values)?;
        let total = weighted.iter().map(|(_, count)| *count as f64).sum::<f64>();
        let mean = weighted.iter().map(|(value, count)| value * *count as f64).sum::<f64>() / total;
        let squares: f64 = weighted.iter().map(|(value, count)| (value - mean).powi(2) * *count as f64).sum();
        Ok(Self::of(weighted, (squares / total).sqrt()))
    }

    fn of(mut weighted: Vec<(f64, u64)>, standard_error: f64) -> Self {
        weighted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let up_to = weighted.iter().scan(0, |sum, (_, count)| {
            *sum += count;
            Some(*sum)
        });
        let up_to = up_to.collect();
        Self { values: weighted.into_iter().map(|(value, _)| value).collect(), up_to, standard_error }
    }

    /// Takes what differs by rounding alone from `value`, or from 0 or 1, where a difference or a ratio says that nothing
    /// differs, for that number: such resamples are ties, and such an end is on neither side. Returns `value` so.
    fn without_rounding(&mut self, value: f64) -> f64 {
        let size = self.values.iter().map(|x| x.abs()).fold(value.abs(), f64::max);
        let nearest =
            |x: f64, of: &[f64]| of.iter().copied().find(|near| is_equal(x, *near, size)).unwrap_or(x);
        let value = nearest(value, &[0.0, 1.0]);
        for x in &mut self.values {
            *x = nearest(*x, &[value, 0.0, 1.0]);
        }
        value
    }

    fn n_resamples(&self) -> u64 {
        self.up_to.last().copied().unwrap_or(0)
    }

    /// The value of the resample that comes `at`-th in ascending order.
    fn value(&self, at: u64) -> f64 {
        self.values[self.up_to.partition_point(|&n| n <= at)]
    }

    /// The quantile of `p` in [0, 1], between two values as type 7.
    fn quantile(&self, p: f64) -> f64 {
        let last = self.n_resamples() - 1;
        let position = last as f64 * p;
        let below = position.floor() as u64;
        let low = self.value(below);
        low + (position - below as f64) * (self.value((below + 1).min(last)) - low)
    }

    /// z0, the normal score of the share of resamples below the value, ties counting half. The share is kept half a resample away
    /// from 0 and 1, where the score is infinite.
    fn bias_correction(&self, value: f64) -> Result<f64, StatsError> {
        let n_up_to = |n_values: usize| n_values.checked_sub(1).map_or(0, |at| self.up_to[at]) as f64;
        let n_below = n_up_to(self.values.partition_point(|&x| x < value));
        let n_not_above = n_up_to(self.values.partition_point(|&x| x <= value));
        let n = self.n_resamples() as f64;
        normal_quantile(((n_below + n_not_above) / 2.0).clamp(0.5, n - 0.5) / n)
    }
}

/// In how many orders the ascending indices of a resample are drawn: the factorial of their number over those of the repeats.
fn n_orders(chosen: &[usize]) -> u64 {
    let factorial = |n: usize| (1..=n as u64).product::<u64>();
    let repeats = chosen.chunk_by(|a, b| a == b).map(|same| factorial(same.len())).product::<u64>();
    factorial(chosen.len()) / repeats
}

/// Returns a sixth of the skewness of the jackknife's influence values; zero when they do not vary.
fn jackknife_acceleration(n: usize, statistic: impl Fn(&[usize]) -> f64) -> Result<f64, StatsError> {
    let mut kept: Vec<usize> = (1..n).collect();
    let mut left_out = Vec::with_capacity(n);
    for i in 0..n {
        left_out.push(statistic(&kept));
        if i + 1 < n {
            kept[i] = i;
        }
    }
    require_finite("bootstrap: jackknife", &left_out)?;
    let mean = left_out.iter().sum::<f64>() / n as f64;
    let squares: f64 = left_out.iter().map(|x| (mean - x).powi(2)).sum();
    let cubes: f64 = left_out.iter().map(|x| (mean - x).powi(3)).sum();
    let scale = 6.0 * squares.powf(1.5);
    Ok(if scale > 0.0 { cubes / scale } else { 0.0 })
}
