//! A whole tuning: every setting of a run judged, and the best of those that meet the bounds.

use std::cmp::Ordering;

use serde::Serialize;
use specimen_experiments::goal::Goal;
use specimen_foundation::failure;
use specimen_record::SCHEMA;

use super::{
    sample::ALONE,
    trial::{Standing, Trial, direction, is_distance},
};
use crate::verdicts::values::RunValues;

/// What a run says of the settings in it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Tuning {
    /// Schema number.
    pub schema: u32,
    /// Name of the run.
    pub name: String,
    /// Digest of its records.
    pub result_digest: String,
    /// Measure that is to be as good as it can be.
    pub objective: String,
    /// Whether more of it is better.
    pub higher_is_better: bool,
    /// Whether it is the distance from the baseline's value.
    pub is_distance: bool,
    /// The bounds, as typed.
    pub budget: Vec<String>,
    /// Level of the interval of each bound: all bounds of a setting have 95 % together (Bonferroni).
    pub confidence: f64,
    /// Prompts that the dataset has; absent where it has any number that is advised.
    pub n_available: Option<usize>,
    /// The settings: those that meet the bounds by their objective, then those that are not decided, then those that miss
    /// one, both by the smaller miss. Ties keep the order of the spec.
    pub settings: Vec<Trial>,
    /// The first of them, if it meets every bound and has a value of the objective.
    pub best: Option<String>,
}

impl Tuning {
    /// Judges `settings`, names of cells with their methods, by a run that has them.
    pub fn of(values: &RunValues, goal: &Goal, settings: &[(String, String)]) -> anyhow::Result<Tuning> {
        let objective = &goal.objective;
        let no_direction =
            || failure!(Spec: "of `{objective}` neither more nor less is better; take another objective");
        let higher_is_better =
            goal.higher_is_better.or_else(|| direction(values, objective)).ok_or_else(no_direction)?;
        let confidence = 1.0 - (1.0 - ALONE) / goal.budget.len().max(1) as f64;
        let judged =
            settings.iter().map(|(name, method)| Trial::read(values, goal, name, method, confidence));
        let tuning = Tuning {
            schema: SCHEMA,
            name: values.summary.name.clone(),
            result_digest: values.summary.result_digest.as_str().to_owned(),
            objective: objective.clone(),
            higher_is_better: higher_is_better && !is_distance(values, objective),
            is_distance: is_distance(values, objective),
            budget: goal.budget.iter().map(|constraint| constraint.text.clone()).collect(),
            confidence,
            n_available: None,
            best: None,
            settings: Vec::new(),
        };
        Ok(tuning.with(judged.collect::<Result<_, _>>()?))
    }

    /// The same with these settings, in the order of the spec.
    pub fn with(self, mut settings: Vec<Trial>) -> Tuning {
        settings.sort_by(|a, b| order(a, b, self.higher_is_better));
        let first = settings.first();
        let best = first.filter(|one| one.standing == Standing::Meets && one.objective.value.is_some());
        Tuning { best: best.map(|one| one.setting.clone()), settings, ..self }
    }

    /// Settings that are not decided and would be better than the best, all of them where none is.
    pub fn rivals(&self) -> impl Iterator<Item = &Trial> {
        let best = self.settings.first().filter(|_| self.best.is_some());
        let is_better = move |one: &&Trial| {
            best.is_none_or(|best| by_objective(one, best, self.higher_is_better) == Ordering::Less)
        };
        self.settings.iter().filter(|one| one.standing == Standing::NotDecided).filter(is_better)
    }
}

fn order(a: &Trial, b: &Trial, higher_is_better: bool) -> Ordering {
    let rank = |trial: &Trial| (trial.standing, trial.objective.value.is_none());
    let miss = |trial: &Trial| trial.miss().unwrap_or(f64::INFINITY);
    let by_miss = match a.standing {
        Standing::Meets => Ordering::Equal,
        Standing::NotDecided | Standing::Misses => miss(a).total_cmp(&miss(b)),
    };
    rank(a).cmp(&rank(b)).then(by_miss).then_with(|| by_objective(a, b, higher_is_better))
}

fn by_objective(a: &Trial, b: &Trial, higher_is_better: bool) -> Ordering {
    match (a.objective.value, b.objective.value) {
        (Some(a), Some(b)) if higher_is_better => b.total_cmp(&a),
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => Ordering::Equal,
    }
}
