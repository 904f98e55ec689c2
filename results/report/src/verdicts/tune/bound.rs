//! One bound of a budget and a setting: how far inside it the setting is, and whether that is decided. This is the only
//! place that says whether a bound is met.

use serde::{Deserialize, Serialize};
use specimen_experiments::goal::{Constraint, Side};
use specimen_stats::rounding::is_equal;

use super::sample::Sample;

/// A value with its 95 % interval, or the reason why there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// The value.
    pub value: Option<f64>,
    /// Its interval.
    pub ci95: Option<[f64; 2]>,
    /// Why there is no value.
    pub why: Option<String>,
}

/// A value and its bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundCheck {
    /// The constraint as typed.
    pub constraint: String,
    /// The setting's value.
    #[serde(flatten)]
    pub reading: Reading,
    /// The bound, with the baseline's value of the same prompts.
    pub bound: Option<f64>,
    /// By how much the value keeps the bound; negative where it does not.
    pub slack: Option<f64>,
    /// The interval of the slack at the confidence of the tuning. Paired over prompts where both sides have a value for
    /// each; otherwise from the ends of both intervals, which is wider.
    pub slack_interval: Option<[f64; 2]>,
    /// Whether it is a bound of quality and the method exact: it then has the baseline's distribution, the slack is the
    /// baseline's own.
    pub is_by_construction: bool,
    /// Prompts that would decide it, where it is undecided and the number is known.
    pub prompts_to_decide: Option<u64>,
}

/// Whether a setting meets the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BudgetStatus {
    /// The bound is kept by the point estimate.
    Meets,
    /// Undecided: a value is missing, or an interval includes the bound.
    Open,
    /// One is missed, and its interval agrees.
    Misses,
}

/// What a bound is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Sides<'a> {
    /// The setting's measure.
    pub value: &'a Sample,
    /// The baseline's, on the same prompts.
    pub baseline: &'a Sample,
    /// Whether the measure is one of quality and the setting's method exact.
    pub is_by_construction: bool,
    /// Whether nearer to the baseline's is better: an amount around the baseline then bounds from both sides.
    pub is_nearer: bool,
}

impl BoundCheck {
    /// Judges `sides` by `constraint` on `n_prompts`; the interval of the slack is at `level`.
    pub fn of(
        constraint: &Constraint,
        sides: Sides<'_>,
        level: f64,
        n_prompts: usize,
    ) -> anyhow::Result<BoundCheck> {
        let Sides { value, baseline, is_by_construction, is_nearer } = sides;
        let text = constraint.text.clone();
        // A bound that the baseline itself misses asks for more than being near it, and is taken as it is.
        let is_around = constraint.of_baseline == 1.0 && sign(constraint) * constraint.plus >= 0.0;
        let is_around = is_nearer && is_around;
        let constraint = &match is_around {
            true => nearer_side(constraint, value, baseline),
            false => constraint.clone(),
        };
        let slack = match is_by_construction {
            true => slack_by_construction(constraint, value, baseline),
            false => slack_of(constraint, value, baseline),
        };
        let reference = if constraint.of_baseline == 0.0 { Some(0.0) } else { baseline.value() };
        let bound = reference.map(|reference| constraint.bound(reference));
        let why = value.why().or_else(|| slack.why()).map(str::to_owned);
        let mut held = BoundCheck {
            constraint: text,
            reading: reading(value)?,
            bound,
            slack: slack
                .value()
                .map(|value| up_to_rounding(value, slack.size() + bound.unwrap_or(0.0).abs())),
            slack_interval: slack.interval(level)?.map(|[low, high]| match is_around {
                // No distance is below 0, so nothing keeps the bound by more than the whole amount.
                true => [low, high.min(constraint.plus.abs())],
                false => [low, high],
            }),
            is_by_construction,
            prompts_to_decide: None,
        };
        held.reading.why = why;
        if !held.is_decided() {
            held.prompts_to_decide = slack.prompts_to_decide(level, n_prompts)?;
        }
        Ok(held)
    }

    /// Where this bound alone puts a setting.
    pub fn standing(&self) -> BudgetStatus {
        match (self.slack, self.slack_interval) {
            (None, _) => BudgetStatus::Open,
            (Some(slack), _) if slack >= 0.0 => BudgetStatus::Meets,
            (_, Some([_, high])) if high < 0.0 => BudgetStatus::Misses,
            _ => BudgetStatus::Open,
        }
    }

    /// Whether the whole interval is on the side of the point estimate.
    pub fn is_decided(&self) -> bool {
        self.slack_interval.is_some_and(|[low, high]| low >= 0.0 || high < 0.0)
    }

    /// How far it is missed as a share of the bound (as it is where the bound is 0); 0 where it is kept, absent where
    /// there is no value.
    pub fn miss(&self) -> Option<f64> {
        let scale = self.bound.map(f64::abs).filter(|bound| *bound > 0.0).unwrap_or(1.0);
        self.slack.map(|slack| (-slack / scale).max(0.0))
    }
}

/// A slack that is 0 where it is the rounding of a mean of numbers up to `size`.
fn up_to_rounding(slack: f64, size: f64) -> f64 {
    if is_equal(slack, 0.0, size) { 0.0 } else { slack }
}

/// A sample's value with its 95 % interval.
pub(crate) fn reading(sample: &Sample) -> anyhow::Result<Reading> {
    Ok(Reading {
        value: sample.value(),
        ci95: sample.interval(super::sample::ALONE)?,
        why: sample.why().map(str::to_owned),
    })
}

/// How far inside the bound a measured value is.
fn slack_of(constraint: &Constraint, value: &Sample, baseline: &Sample) -> Sample {
    let sign = sign(constraint);
    let inside = |value: f64, reference: f64| {
        let bound = constraint.bound(reference);
        if is_equal(bound, value, bound.abs()) { 0.0 } else { sign * (bound - value) }
    };
    match (value, baseline) {
        (Sample::Prompts(values), _) if constraint.of_baseline == 0.0 => {
            Sample::Prompts(values.iter().map(|(id, value)| (id.clone(), inside(*value, 0.0))).collect())
        }
        (Sample::Prompts(values), Sample::Prompts(references)) => Sample::Prompts(
            values
                .iter()
                .filter_map(|(id, value)| Some((id.clone(), inside(*value, *references.get(id)?))))
                .collect(),
        ),
        _ => {
            let none = Sample::Whole { value: 0.0, ci95: Some([0.0; 2]) };
            let baseline = match (constraint.of_baseline == 0.0, baseline) {
                (true, _) => &none,
                (false, Sample::Absent { why }) => {
                    return Sample::Absent { why: format!("the baseline has no value: {why}") };
                }
                (false, known) => known,
            };
            value.combined(baseline, |[low, value, high], [from, reference, to]| match constraint.side {
                Side::AtMost => [inside(high, from), inside(value, reference), inside(low, to)],
                Side::AtLeast => [inside(low, to), inside(value, reference), inside(high, from)],
            })
        }
    }
}

/// The same amount on the side of the baseline on which the value is.
fn nearer_side(constraint: &Constraint, value: &Sample, baseline: &Sample) -> Constraint {
    let is_above = value.minus(baseline).value().is_none_or(|apart| apart >= 0.0);
    let amount = constraint.plus.abs();
    let (side, plus) = if is_above { (Side::AtMost, amount) } else { (Side::AtLeast, -amount) };
    Constraint { side, plus, ..constraint.clone() }
}

/// How far inside the bound the baseline itself is, whose distribution an exact method has.
fn slack_by_construction(constraint: &Constraint, value: &Sample, baseline: &Sample) -> Sample {
    if constraint.of_baseline == 1.0 {
        // No sign of a zero: the margin of `<=ar` is 0.
        let slack = sign(constraint) * constraint.plus + 0.0;
        return Sample::Whole { value: slack, ci95: Some([slack; 2]) };
    }
    let known = if baseline.value().is_some() { baseline } else { value };
    slack_of(constraint, known, baseline)
}

fn sign(constraint: &Constraint) -> f64 {
    if constraint.side == Side::AtMost { 1.0 } else { -1.0 }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

    use super::*;

    fn prompts(values: &[f64]) -> Sample {
        Sample::Prompts(values.iter().enumerate().map(|(at, value)| (format!("{at:03}"), *value)).collect())
    }

    fn at_most(of_baseline: f64, plus: f64) -> Constraint {
        let text = "x<=…".to_owned();
        Constraint { text, measure: "x".into(), side: Side::AtMost, of_baseline, plus }
    }

    fn held(
        constraint: &Constraint,
        value: &Sample,
        baseline: &Sample,
        is_by_construction: bool,
    ) -> BoundCheck {
        BoundCheck::of(constraint, Sides { value, baseline, is_by_construction, is_nearer: false }, 0.99, 6)
            .unwrap()
    }

    #[test]
    fn what_prompts_share_leaves_the_interval() {
        let baseline = prompts(&[1.0, 5.0, 2.0, 9.0, 4.0, 7.0]);
        let value = prompts(&[1.2, 5.2, 2.2, 9.2, 4.2, 7.2]);
        let found = held(&at_most(1.0, 0.3), &value, &baseline, false);
        let [low, high] = found.slack_interval.unwrap();
        assert!((low - 0.1).abs() < 1e-9 && (high - 0.1).abs() < 1e-9, "{found:?}");
        assert!(found.is_decided() && found.standing() == BudgetStatus::Meets);
        // A share of the baseline is paired too: 1.5 b - (b + 0.2) has mean 0.5 * 28 / 6 - 0.2.
        let found = held(&at_most(1.5, 0.0), &value, &baseline, false);
        assert!((found.slack.unwrap() - (14.0 / 6.0 - 0.2)).abs() < 1e-9, "{found:?}");
        assert!(!found.is_decided() && found.prompts_to_decide.is_some_and(|n| n > 6), "{found:?}");
    }

    #[test]
    fn a_mean_that_is_its_bound_but_for_rounding_keeps_it_by_nothing() {
        let value = prompts(&[0.1, 0.2, 0.3, 0.1, 0.2, 0.3]);
        let mean = value.value().unwrap();
        assert_ne!(0.2, mean, "there is rounding to be met");
        let around_zero = prompts(&[0.1, 0.2, -0.3, 0.1, 0.2, -0.3]);
        assert_ne!(around_zero.value(), Some(0.0));
        let baseline = prompts(&[0.0; 6]);
        for (value, bound) in [(value, 0.2), (around_zero, 0.0)] {
            let found = held(&at_most(0.0, bound), &value, &baseline, false);
            assert_eq!((found.slack, found.standing()), (Some(0.0), BudgetStatus::Meets));
        }
    }

    #[test]
    fn an_exact_method_meets_a_bound_that_its_baseline_meets_whatever_was_drawn() {
        let (baseline, value) = (prompts(&[1.0; 6]), prompts(&[9.0; 6]));
        let measured = held(&at_most(1.0, 0.3), &value, &baseline, false);
        assert_eq!((measured.standing(), measured.is_decided()), (BudgetStatus::Misses, true));
        let exact = held(&at_most(1.0, 0.3), &value, &baseline, true);
        assert_eq!((exact.standing(), exact.is_decided()), (BudgetStatus::Meets, true));
        assert_eq!((exact.slack, exact.reading.value), (Some(0.3), Some(9.0)));
        let absent = Sample::Absent { why: "too few images".into() };
        assert_eq!(held(&at_most(1.0, 0.0), &absent, &absent, true).standing(), BudgetStatus::Meets);
        assert_eq!(held(&at_most(0.0, 2.0), &value, &baseline, true).standing(), BudgetStatus::Meets);
    }

    #[test]
    fn where_nearer_is_better_an_amount_bounds_from_both_sides() {
        let baseline = prompts(&[1.0, 5.0, 2.0, 9.0, 4.0, 7.0]);
        let shifted = |by: f64| prompts(&[1.0, 5.0, 2.0, 9.0, 4.0, 7.0].map(|value| value + by));
        let standing = |constraint: &Constraint, by: f64| {
            let sides = Sides {
                value: &shifted(by),
                baseline: &baseline,
                is_by_construction: false,
                is_nearer: true,
            };
            let found = BoundCheck::of(constraint, sides, 0.99, 6).unwrap();
            (found.standing(), (found.slack.unwrap() * 1e6).round() / 1e6)
        };
        let at_least = Constraint { side: Side::AtLeast, ..at_most(1.0, -0.3) };
        for constraint in [at_most(1.0, 0.3), at_least] {
            assert_eq!(standing(&constraint, 0.2), (BudgetStatus::Meets, 0.1));
            assert_eq!(standing(&constraint, -0.2), (BudgetStatus::Meets, 0.1));
            assert_eq!(standing(&constraint, -0.5), (BudgetStatus::Misses, -0.2));
        }
        let noisy = prompts(&[1.4, 4.6, 2.3, 8.8, 4.3, 6.9]);
        let sides = Sides { value: &noisy, baseline: &baseline, is_by_construction: false, is_nearer: true };
        let [low, high] = BoundCheck::of(&at_most(1.0, 0.3), sides, 0.99, 6).unwrap().slack_interval.unwrap();
        assert!(low < 0.0 && high == 0.3, "nothing is inside by more than the whole amount: {low} {high}");
        assert_eq!(
            standing(&at_most(0.0, 5.0), -3.0).0,
            BudgetStatus::Meets,
            "a plain number stays one-sided"
        );
        // The bound is 0.3 below the baseline: being 0.2 below or 0.5 above misses it, 0.5 below meets it.
        let below = at_most(1.0, -0.3);
        assert_eq!(standing(&below, -0.2), (BudgetStatus::Misses, -0.1));
        assert_eq!(standing(&below, 0.5), (BudgetStatus::Misses, -0.8));
        assert_eq!(standing(&below, -0.5), (BudgetStatus::Meets, 0.2));
    }

    #[test]
    fn a_value_of_the_whole_run_is_compared_by_the_ends_of_both_intervals() {
        let whole = |value: f64, half: f64| Sample::Whole { value, ci95: Some([value - half, value + half]) };
        let found = BoundCheck::of(
            &at_most(1.0, 5.0),
            Sides {
                value: &whole(12.0, 1.0),
                baseline: &whole(10.0, 0.5),
                is_by_construction: false,
                is_nearer: false,
            },
            0.95,
            6,
        )
        .unwrap();
        let [low, high] = found.slack_interval.unwrap();
        assert!((low - 1.5).abs() < 1e-9 && (high - 4.5).abs() < 1e-9, "{found:?}");
        let absent = Sample::Absent { why: "32 images".into() };
        let found = held(&at_most(1.0, 5.0), &whole(1.0, 0.1), &absent, false);
        assert_eq!(found.reading.why.as_deref(), Some("the baseline has no value: 32 images"));
        assert_eq!((found.standing(), found.slack), (BudgetStatus::Open, None));
    }
}
