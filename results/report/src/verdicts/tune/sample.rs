//! What was measured of one quantity, with the interval of its mean: Student's t over prompts, from
//! six of them on, as in a run. A resampled interval of so few prompts is too narrow at the levels that a tuning needs.

use specimen_record::distances;
use specimen_stats::{
    fewest::{FEWEST_OBSERVATIONS, Undecided, observations_to_decide},
    normal::normal_quantile,
    paired::scores_up_to_rounding,
    student::student_quantile,
};

use crate::verdicts::values::ByPrompt;

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

    /// The interval of [`Sample::value`] at `confidence`, in (0, 1); `None` for fewer than [`FEWEST_OBSERVATIONS`] prompts and
    /// for one value without an interval.
    pub fn interval(&self, confidence: f64) -> anyhow::Result<Option<[f64; 2]>> {
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

    /// Prompts that would show on which side of 0 the mean is, at `level`, if mean, spread and the prompts of a value stay as
    /// they are: of `n_prompts` some may share a value, as images that were decoded together share a time. `None` where nothing
    /// says so or it is more than a million values.
    pub fn prompts_to_decide(&self, level: f64, n_prompts: usize) -> anyhow::Result<Option<u64>> {
        let Some(spread) = self.spread() else { return Ok(None) };
        let half = t_quantile(spread.n, level)? * spread.error;
        let open = Undecided { n: spread.n as u64, distance: spread.mean.abs(), side: half, half };
        let of_a_value = (n_prompts as f64 / spread.n as f64).max(1.0);
        let n_values = observations_to_decide(&open, level)?;
        Ok(n_values.map(|n| (n as f64 * of_a_value).ceil() as u64))
    }

    /// These scores, with the other's on every prompt where the two differ by rounding alone.
    pub fn up_to_rounding(self, other: &Sample) -> Sample {
        match (self, other) {
            (Sample::Prompts(ours), Sample::Prompts(theirs)) => {
                Sample::Prompts(scores_up_to_rounding(theirs, &ours))
            }
            (ours, _) => ours,
        }
    }

    /// `self - other`, prompt by prompt where both have values for prompts.
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
        if n < FEWEST_OBSERVATIONS {
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

/// A mean over prompts with its standard error.
struct Spread {
    n: usize,
    mean: f64,
    error: f64,
}

/// Half the width of a two-sided interval at `confidence` of a mean of `n` values, in standard errors.
fn t_quantile(n: usize, confidence: f64) -> anyhow::Result<f64> {
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
        let needed = prompts(&values).prompts_to_decide(0.95, 32).unwrap().unwrap();
        assert_eq!(needed, 66);
        // Values of batches of four are of four times the prompts.
        assert_eq!(prompts(&values).prompts_to_decide(0.95, 128).unwrap(), Some(4 * 66));
        let even: Vec<f64> = (0..32).map(|at| if at % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let never = prompts(&even).prompts_to_decide(0.95, 32).unwrap();
        assert_eq!(never, None, "a mean of 0 is never decided");
    }
}
