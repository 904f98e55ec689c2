//! A tuning for people and as CSV.

use super::{
    bound::{BoundCheck, Reading},
    sample::ALONE,
    trial::{Standing, Trial},
    tuning::Tuning,
};
use crate::{
    table::Column, table::Entry, table::Table, table::column_decimals, table::deciding_interval,
    table::fixed, table::plain, table::with_interval,
};
use anyhow::anyhow;

/// Prompts beyond which nobody is advised to decide a bound: the value is on it, and another setting is the better use of the
/// time.
pub(super) const MOST_ADVISED: u64 = 1000;
/// Undecided bounds in the sentence, at most; all of them are in the CSV.
const MOST_NAMED: usize = 4;

impl Tuning {
    /// One row a setting.
    pub fn table(&self) -> Table {
        let mut table =
            Table { id: "tuning".to_owned(), head: vec![self.head(), self.said()], ..Table::default() };
        let entries = |of: &dyn Fn(&Trial) -> String| -> Vec<Entry> {
            self.settings.iter().map(|trial| Entry::plain(&of(trial))).collect()
        };
        table.push(Column::text("setting"), entries(&|trial| trial.setting.clone()));
        let objectives: Vec<&Reading> = self.settings.iter().map(|trial| &trial.objective).collect();
        let column = Column::number(&self.objective_name(), "", Some(self.higher_is_better));
        let texts = readings(&objectives, &mut table);
        table.push(column, texts);
        for (at, constraint) in self.budget.iter().enumerate() {
            let held: Vec<&BoundCheck> = self.settings.iter().map(|trial| &trial.budget[at]).collect();
            let texts = bounds(&held, &mut table);
            table.push(Column::number(constraint, "", None), texts);
        }
        if !self.budget.is_empty() {
            table.push(Column::text("bounds"), entries(&|trial| trial.standing.words().to_owned()));
        }
        table.legend.extend(self.legend());
        table
    }

    /// What marks mean.
    fn legend(&self) -> Vec<String> {
        let all = || self.settings.iter();
        let mut lines = Vec::new();
        if !self.budget.is_empty() {
            let together = match self.budget.len() {
                1 => String::new(),
                _ => format!(" The bounds of a setting have {} % together.", fixed(100.0 * ALONE, 0)),
            };
            let exact = match all().any(|trial| trial.budget.iter().any(|held| held.is_by_construction)) {
                true => {
                    " `exact`: the method samples from the target's distribution, so its margin is that of the baseline, whatever \
                     its own images have."
                }
                false => "",
            };
            lines.push(format!(
                "Of each bound: the value, and how far it is inside (negative: outside) with its {} % interval; `?`: the interval \
                 does not decide.{together}{exact}",
                fixed(100.0 * self.confidence, 2),
            ));
        }
        if self.is_distance && all().any(|trial| trial.objective.ci95 == Some([0.0; 2])) {
            lines.push(format!(
                "{}: 0 of an exact method, whose distribution is the baseline's, whatever its own images have.",
                self.objective_name()
            ));
        }
        lines
    }

    /// The answer, in sentences.
    pub fn said(&self) -> String {
        let rivals: Vec<String> = self.rivals().flat_map(|trial| self.open_bounds(trial)).collect();
        let n_more = rivals.len().saturating_sub(MOST_NAMED);
        let mut named = rivals.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join("; ");
        if n_more > 0 {
            named.push_str(&format!("; and {n_more} more (tune.csv)"));
        }
        let first = self.settings.first();
        let (answer, open) = match (first, &self.best) {
            (Some(best), Some(name)) => {
                let value = best.objective.value.unwrap_or_default();
                let text = with_interval(
                    value,
                    best.objective.ci95,
                    column_decimals(&[(value, best.objective.ci95)]),
                    true,
                );
                let slow = match self.objective.starts_with("speedup") && value < 1.0 {
                    true => " Its baseline is faster.",
                    false => "",
                };
                let among = "It was chosen by these prompts: where much depends on it, run it on others.";
                let method = match best.method.starts_with("external") {
                    true => format!(" ({})", best.method),
                    false => String::new(),
                };
                let best = format!("Best: `{name}`{method}, {} {text}.{slow} {among}", self.objective_name());
                (best, "Not decided, and would be better: ")
            }
            (Some(nearest), None) if nearest.standing == Standing::Misses => (
                format!(
                    "No setting meets the bounds. The nearest is `{}`: {}.",
                    nearest.setting,
                    misses(nearest)
                ),
                "",
            ),
            (Some(only), None) if only.standing == Standing::Meets => {
                let why = only.objective.why.as_deref().unwrap_or("the run gives no reason");
                (
                    format!("No setting that meets the bounds has a value of {}: {why}.", self.objective),
                    "Not decided: ",
                )
            }
            _ => ("No setting meets the bounds for certain.".to_owned(), "Not decided: "),
        };
        if named.is_empty() { answer } else { format!("{answer} {open}{named}.") }
    }

    /// The bounds of a setting that are not decided, with what would decide them.
    fn open_bounds(&self, trial: &Trial) -> Vec<String> {
        let open = trial.budget.iter().filter(|held| !held.is_decided());
        let text = |held: &BoundCheck| {
            let decide = match (held.prompts_to_decide, self.n_available) {
                (Some(n), _) if n > MOST_ADVISED => {
                    format!("so near that more than {MOST_ADVISED} prompts would decide it")
                }
                (Some(n), Some(all)) if n > all as u64 => {
                    format!("about {n} prompts would decide it, and the dataset has {all}")
                }
                (Some(n), _) => format!("about {n} prompts would decide it: --limit {n}"),
                (None, _) => {
                    held.reading.why.clone().unwrap_or_else(|| "what would decide it is not known".to_owned())
                }
            };
            format!("`{}` {} ({decide})", trial.setting, held.constraint)
        };
        open.map(text).collect()
    }

    /// One line a setting and bound, with every number in full.
    pub fn csv(&self) -> anyhow::Result<String> {
        let mut out = csv::Writer::from_writer(Vec::new());
        let failed = |e: csv::Error| anyhow!("the trace cannot be written as CSV: {e}");
        let heads = [
            "setting",
            "standing",
            "objective",
            "value",
            "low",
            "high",
            "constraint",
            "measured",
            "bound",
            "slack",
            "slack_low",
            "slack_high",
            "prompts_to_decide",
            "why",
        ];
        out.write_record(heads).map_err(failed)?;
        let ends = |ci95: Option<[f64; 2]>| [0, 1].map(|at| number(ci95.map(|ci| ci[at])));
        for trial in &self.settings {
            let names = [trial.setting.clone(), trial.standing.words().to_owned(), self.objective.clone()];
            let start = [&names[..], &[number(trial.objective.value)], &ends(trial.objective.ci95)].concat();
            let bounds: Vec<Vec<String>> = trial
                .budget
                .iter()
                .map(|held| {
                    let numbers = [held.reading.value, held.bound, held.slack].map(number);
                    let needed = held.prompts_to_decide.map(|n| n.to_string()).unwrap_or_default();
                    let why = held.reading.why.clone().unwrap_or_default();
                    [&[held.constraint.clone()][..], &numbers, &ends(held.slack_interval), &[needed, why]]
                        .concat()
                })
                .collect();
            let bounds = if bounds.is_empty() { vec![vec![String::new(); 8]] } else { bounds };
            for bound in bounds {
                out.write_record(start.iter().chain(&bound)).map_err(failed)?;
            }
        }
        let bytes = out.into_inner().map_err(|e| anyhow!("the trace cannot be written as CSV: {e}"))?;
        Ok(String::from_utf8(bytes).expect("only text was written"))
    }

    fn head(&self) -> String {
        let best = if self.higher_is_better { "highest" } else { "lowest" };
        let budget = match self.budget.is_empty() {
            true => String::new(),
            false => format!(" subject to {}", self.budget.join(", ")),
        };
        let n = self.settings.len();
        format!("Tuning of {}: the {best} {} of {n} settings{budget}.", self.name, self.objective_name())
    }

    /// The objective as tables name it: a distance from the baseline's value is called one.
    fn objective_name(&self) -> String {
        if self.is_distance { format!("abs. Δ {}", self.objective) } else { self.objective.clone() }
    }
}

/// The bounds that a setting misses for certain: `nfe<=100 by 5.9 [4.1, 7.6]`.
fn misses(trial: &Trial) -> String {
    let missed = trial.budget.iter().filter_map(|held| {
        let (slack, interval) = (held.slack.filter(|slack| *slack < 0.0)?, held.slack_interval);
        let turned = interval.map(|[low, high]| [-high, -low]);
        let by = deciding_interval(-slack, turned, &[0.0], column_decimals(&[(-slack, turned)]));
        let whose =
            if held.is_by_construction { " as the baseline does, whose distribution it has" } else { "" };
        let open = if held.is_decided() { "" } else { " (not decided)" };
        Some(format!("misses {} by {by}{whose}{open}", held.constraint))
    });
    missed.collect::<Vec<_>>().join(", ")
}

fn readings(readings: &[&Reading], table: &mut Table) -> Vec<Entry> {
    // Settings of other programs can be far from the others: each row has the digits that its own interval gives.
    let mut text = |r: &&Reading| match r.value {
        Some(value) => with_interval(value, r.ci95, column_decimals(&[(value, r.ci95)]), true),
        None => absent(r, table),
    };
    readings.iter().map(|reading| Entry::plain(&text(reading))).collect()
}

/// `3.08: 0.05 [-0.02, 0.12] ?`
fn bounds(held: &[&BoundCheck], table: &mut Table) -> Vec<Entry> {
    let present: Vec<_> = held.iter().filter_map(|h| Some((h.slack?, h.slack_interval))).collect();
    let decimals = column_decimals(&present);
    let mut text = |h: &&BoundCheck| {
        let value = match h.reading.value {
            Some(value) => fixed(value, decimals),
            None => absent(&h.reading, table),
        };
        match h.slack {
            Some(slack) if h.is_by_construction && h.slack_interval == Some([slack; 2]) => {
                format!("{value}: {} exact", plain(slack))
            }
            Some(slack) => {
                let mark = match (h.is_by_construction, h.is_decided()) {
                    (true, true) => " exact",
                    (true, false) => " exact ?",
                    (false, true) => "",
                    (false, false) => " ?",
                };
                // 0.00 would not show on which side of the bound it is.
                let slack = deciding_interval(slack, h.slack_interval, &[0.0], decimals);
                format!("{value}: {slack}{mark}")
            }
            None => format!("{value} ?"),
        }
    };
    held.iter().map(|held| Entry::plain(&text(held))).collect()
}

/// A dash with the reason in a footnote, which equal reasons share.
fn absent(reading: &Reading, table: &mut Table) -> String {
    format!("—{}", table.footnote(reading.why.as_deref().unwrap_or("the run gives no reason")))
}

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
