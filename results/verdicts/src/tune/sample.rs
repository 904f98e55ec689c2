//! What was measured of one quantity, with the interval of its mean: Student's t over prompts, from
//! [`FEWEST_PROMPTS`] of them on. A resampled interval of so few prompts is too narrow at the levels that a tuning needs.

use specimen_record::distances;
use specimen_stats::{normal::normal_quantile, paired::scores_up_to_rounding, student::student_quantile};

use super::{FEWEST_PROMPTS, level::Level};
use crate::{VerdictError, values::ByPrompt};

/// The level of single intervals, and of those in summaries.
pub const ALONE: f64 = 0.95;

/// What was measured of one quantity.
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// A value for each prompt.
    Prompts(ByPrompt),
    /// How far the mean of these is from 0: a value for each prompt, with its sign.
    Distance(ByPrompt),
    /// One value for all prompts, such as a Frechet distance.
    Whole {
        /// The value.
        value: f64,
        /// Its 95 % interval, where it has one.
        ci95: Option<[f64; 2]>,
    },
    /// Nothing.
    Absent {
        /// Why.
        why: String,
    },
}

impl Sample {
    /// The mean over prompts, or the one value; `None` where there is none.
    #[must_use]
    pub fn value(&self) -> Option<f64> {
        match self {
            Sample::Prompts(values) if !values.is_empty() => {
                Some(values.values().sum::<f64>() / values.len() as f64)
            }
            Sample::Distance(values) => Sample::Prompts(values.clone()).value().map(f64::abs),
            Sample::Whole { value, .. } => Some(*value),
            Sample::Prompts(_) | Sample::Absent { .. } => None,
        }
    }

    /// The interval of [`Sample::value`] at `confidence`, in (0, 1); `None` for fewer than [`FEWEST_PROMPTS`] prompts and
    /// for one value without an interval.
    ///
    /// # Errors
    /// When `confidence` is no probability.
    pub fn interval(&self, confidence: f64) -> Result<Option<[f64; 2]>, VerdictError> {
        let around = |value: f64, half: f64| Some([value - half, value + half]);
        Ok(match self {
            Sample::Prompts(_) => match self.spread() {
                Some(spread) => around(spread.mean, t_quantile(spread.n, confidence)? * spread.error),
                None => None,
            },
            Sample::Distance(values) => Sample::Prompts(values.clone()).interval(confidence)?.map(distances),
            Sample::Whole { value, ci95: Some([low, high]) } => {
                let wider = normal_quantile(0.5 + confidence / 2.0)? / normal_quantile(0.5 + ALONE / 2.0)?;
                Some([value - wider * (value - low), value + wider * (high - value)])
            }
            Sample::Whole { .. } | Sample::Absent { .. } => None,
        })
    }

    /// Prompts that would show on which side of 0 the mean is, at the level of the tuning that has them, if mean and spread
    /// stay as they are. `None` where nothing says so or it is more than a million.
    ///
    /// # Errors
    /// When `level` is no probability.
    pub fn prompts_to_decide(&self, level: &Level) -> Result<Option<u64>, VerdictError> {
        let Some(spread) = self.spread() else { return Ok(None) };
        level.prompts_to_decide(&spread)
    }

    /// These scores, with the other's on every prompt where the two differ by rounding alone.
    #[must_use]
    pub fn up_to_rounding(self, other: &Sample) -> Sample {
        match (self, other) {
            (Sample::Prompts(ours), Sample::Prompts(theirs)) => {
                Sample::Prompts(scores_up_to_rounding(theirs, &ours))
            }
            (ours, _) => ours,
        }
    }

    /// `self - other`, prompt by prompt where both have values for prompts.
    #[must_use]
    pub fn minus(&self, other: &Sample) -> Sample {
        match (self, other) {
            (Sample::Prompts(ours), Sample::Prompts(theirs)) => Sample::Prompts(
                ours.iter().filter_map(|(id, value)| Some((id.clone(), value - theirs.get(id)?))).collect(),
            ),
            _ => self.combined(other, |[low, value, high], [from, reference, to]| {
                [low - to, value - reference, high - from]
            }),
        }
    }

    /// By how much the value is above the other's: it is above for certain where the interval of each of these is above 0.
    /// One, except of two distances: their difference prompt by prompt, and their sum, without which it could be the other
    /// side of 0 that is far.
    #[must_use]
    pub fn above(&self, other: &Sample) -> Vec<Sample> {
        let (Sample::Distance(ours), Sample::Distance(theirs)) = (self, other) else {
            return vec![self.minus(other)];
        };
        let [ours, theirs] = [ours, theirs].map(outwards);
        let back = theirs.iter().map(|(id, value)| (id.clone(), -value)).collect();
        [theirs, back].map(|other| Sample::Prompts(ours.clone()).minus(&Sample::Prompts(other))).to_vec()
    }

    /// Both as one value each, combined from the ends of their intervals; without both intervals there is none.
    pub(crate) fn combined(&self, other: &Sample, of: impl Fn([f64; 3], [f64; 3]) -> [f64; 3]) -> Sample {
        let (Some(value), Some(reference)) = (self.value(), other.value()) else {
            let why = [self, other].into_iter().find_map(Sample::why).unwrap_or("there is no value");
            return Sample::Absent { why: why.to_owned() };
        };
        let ends = |sample: &Sample| sample.interval(ALONE).ok().flatten();
        match ends(self).zip(ends(other)) {
            Some(([low, high], [from, to])) => {
                let [low, value, high] = of([low, value, high], [from, reference, to]);
                Sample::Whole { value, ci95: Some([low, high]) }
            }
            None => Sample::Whole { value: of([value; 3], [reference; 3])[1], ci95: None },
        }
    }

    /// Why there is no value.
    #[must_use]
    pub fn why(&self) -> Option<&str> {
        match self {
            Sample::Absent { why } => Some(why),
            Sample::Prompts(values) | Sample::Distance(values) if values.is_empty() => {
                Some("no prompt has a value")
            }
            _ => None,
        }
    }

    /// The largest of its numbers without their signs; 0 where there is none.
    pub(super) fn size(&self) -> f64 {
        match self {
            Sample::Prompts(values) | Sample::Distance(values) => {
                values.values().fold(0.0, |largest, value| value.abs().max(largest))
            }
            Sample::Whole { value, .. } => value.abs(),
            Sample::Absent { .. } => 0.0,
        }
    }

    fn spread(&self) -> Option<Spread> {
        let Sample::Prompts(values) = self else { return None };
        let n = values.len();
        if n < FEWEST_PROMPTS {
            return None;
        }
        let mean = values.values().sum::<f64>() / n as f64;
        // Equal values have no spread, whatever the rounding of their mean.
        let first = values.values().next().copied().unwrap_or(mean);
        if values.values().all(|value| *value == first) {
            return Some(Spread { n, mean: first, error: 0.0 });
        }
        let squares: f64 = values.values().map(|value| (value - mean).powi(2)).sum();
        Some(Spread { n, mean, error: (squares / (n - 1) as f64 / n as f64).sqrt() })
    }
}

/// These, with the signs that make their mean positive.
fn outwards(values: &ByPrompt) -> ByPrompt {
    let sign = if values.values().sum::<f64>() < 0.0 { -1.0 } else { 1.0 };
    values.iter().map(|(id, value)| (id.clone(), sign * value)).collect()
}

/// A mean over prompts with its standard error.
pub(super) struct Spread {
    pub(super) n: usize,
    pub(super) mean: f64,
    pub(super) error: f64,
}

/// Half the width of a two-sided interval at `confidence` of a mean of `n` values, in standard errors.
pub(super) fn t_quantile(n: usize, confidence: f64) -> Result<f64, VerdictError> {
    Ok(student_quantile(n as u64 - 1, 0.5 + confidence / 2.0)?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

    use super::*;

    fn prompts(values: &[f64]) -> Sample {
        Sample::Prompts(values.iter().enumerate().map(|(at, value)| (format!("{at:03}"), *value)).collect())
    }

    #[test]
    fn a_mean_has_students_interval_from_six_prompts_on() {
        // Mean 3.5, deviation sqrt(3.5); t of 5 degrees at 0.975 is 2.570582 (any table of Student's t).
        let [low, high] = prompts(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).interval(0.95).unwrap().unwrap();
        let half = 2.570_582 * (3.5_f64 / 6.0).sqrt();
        assert!((low - (3.5 - half)).abs() < 1e-5 && (high - (3.5 + half)).abs() < 1e-5, "{low} {high}");
        assert_eq!(prompts(&[1.0, 2.0, 3.0, 4.0, 5.0]).interval(0.95).unwrap(), None);
        assert_eq!(prompts(&[0.1; 6]).interval(0.999).unwrap(), Some([0.1; 2]));
    }

    #[test]
    fn one_value_for_all_prompts_widens_with_the_confidence() {
        let whole = Sample::Whole { value: 10.0, ci95: Some([9.0, 12.0]) };
        let [low, high] = whole.interval(0.95).unwrap().unwrap();
        assert!((low - 9.0).abs() < 1e-9 && (high - 12.0).abs() < 1e-9, "{low} {high}");
        // 2.575829 / 1.959964 = 1.314223 standard errors more.
        let [low, high] = whole.interval(0.99).unwrap().unwrap();
        assert!((low - 8.685_777).abs() < 1e-5 && (high - 12.628_446).abs() < 1e-5, "{low} {high}");
        assert_eq!(Sample::Whole { value: 1.0, ci95: None }.interval(0.95).unwrap(), None);
    }

    #[test]
    fn the_prompts_that_would_decide_make_the_interval_end_at_zero() {
        // Mean 0.25, deviation 1.016: t(.975) deviations over the root of n are 0.2515 at 65 and 0.2498 at 66 prompts.
        let values: Vec<f64> = (0..32).map(|at| 0.25 + if at % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let needed = prompts(&values).prompts_to_decide(&Level::fixed(0.95)).unwrap().unwrap();
        assert_eq!(needed, 66);
        let even: Vec<f64> = (0..32).map(|at| if at % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let never = prompts(&even).prompts_to_decide(&Level::fixed(0.95)).unwrap();
        assert_eq!(never, None, "a mean of 0 is never decided");
    }
}
