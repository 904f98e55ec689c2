//! Which settings the next rung measures: all but those that miss the budget for certain and those that are worse for
//! certain than a setting that meets it. A setting whose budget is undecided is never dropped, and an exact one never for
//! a bound of quality.
//!
//! A rung lists first what meets the budget, in the order of the objective, then what misses it without being decided,
//! then what misses it for certain, each the nearest first. Of equal objectives that of a decided budget comes first; other
//! ties keep the order of the spec, so equal numbers give an equal tuning.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use specimen_table::fixed;

use super::{
    bound::{BoundCheck, BudgetStatus},
    level::Level,
    sample::Sample,
    trial::{Evidence, Trial},
    verdict::MOST_ADVISED,
};
use crate::VerdictError;

/// A trial with its place in the rung.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankedTrial {
    /// What was measured.
    #[serde(flatten)]
    pub trial: Trial,
    /// Whether it meets the budget.
    pub standing: BudgetStatus,
    /// Its place, from 1.
    pub place: usize,
    /// What the rung decides about it.
    pub fate: TrialOutcome,
    /// Why, in words.
    pub why: String,
}

/// What a rung decides about a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TrialOutcome {
    /// The next rung measures it too.
    #[serde(rename = "goes-on")]
    Continues,
    /// It is dropped: it misses a bound for certain.
    Misses,
    /// It is dropped: another that meets every bound for certain has a better objective for certain.
    Worse,
    /// There are no more prompts, and it is the best that meets the budget.
    Chosen,
    /// There are no more prompts, and it is not the best that meets the budget.
    NotChosen,
}

/// How a rung decides.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// Whether more of the objective is better.
    pub higher_is_better: bool,
    /// Level of the interval that decides which of two objectives is better.
    pub level: Level,
    /// Whether there are no prompts for another rung.
    pub is_last: bool,
}

impl TrialOutcome {
    /// Whether later rungs may choose the setting.
    #[must_use]
    pub fn is_kept(self) -> bool {
        matches!(self, TrialOutcome::Continues | TrialOutcome::Chosen)
    }

    /// Its words in a table.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            TrialOutcome::Continues => "continues",
            TrialOutcome::Misses => "dropped: misses",
            TrialOutcome::Worse => "dropped: worse",
            TrialOutcome::Chosen => "chosen",
            TrialOutcome::NotChosen => "not chosen",
        }
    }
}

/// Orders the trials of a rung and decides about each, the first place first.
///
/// # Errors
/// When the level is no probability.
pub fn place(mut found: Vec<Evidence>, round: &Round) -> Result<Vec<RankedTrial>, VerdictError> {
    found.sort_by(|a, b| order(&a.trial, &b.trial, round.higher_is_better));
    let meets =
        |one: &&Evidence| one.trial.standing() == BudgetStatus::Meets && one.objective.value().is_some();
    let chosen = found.first().filter(meets).map(|one| one.trial.setting.clone());
    let best = found.iter().filter(meets).find(|one| one.trial.is_decided());
    let mut placed = Vec::new();
    for (at, one) in found.iter().enumerate() {
        // By how much it is worse than the best that meets the budget for certain.
        let behind = best.filter(|best| best.trial.setting != one.trial.setting).map(|best| {
            let (more, less) = if round.higher_is_better { (best, one) } else { (one, best) };
            (more.objective.above(&less.objective), best.trial.setting.as_str())
        });
        let is_worse = match &behind {
            Some((behind, _)) => behind.iter().try_fold(true, |all, one| {
                let is_above = one.interval(round.level.now())?.is_some_and(|[low, _]| low > 0.0);
                Ok::<_, VerdictError>(all && is_above)
            })?,
            None => false,
        };
        let trial = &one.trial;
        let fate = match round.is_last {
            _ if trial.is_ruled_out() => TrialOutcome::Misses,
            _ if is_worse && trial.is_decided() => TrialOutcome::Worse,
            false => TrialOutcome::Continues,
            true if chosen.as_ref() == Some(&trial.setting) => TrialOutcome::Chosen,
            true => TrialOutcome::NotChosen,
        };
        let behind = behind.as_ref().map(|(behind, best)| (behind.as_slice(), *best, is_worse));
        let why = why(trial, fate, behind, round)?;
        placed.push(RankedTrial {
            trial: trial.clone(),
            standing: trial.standing(),
            place: at + 1,
            fate,
            why,
        });
    }
    Ok(placed)
}

fn order(a: &Trial, b: &Trial, higher_is_better: bool) -> Ordering {
    let rank = |trial: &Trial| (trial.standing(), trial.objective.value.is_none());
    let by_objective = || match (a.objective.value, b.objective.value) {
        (Some(a), Some(b)) if higher_is_better => b.total_cmp(&a),
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => Ordering::Equal,
    };
    let by_miss = || {
        let miss = |trial: &Trial| trial.miss().unwrap_or(f64::INFINITY);
        miss(a).total_cmp(&miss(b))
    };
    let within = || match a.standing() {
        BudgetStatus::Meets => by_objective().then_with(|| b.is_decided().cmp(&a.is_decided())),
        BudgetStatus::Open | BudgetStatus::Misses => by_miss().then_with(by_objective),
    };
    rank(a).cmp(&rank(b)).then_with(within)
}

/// The reason in a sentence: what decided, or what is undecided and how many prompts would decide it.
fn why(
    trial: &Trial,
    fate: TrialOutcome,
    behind: Option<(&[Sample], &str, bool)>,
    round: &Round,
) -> Result<String, VerdictError> {
    if fate == TrialOutcome::Misses {
        let missed = trial.budget.iter().filter(|held| held.standing() == BudgetStatus::Misses);
        let missed: Vec<&str> = missed.map(|held| held.constraint.as_str()).collect();
        return Ok(format!("misses {} for certain", missed.join(" and ")));
    }
    let mut parts: Vec<String> = trial.budget.iter().filter_map(open_in_words).collect();
    if trial.objective.value.is_none() {
        let why = trial.objective.why.as_deref().unwrap_or("the run gives no reason");
        parts.push(format!("no value of the objective: {why}"));
    }
    if let Some((behind, best, is_worse)) = behind.filter(|_| trial.is_decided()) {
        let prompts: Result<Vec<_>, _> =
            behind.iter().map(|one| one.prompts_to_decide(&round.level)).collect();
        // All of them have to be decided.
        let prompts =
            prompts?.into_iter().collect::<Option<Vec<u64>>>().and_then(|all| all.into_iter().max());
        parts.push(match (is_worse, prompts) {
            (true, _) => format!("`{best}` meets every bound and is better for certain"),
            (false, Some(n)) => {
                format!("not better or worse than `{best}` for certain: about {n} prompts would decide")
            }
            (false, None) => format!("not better or worse than `{best}` for certain"),
        });
    }
    if parts.is_empty() {
        parts.push("meets every bound".to_owned());
    }
    Ok(parts.join("; "))
}

/// What is to be said of a bound that is not decided, or missed without being a reason to drop the setting.
fn open_in_words(held: &BoundCheck) -> Option<String> {
    let name = &held.constraint;
    let prompts = match held.prompts_to_decide {
        Some(n) if n > MOST_ADVISED => {
            format!("its value is so near the bound that more than {MOST_ADVISED} prompts would decide it")
        }
        Some(n) => format!("about {n} prompts would decide it"),
        None => "the number of prompts that would decide it is not known".to_owned(),
    };
    match (held.slack, held.is_decided()) {
        (None, _) => {
            Some(format!("{name} is undecided: {}", held.reading.why.as_deref().unwrap_or("it has no value")))
        }
        (Some(slack), false) if slack >= 0.0 => Some(format!("meets {name}, undecided: {prompts}")),
        (Some(_), false) => Some(format!("misses {name}, undecided: {prompts}")),
        (Some(slack), true) if slack < 0.0 => {
            Some(format!("misses {name} as its baseline does, by {}", fixed(-slack, 4)))
        }
        (Some(_), true) => None,
    }
}
