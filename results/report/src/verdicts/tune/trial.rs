//! What a run measured of one setting: the objective and every bound of the budget.

use serde::Serialize;
use specimen_experiments::goal::Goal;
use specimen_record::{Better, CellSummary, Guarantee, distances};

use super::{
    bound::{BoundCheck, BudgetStatus, Reading, Sides, reading},
    sample::Sample,
};
use crate::verdicts::{
    measured,
    values::{ByPrompt, RunValues, Span},
};

/// One setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Trial {
    /// Name of the cell.
    pub setting: String,
    /// Its method, canonical; `external: COMMAND` of another program.
    pub method: String,
    /// What is to be as good as it can be, with its 95 % interval.
    pub objective: Reading,
    /// The bounds, in the order of the goal.
    pub budget: Vec<BoundCheck>,
    /// Whether it meets them.
    pub standing: Standing,
}

/// Whether a setting meets its bounds, as far as its intervals decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// Each for certain.
    Meets,
    /// No bound is missed for certain, and one is not decided.
    NotDecided,
    /// One is missed for certain.
    Misses,
}

impl Standing {
    /// That of these bounds together.
    pub fn of(budget: &[BoundCheck]) -> Standing {
        match budget {
            all if all.iter().any(|held| held.standing() == BudgetStatus::Misses) => Standing::Misses,
            all if all.iter().all(BoundCheck::is_decided) => Standing::Meets,
            _ => Standing::NotDecided,
        }
    }

    /// Its words in a table.
    pub fn words(self) -> &'static str {
        match self {
            Standing::Meets => "meets",
            Standing::NotDecided => "not decided",
            Standing::Misses => "misses",
        }
    }
}

impl Trial {
    /// Reads what a run has of `setting`. Intervals of bounds are at `level`.
    pub fn read(
        values: &RunValues,
        goal: &Goal,
        setting: &str,
        method: &str,
        level: f64,
    ) -> anyhow::Result<Trial> {
        let cell = find(values, setting)?;
        let n_prompts = values.n_prompts(setting);
        let baseline = baseline_of(values, cell).map(|baseline| baseline.id.as_str());
        let budget = goal.budget.iter().map(|constraint| {
            let measure = constraint.measure.as_str();
            let of_baseline = match baseline {
                Some(id) => sample(values, id, measure),
                None => Sample::Absent { why: "the run has no baseline".to_owned() },
            };
            let value = beside(sample(values, setting, measure), &of_baseline, cell, measure);
            // A metric that only the baseline lacks compares with the baseline's images, of which an exact method draws others.
            let is_of_pairs = value.value().is_some() && of_baseline.value().is_none();
            let is_quality = is_quality(cell, measure) && !is_of_pairs;
            let sides = Sides {
                value: &value,
                baseline: &of_baseline,
                is_by_construction: cell.guarantee == Guarantee::Exact && is_quality,
                is_nearer: is_nearer(cell, measure),
            };
            BoundCheck::of(constraint, sides, level, n_prompts)
        });
        let budget: Vec<BoundCheck> = budget.collect::<Result<_, _>>()?;
        Ok(Trial {
            setting: setting.to_owned(),
            method: method.to_owned(),
            objective: reading(&objective(values, cell, baseline, &goal.objective))?,
            standing: Standing::of(&budget),
            budget,
        })
    }

    /// The largest miss of its bounds, as a share of the bound; absent where one has no value.
    pub fn miss(&self) -> Option<f64> {
        self.budget.iter().map(BoundCheck::miss).try_fold(0.0, |worst: f64, miss| Some(worst.max(miss?)))
    }
}

/// Whether more of a metric is better, as its scores say; `None` where they do not, or it is no metric.
pub fn direction(values: &RunValues, metric: &str) -> Option<bool> {
    let metrics = values.summary.cells.iter().flat_map(|cell| &cell.metrics);
    metrics.filter(|scored| scored.metric == metric).find_map(|scored| scored.higher_is_better)
}

/// Whether a measure counts by how far it is from the baseline's: where it would for a relaxed cell, whichever cells the run
/// has.
pub fn is_distance(values: &RunValues, measure: &str) -> bool {
    let mut scored = values.summary.cells.iter().flat_map(|cell| &cell.metrics);
    let scored = scored.find(|scored| scored.metric == measure);
    scored.and_then(|scored| scored.better(Guarantee::Relaxed)) == Some(Better::NearerToBaseline)
}

/// The objective of a cell. Of a measure by which nearer to the baseline's is better, it is how far a cell is from
/// it: 0 for an exact one, whose distribution is the baseline's.
fn objective(values: &RunValues, cell: &CellSummary, baseline: Option<&str>, measure: &str) -> Sample {
    let value = sample(values, &cell.id, measure);
    let Some(baseline) = baseline.filter(|_| is_distance(values, measure)) else { return value };
    let of_baseline = sample(values, baseline, measure);
    if cell.guarantee == Guarantee::Exact {
        return match of_baseline {
            Sample::Prompts(values) => Sample::Distance(values.into_keys().map(|id| (id, 0.0)).collect()),
            _ => Sample::Whole { value: 0.0, ci95: Some([0.0; 2]) },
        };
    }
    match beside(value, &of_baseline, cell, measure).minus(&of_baseline) {
        Sample::Prompts(apart) => Sample::Distance(apart),
        Sample::Whole { value, ci95 } => Sample::Whole { value: value.abs(), ci95: ci95.map(distances) },
        absent => absent,
    }
}

/// What a cell has of a measure, to be compared with its baseline's: of a metric, up to rounding.
fn beside(value: Sample, baseline: &Sample, cell: &CellSummary, measure: &str) -> Sample {
    match cell.metrics.iter().any(|scored| scored.metric == measure) {
        true => value.up_to_rounding(baseline),
        false => value,
    }
}

/// Whether nearer to the baseline's is better for a cell.
fn is_nearer(cell: &CellSummary, measure: &str) -> bool {
    let scored = cell.metrics.iter().find(|scored| scored.metric == measure);
    scored.and_then(|scored| scored.better(cell.guarantee)) == Some(Better::NearerToBaseline)
}

/// Whether a measure is about what is drawn, not about how fast.
fn is_quality(cell: &CellSummary, measure: &str) -> bool {
    measure == "tvd_spent" || cell.metrics.iter().any(|scored| scored.metric == measure)
}

fn find<'v>(values: &'v RunValues, id: &str) -> anyhow::Result<&'v CellSummary> {
    let known = || values.summary.cells.iter().map(|cell| cell.id.as_str()).collect::<Vec<_>>().join(", ");
    values.summary.cell(id).ok_or_else(|| {
        crate::verdicts::compare::cell_pair::no_such_cell(&values.summary.name, id, &known()).into()
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

/// What the run has of one measure of a cell.
fn sample(values: &RunValues, id: &str, measure: &str) -> Sample {
    let Some(cell) = values.summary.cell(id) else {
        return Sample::Absent { why: format!("the run has no cell `{id}`") };
    };
    let found = measured::of(cell, measure);
    let Some(value) = found.value else {
        let why = found.why.unwrap_or_else(|| "the run gives no reason".to_owned());
        return Sample::Absent { why };
    };
    let by_prompt = match measure {
        "speedup" => speedups(values, id, Span::Decode),
        "speedup_e2e" => speedups(values, id, Span::EndToEnd),
        "decode_s" => values.seconds(id, Span::Decode),
        "e2e_s" => values.seconds(id, Span::EndToEnd),
        _ => values.by_prompt(id, measure),
    };
    match by_prompt.is_empty() {
        true => Sample::Whole { value, ci95: found.ci95 },
        false => Sample::Prompts(by_prompt),
    }
}

/// A value for each prompt whose mean is the speedup (the baseline's mean time over the cell's) and whose spread is that
/// of the linearised ratio: `s + (b_i - s t_i) / mean(t)`.
fn speedups(values: &RunValues, id: &str, span: Span) -> ByPrompt {
    let Some(times) = values.paired_times(id, span) else { return ByPrompt::new() };
    let sum = |side: &ByPrompt| side.values().sum::<f64>();
    let (above, below) = (sum(&times.baseline), sum(&times.method));
    let (speedup, mean) = (above / below, below / times.method.len() as f64);
    let linear = times.method.iter().filter_map(|(prompt, seconds)| {
        let reference = times.baseline.get(prompt)?;
        Some((prompt.clone(), speedup + (reference - speedup * seconds) / mean))
    });
    linear.filter(|(_, value)| value.is_finite()).collect()
}
