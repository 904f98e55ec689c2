//! All rules against a run and its reruns.

use std::collections::BTreeSet;

use serde::Serialize;
use serde_json::Value;
use specimen_experiments::measures;
use specimen_foundation::{
    fail,
    names::nearest,
    text::{counted, first_named},
};
use specimen_record::{CellSummary, PlanFile, Reading, Summary, compare_json, described};

use super::baseline::Baseline;
use super::judge::judge;
use super::rules::{Bound, Direction, Rule, Rules, percent};
use crate::verdicts::measured;

/// Cells that a sentence names, at most.
const MOST_NAMED: usize = 8;

/// What a gate found. Scripts rely on `passed` and on the fields of [`Check`]; fields are added, never renamed.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gate {
    /// Whether every check passed, and at least one was made.
    pub passed: bool,
    /// What was checked, in the order of the rules and of the baseline's cells.
    pub checks: Vec<Check>,
    /// What a rule asks for and was not checked, with the reason.
    pub skipped: Vec<Skipped>,
    /// Reruns that would confirm a failure; 0 where nothing is open.
    pub reruns_wanted: u32,
    /// Why speedups of the run are over slow baselines, where a rule is about one.
    pub slow_baselines: Vec<String>,
}

/// One quantity of one cell, checked by one rule.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Check {
    /// Name of the cell.
    pub cell: String,
    /// What was checked.
    pub measure: String,
    /// The rule in words.
    pub rule: String,
    /// The baseline's value.
    pub baseline: Option<f64>,
    /// The run's value.
    pub measured: Option<f64>,
    /// Whether the rule was met.
    pub passed: bool,
    /// Why it was not, or why a failure does not count.
    pub why: Option<String>,
}

/// One quantity of one cell that was not checked.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Skipped {
    /// Name of the cell.
    pub cell: String,
    /// What would have been checked.
    pub measure: String,
    /// The rule in words.
    pub rule: String,
    /// Why not.
    pub why: String,
}

/// In which settings a run is another experiment than the baseline's, in words.
fn differences(baseline: &Summary, run: &Summary) -> String {
    let of = |summary: &Summary| PlanFile::with_cells_by_name(&PlanFile::identity_of(&summary.spec));
    let (mut old, mut new) = (of(baseline), of(run));
    let gone = take_cells_not_in(&mut old, &new);
    let added = take_cells_not_in(&mut new, &old);
    let named = |names: Vec<String>, whose: &str| {
        (!names.is_empty()).then(|| format!("only {whose} has the cells {}", first_named(&names, MOST_NAMED)))
    };
    let parts = [named(gone, "the baseline"), named(added, "the run"), described(&compare_json(&old, &new))];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    match parts.is_empty() {
        true => "the specs are the same, but not the prompts or seeds of the images".to_owned(),
        false => parts.join("; "),
    }
}

/// Takes the cells out of `plan` that `other` has not, and returns their names. A whole cell as JSON tells less.
fn take_cells_not_in(plan: &mut Value, other: &Value) -> Vec<String> {
    let Some(cells) = plan["cells"].as_object_mut() else { return Vec::new() };
    let alone: Vec<String> =
        cells.keys().filter(|name| other["cells"].get(name.as_str()).is_none()).cloned().collect();
    cells.retain(|name, _| !alone.contains(name));
    alone
}

/// Compares `runs` (the run, then its reruns) with the baseline. `runner` is the label of the machine that ran them.
pub fn check(
    rules: &Rules,
    baseline: &Baseline,
    runs: &[Summary],
    runner: Option<&str>,
) -> anyhow::Result<Gate> {
    let expected = &baseline.summary.plan_digest;
    if let Some(other) = runs.iter().find(|run| run.plan_digest != *expected) {
        fail!(Mismatch: "run `{}` is another experiment than the baseline (plan {}, the baseline's is {}): \
            {}; run the baseline's spec, or renew the baseline with --update-baseline and a reason",
            other.name, &other.plan_digest.as_str()[..12], &expected.as_str()[..12],
            differences(&baseline.summary, other));
    }
    let has_speedups = rules.rules.iter().any(|rule| rule.measure.starts_with("speedup"));
    let slow_baselines = runs.first().filter(|_| has_speedups).map(Summary::slow_baselines);
    let mut gate = Gate {
        passed: true,
        checks: Vec::new(),
        skipped: Vec::new(),
        reruns_wanted: 0,
        slow_baselines: slow_baselines.unwrap_or_default(),
    };
    let metrics = |summary: &Summary| -> BTreeSet<String> {
        summary.cells.iter().flat_map(|cell| &cell.metrics).map(|metric| metric.metric.clone()).collect()
    };
    let known: BTreeSet<String> = [&baseline.summary].into_iter().chain(runs).flat_map(metrics).collect();
    for rule in &rules.rules {
        // A misspelt measure would be left out of every gate from then on.
        let measure = &rule.measure;
        if measures::measure(measure).is_none() && !known.contains(measure) {
            let names = measures::named().chain(known.iter().map(String::as_str));
            fail!(Spec: "{}: unknown measure `{measure}`{}; expected one of {}", rule.measure_place,
                suggested(nearest(measure, names.clone()).first().copied()),
                names.collect::<Vec<_>>().join(", "));
        }
        let known: Vec<&str> = baseline.summary.cells.iter().map(|cell| cell.id.as_str()).collect();
        // One name that fits no cell is misspelt, and what it names would never be checked.
        let unused: Vec<&str> = rule.unused(&known).collect();
        if !unused.is_empty() || known.is_empty() {
            fail!(Spec: "{}: `{}` of the rule for `{}` matches no cell of the baseline; the baseline has {}",
                rule.place, unused.join("`, `"), rule.measure, known.join(", "));
        }
        for cell in baseline.summary.cells.iter().filter(|cell| rule.is_for(&cell.id)) {
            let check = RuleCheck { rule, baseline, runs, runner };
            check.cell(cell, &mut gate);
        }
    }
    gate.passed = !gate.checks.is_empty() && gate.checks.iter().all(|check| check.passed);
    Ok(gate)
}

/// One rule with the baseline and the runs that it compares.
struct RuleCheck<'a> {
    rule: &'a Rule,
    baseline: &'a Baseline,
    runs: &'a [Summary],
    runner: Option<&'a str>,
}

impl RuleCheck<'_> {
    fn cell(&self, cell: &CellSummary, gate: &mut Gate) {
        let rule = self.rule;
        // A direction is about better and worse, and nearer to the baseline is better for some cells.
        let is_distance =
            rule.direction != Direction::Both && measured::distance(cell, &rule.measure).is_some();
        let read = |cell: &CellSummary| {
            let distance = measured::distance(cell, &rule.measure).filter(|_| is_distance);
            distance.unwrap_or_else(|| measured::of(cell, &rule.measure))
        };
        let of = |summary: &Summary| summary.cell(&cell.id).map(read);
        let old = read(cell);
        let (measure, direction) = match is_distance {
            true => (format!("|{} minus the baseline cell's|", rule.measure), Direction::LowerIsBetter),
            false => (rule.measure.clone(), rule.direction),
        };
        if let Some(why) = self.why_skipped(&old, &of) {
            let (cell, measure) = (cell.id.clone(), rule.measure.clone());
            gate.skipped.push(Skipped { cell, measure, rule: rule.words(), why });
            return;
        }
        let words = Rule { direction, ..rule.clone() }.words();
        self.push(gate, &cell.id, &measure, words, &old, &of, |new| judge(rule.bound, direction, &old, new));
        if let Some(share) = rule.legs {
            self.legs(cell, share, gate);
        }
    }

    /// Both times of a ratio, since a slower baseline makes every ratio look better.
    fn legs(&self, cell: &CellSummary, share: f64, gate: &mut Gate) {
        let Some(time) = self.rule.ratio_of() else { return };
        let other = cell.baseline.as_ref().filter(|_| !cell.is_baseline());
        let legs = [Some(cell.id.clone()), other.cloned()];
        for id in legs.into_iter().flatten() {
            let of = |summary: &Summary| summary.cell(&id).map(|cell| measured::of(cell, time));
            let Some(old) = of(&self.baseline.summary) else { continue };
            let measure = format!("{} (leg {time} of {id})", self.rule.measure);
            let words = format!("within {} % of the baseline", percent(share));
            let bound = Bound::Relative { tolerance: share };
            self.push(gate, &cell.id, &measure, words, &old, &of, |new| {
                judge(bound, Direction::Both, &old, new)
            });
        }
    }

    /// Why the rule is not checked for a cell.
    fn why_skipped(&self, old: &Reading, of: &impl Fn(&Summary) -> Option<Reading>) -> Option<String> {
        let rule = self.rule;
        if let Some(label) = rule.runner.as_deref() {
            if self.runner != Some(label) {
                let here =
                    self.runner.map_or_else(|| "a machine without a label".to_owned(), |r| format!("`{r}`"));
                return Some(format!("checked on runner `{label}` only; this is {here}"));
            }
            if self.baseline.runner() != Some(label) {
                return Some(format!("the baseline's times were not taken on runner `{label}`"));
            }
        }
        let new = self.runs.first().and_then(of);
        let new = new.as_ref()?;
        if old.value.is_none() && new.value.is_none() {
            return Some(new.why.clone().unwrap_or_else(|| "neither side has a value".to_owned()));
        }
        let few = [(old.n, "the baseline"), (new.n, "the run")].into_iter().filter(|(n, _)| *n < rule.min_n);
        let few: Vec<String> = few.map(|(n, who)| format!("{who} has {n}")).collect();
        (!few.is_empty()).then(|| format!("{} images, the rule asks for {}", few.join(" and "), rule.min_n))
    }

    #[allow(clippy::too_many_arguments)] // What is pushed, of whom, and how it is judged.
    fn push(
        &self,
        gate: &mut Gate,
        cell: &str,
        measure: &str,
        rule: String,
        old: &Reading,
        of: &impl Fn(&Summary) -> Option<Reading>,
        judge: impl Fn(&Reading) -> Result<(), String>,
    ) {
        let judged = |run: &Summary| -> Result<(), String> {
            let Some(new) = of(run) else { return Err("the run has no such cell".to_owned()) };
            match (old.value, new.value) {
                (None, Some(_)) => return Err("the baseline has no value; renew it".to_owned()),
                (Some(_), None) => return Err(new.why.unwrap_or_else(|| "the run has no value".to_owned())),
                _ => {}
            }
            if new.protocol != old.protocol {
                let name = |side: &Reading| side.protocol.clone().unwrap_or_default();
                return Err(format!(
                    "its protocol is {}, the baseline's {}: they cannot be compared",
                    name(&new),
                    name(old)
                ));
            }
            judge(&new)
        };
        let first = self.runs.first().map_or_else(|| Err("there is no run".to_owned()), judged);
        let (passed, why) = match first {
            Ok(()) => (true, None),
            Err(why) => self.confirmed(why, gate, judged),
        };
        gate.checks.push(Check {
            cell: cell.to_owned(),
            measure: measure.to_owned(),
            rule,
            baseline: old.value,
            measured: self.runs.first().and_then(of).and_then(|new| new.value),
            passed,
            why,
        });
    }

    /// A failure counts when it occurs in as many reruns as the rule asks for; without reruns it counts too, and
    /// says how it could be confirmed.
    fn confirmed(
        &self,
        why: String,
        gate: &mut Gate,
        judged: impl Fn(&Summary) -> Result<(), String>,
    ) -> (bool, Option<String>) {
        let asked = self.rule.confirm as usize;
        let reruns = &self.runs[1..];
        if let Some(at) = reruns.iter().take(asked).position(|rerun| judged(rerun).is_ok()) {
            return (true, Some(format!("{why}; it passes in rerun {}, so it does not count", at + 1)));
        }
        if reruns.len() >= asked {
            let back = if asked > 0 {
                format!("; it fails in {} too", counted(asked, "rerun"))
            } else {
                String::new()
            };
            return (false, Some(format!("{why}{back}")));
        }
        gate.reruns_wanted = gate.reruns_wanted.max(self.rule.confirm);
        let open = format!(
            "{why}; not confirmed, so it counts: reruns asked for {asked}, given {}; name their folders or use --rerun",
            reruns.len()
        );
        (false, Some(open))
    }
}

/// `, did you mean NAME?`, if there is one.
fn suggested(nearest: Option<&str>) -> String {
    nearest.map(|name| format!(", did you mean `{name}`?")).unwrap_or_default()
}
