//! What a run measured of one setting: the objective and every bound of the budget, each with the interval that there
//! is: the one of the summary, or one over prompts, from six of them on, for what every image has.

use serde::{Deserialize, Serialize};
use specimen_experiments::goal::{Constraint, Goal, Side};
use specimen_record::CellSummary;
use specimen_stats::bootstrap::{BootstrapPlan, bootstrap};

use crate::{
    VerdictError,
    compare::pair::{self, Scale},
    measured,
    values::{ByPrompt, COUNTED, RunValues},
};

/// Resamples of an interval over prompts.
const N_RESAMPLES: usize = 4000;

/// The fewest prompts whose spread decides anything: the range of fewer holds the middle in less than 95 % of cases.
const FEWEST: usize = 6;

/// Rounding of a sum in another order, as a share of the bound.
const ROUNDING: f64 = 1e-12;

/// One setting in one rung.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Name of the cell.
    pub setting: String,
    /// What is to be as good as it can be.
    pub objective: Reading,
    /// The bounds, in the order of the goal.
    pub budget: Vec<Held>,
}

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

/// A value against its bound.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The constraint as typed.
    pub constraint: String,
    /// The setting's value.
    #[serde(flatten)]
    pub reading: Reading,
    /// The bound, with the baseline's value of the same prompts.
    pub bound: Option<f64>,
    /// By how much the value keeps the bound; negative where it does not.
    pub slack: Option<f64>,
    /// The 95 % interval of the slack. Paired over prompts where the bound is the baseline's value and an amount;
    /// otherwise from the ends of both intervals, which is wider.
    pub slack_ci95: Option<[f64; 2]>,
}

/// Where a setting stands towards the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Every bound is kept by the point estimate.
    Meets,
    /// None is missed for certain: a value is missing, or an interval reaches to the other side of the bound.
    Open,
    /// One is missed, and its interval agrees.
    Misses,
}

impl Held {
    /// Where it stands by itself.
    #[must_use]
    pub fn standing(&self) -> Standing {
        match (self.slack, self.slack_ci95) {
            (None, _) => Standing::Open,
            (Some(slack), _) if slack >= 0.0 => Standing::Meets,
            (_, Some([_, high])) if high < 0.0 => Standing::Misses,
            _ => Standing::Open,
        }
    }

    /// Whether the interval lies on the side of the point estimate.
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.slack_ci95.is_some_and(|[low, high]| low >= 0.0 || high < 0.0)
    }

    /// How far it is missed as a share of the bound (as it is where the bound is 0); 0 where it is kept, absent where
    /// there is no value.
    #[must_use]
    pub fn miss(&self) -> Option<f64> {
        let scale = self.bound.map(f64::abs).filter(|bound| *bound > 0.0).unwrap_or(1.0);
        self.slack.map(|slack| (-slack / scale).max(0.0))
    }
}

impl Trial {
    /// The worst standing of its bounds.
    #[must_use]
    pub fn standing(&self) -> Standing {
        self.budget.iter().map(Held::standing).max().unwrap_or(Standing::Meets)
    }

    /// The largest miss of its bounds; absent where one has no value.
    #[must_use]
    pub fn miss(&self) -> Option<f64> {
        self.budget.iter().map(Held::miss).try_fold(0.0, |worst: f64, miss| Some(worst.max(miss?)))
    }

    /// Whether more of a metric is better, as its scores say; `None` where they do not, or it is no metric.
    #[must_use]
    pub fn direction(values: &RunValues, metric: &str) -> Option<bool> {
        let metrics = values.summary.cells.iter().flat_map(|cell| &cell.metrics);
        metrics.filter(|scored| scored.metric == metric).find_map(|scored| scored.higher_is_better)
    }

    /// Reads what a run has of `setting`.
    ///
    /// # Errors
    /// When the run has no such cell, or a statistic refuses its values.
    pub fn read(values: &RunValues, goal: &Goal, setting: &str) -> Result<Trial, VerdictError> {
        let cell = find(values, setting)?;
        let baseline = baseline_of(values, cell);
        let budget = goal.budget.iter().map(|constraint| held(values, cell, baseline, constraint));
        Ok(Trial {
            setting: setting.to_owned(),
            objective: reading(values, cell, &goal.objective)?,
            budget: budget.collect::<Result<_, _>>()?,
        })
    }
}

fn find<'v>(values: &'v RunValues, id: &str) -> Result<&'v CellSummary, VerdictError> {
    let known = || values.summary.cells.iter().map(|cell| cell.id.as_str()).collect::<Vec<_>>().join(", ");
    values.summary.cell(id).ok_or_else(|| VerdictError::NoSuchCell {
        run: values.summary.name.clone(),
        cell: id.to_owned(),
        known: known(),
    })
}

/// The plain cell of the same model and sampling, timed or not.
fn baseline_of<'v>(values: &'v RunValues, cell: &CellSummary) -> Option<&'v CellSummary> {
    let is_alike = |other: &&CellSummary| {
        other.method == values.summary.baseline
            && (&other.model, &other.dtype, &other.device) == (&cell.model, &cell.dtype, &cell.device)
            && other.sampling == cell.sampling
    };
    let named = cell.baseline.as_ref().and_then(|id| values.summary.cell(id));
    named.or_else(|| values.summary.cells.iter().find(is_alike))
}

/// Values over prompts of what every image has.
fn by_prompt(values: &RunValues, cell: &CellSummary, measure: &str) -> ByPrompt {
    match measure {
        "decode_s" => values.decode_s(&cell.id),
        measure => values.by_prompt(&cell.id, measure),
    }
}

fn reading(values: &RunValues, cell: &CellSummary, measure: &str) -> Result<Reading, VerdictError> {
    let measured = measured::of(cell, measure);
    let is_mean = COUNTED.contains(&measure) || measure == "decode_s" || measured.protocol.is_some();
    // Of a speedup the summary has an interval from two prompts on.
    let given = measured.ci95.filter(|_| !measure.starts_with("speedup") || measured.n >= FEWEST as u64);
    let ci95 = match (given, measured.value) {
        (None, Some(_)) if is_mean => interval(&by_prompt(values, cell, measure), values)?,
        (given, _) => given,
    };
    Ok(Reading { value: measured.value, ci95, why: measured.why })
}

/// The interval of a mean over prompts; `None` for fewer than [`FEWEST`].
fn interval(by_prompt: &ByPrompt, values: &RunValues) -> Result<Option<[f64; 2]>, VerdictError> {
    let values_of: Vec<f64> = by_prompt.values().copied().collect();
    if values_of.len() < FEWEST {
        return Ok(None);
    }
    if values_of.iter().all(|value| *value == values_of[0]) {
        return Ok(Some([values_of[0]; 2]));
    }
    let plan = BootstrapPlan::new(seed(values), N_RESAMPLES, 0.95)?;
    let mean = |chosen: &[usize]| chosen.iter().map(|&at| values_of[at]).sum::<f64>() / chosen.len() as f64;
    let found = bootstrap(values_of.len(), &plan, mean)?.interval;
    Ok(Some([found.lower, found.upper]))
}

fn held(
    values: &RunValues,
    cell: &CellSummary,
    baseline: Option<&CellSummary>,
    constraint: &Constraint,
) -> Result<Held, VerdictError> {
    let measure = constraint.measure.as_str();
    let mut found = Held {
        constraint: constraint.text.clone(),
        reading: reading(values, cell, measure)?,
        bound: None,
        slack: None,
        slack_ci95: None,
    };
    let is_relative = constraint.of_baseline != 0.0;
    let reference = match baseline.filter(|_| is_relative) {
        Some(baseline) => reading(values, baseline, measure)?,
        None if is_relative => {
            Reading { why: Some("the run has no baseline".to_owned()), ..Reading::default() }
        }
        None => Reading { value: Some(0.0), ci95: Some([0.0; 2]), why: None },
    };
    let (Some(value), Some(of_baseline)) = (found.reading.value, reference.value) else {
        let missing = reference.why.map(|why| format!("the baseline has no value: {why}"));
        found.reading.why = found.reading.why.or(missing);
        return Ok(found);
    };
    let sign = if constraint.side == Side::AtMost { 1.0 } else { -1.0 };
    let bound = constraint.bound(of_baseline);
    let slack = sign * (bound - value);
    found.bound = Some(bound);
    found.slack = Some(if slack.abs() <= ROUNDING * bound.abs() { 0.0 } else { slack });
    let both = baseline.filter(|other| {
        let has_prompts = |cell: &CellSummary| !by_prompt(values, cell, measure).is_empty();
        constraint.of_baseline == 1.0 && has_prompts(cell) && has_prompts(other)
    });
    let ends = match both {
        Some(baseline) => paired(values, cell, baseline, measure)?
            .map(|[low, high]| [constraint.plus - high, constraint.plus - low]),
        None => found
            .reading
            .ci95
            .zip(reference.ci95)
            .map(|([low, high], [from, to])| [constraint.bound(from) - high, constraint.bound(to) - low]),
    };
    found.slack_ci95 = ends.map(|[low, high]| if sign > 0.0 { [low, high] } else { [-high, -low] });
    Ok(found)
}

/// The interval of the cell's value minus the baseline's, paired over prompts.
fn paired(
    values: &RunValues,
    cell: &CellSummary,
    baseline: &CellSummary,
    measure: &str,
) -> Result<Option<[f64; 2]>, VerdictError> {
    let (ours, theirs) = (by_prompt(values, cell, measure), by_prompt(values, baseline, measure));
    let found = pair::estimate(&theirs, &ours, Scale::Difference, seed(values))?;
    Ok(found.filter(|found| found.n >= FEWEST).map(|found| found.ci95))
}

/// Seed of every interval: the run's own, so that the same numbers give the same ends.
fn seed(values: &RunValues) -> u64 {
    values.summary.spec.get("seed").and_then(serde_json::Value::as_u64).unwrap_or(0)
}
