//! Who goes on. Settings that meet the budget come first, then those of which it is open, each in the order of the
//! objective; those that miss it come last, the nearest first. The first half (rounded up) goes on, without those
//! that miss the budget for certain unless all do. Ties keep the order of the spec, so equal numbers give an equal
//! tuning.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

use super::{
    schedule::kept_of,
    trial::{Standing, Trial},
};

/// A trial with its place in the rung.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    /// What was measured.
    #[serde(flatten)]
    pub trial: Trial,
    /// Where it stands towards the budget.
    pub standing: Standing,
    /// Its place, from 1.
    pub place: usize,
    /// Whether it goes on.
    pub kept: bool,
    /// Why it goes on or not.
    pub why: String,
}

/// Orders the trials of a rung and says which go on, the first place first.
#[must_use]
pub fn place(mut trials: Vec<Trial>, higher_is_better: bool) -> Vec<Placed> {
    trials.sort_by(|a, b| order(a, b, higher_is_better));
    let n = trials.len();
    let n_half = kept_of(n);
    let some_may_meet = trials.iter().any(|trial| trial.standing() < Standing::Misses);
    let goes_on =
        |at: usize, trial: &Trial| at < n_half && !(some_may_meet && trial.standing() == Standing::Misses);
    let placed = trials.into_iter().enumerate().map(|(at, trial)| {
        let (standing, kept) = (trial.standing(), goes_on(at, &trial));
        let why = why(&trial, standing, kept, at + 1, n_half, n);
        Placed { trial, standing, place: at + 1, kept, why }
    });
    placed.collect()
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
        Standing::Misses => by_miss().then_with(by_objective),
        _ => by_objective(),
    };
    rank(a).cmp(&rank(b)).then_with(within)
}

fn why(trial: &Trial, standing: Standing, kept: bool, place: usize, n_half: usize, n: usize) -> String {
    let budget: Vec<String> = trial
        .budget
        .iter()
        .filter_map(|held| {
            let name = &held.constraint;
            match (held.standing(), held.is_decided()) {
                (Standing::Meets, true) => None,
                (Standing::Meets, false) => Some(format!("meets {name}, its interval does not decide it")),
                (Standing::Misses, _) => Some(format!("misses {name} for certain")),
                (Standing::Open, _) if held.slack.is_some() => {
                    Some(format!("misses {name}, its interval does not decide it"))
                }
                (Standing::Open, _) => {
                    let why = held.reading.why.as_deref().unwrap_or("it has no value");
                    Some(format!("{name} is open: {why}"))
                }
            }
        })
        .collect();
    let budget = if budget.is_empty() { String::new() } else { format!("; {}", budget.join("; ")) };
    let objective = match (&trial.objective.value, &trial.objective.why) {
        (None, why) => {
            format!("; no value of the objective: {}", why.as_deref().unwrap_or("the run gives no reason"))
        }
        _ => String::new(),
    };
    let on = match (kept, standing) {
        (true, _) => format!("place {place} of {n}, {n_half} may go on"),
        (false, Standing::Misses) if place <= n_half => "another may meet the budget".to_owned(),
        (false, _) => format!("place {place} of {n}, {n_half} may go on"),
    };
    format!("{on}{budget}{objective}")
}
