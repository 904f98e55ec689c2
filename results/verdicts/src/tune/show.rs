//! A tuning for people and as CSV.

use specimen_table::{Column, Entry, Section, Table, column_decimals, fixed, with_interval};

use super::{
    trial::{Held, Reading, Standing, Trial},
    tuning::{Tuning, Verdict},
};
use crate::VerdictError;

/// A trial as a row: its rung, if it is none of the confirmation, and what became of it.
struct Row<'t> {
    trial: &'t Trial,
    outcome: String,
    why: Option<&'t str>,
}

impl Tuning {
    /// One block a rung and one for the confirmation, one row a setting.
    #[must_use]
    pub fn table(&self) -> Table {
        let mut table = Table { id: "tuning".to_owned(), head: vec![self.head()], ..Table::default() };
        let (rows, sections) = self.rows();
        table.sections = sections;
        table
            .push(Column::text("setting"), rows.iter().map(|row| Entry::plain(&row.trial.setting)).collect());
        let objectives: Vec<&Reading> = rows.iter().map(|row| &row.trial.objective).collect();
        let column = Column::number(&self.objective, "", Some(self.higher_is_better));
        table.push(column, readings(&objectives).iter().map(|text| Entry::plain(text)).collect());
        for (at, constraint) in self.budget.iter().enumerate() {
            let held: Vec<&Held> = rows.iter().map(|row| &row.trial.budget[at]).collect();
            let texts = bounds(&held);
            table.push(Column::number(constraint, "", None), texts.iter().map(|t| Entry::plain(t)).collect());
        }
        let outcomes: Vec<Entry> = rows
            .iter()
            .map(|row| {
                let mark = row.why.map(|why| table.footnote(why)).unwrap_or_default();
                Entry::plain(&format!("{}{mark}", row.outcome))
            })
            .collect();
        table.push(Column::text("outcome"), outcomes);
        if !self.budget.is_empty() {
            table.legend.push(
                "Of each bound: the value, how far it is inside the bound (negative: outside) with the 95 % interval of \
                 that, and `?` where the interval does not decide."
                    .to_owned(),
            );
        }
        table.legend.push(self.said());
        table
    }

    /// The verdict in a sentence.
    #[must_use]
    pub fn said(&self) -> String {
        let list = |names: &[String]| names.join(", ");
        match &self.verdict {
            None => "No verdict yet: the tuning is not finished.".to_owned(),
            Some(Verdict::Confirmed { setting, undecided }) => {
                let open = match undecided.is_empty() {
                    true => String::new(),
                    false => format!(", though the interval does not decide {}", list(undecided)),
                };
                let method = self.settings.iter().find(|known| known.name == *setting);
                let method = method.map(|known| format!(" It is {}.", known.method)).unwrap_or_default();
                format!(
                    "`{setting}` is the best inside the budget; held-out prompts confirm it{open}.{method}"
                )
            }
            Some(Verdict::NotConfirmed { setting, missed }) => format!(
                "`{setting}` was the best inside the budget, but on held-out prompts it does not meet {}.",
                list(missed)
            ),
            Some(Verdict::NoneMeets { nearest, miss, earlier, open }) => {
                let nearest = match (nearest, miss) {
                    (Some(name), Some(miss)) if *miss > 0.0 => {
                        format!(
                            " The nearest is `{name}`, which misses a bound by {} % of it.",
                            fixed(100.0 * miss, 2)
                        )
                    }
                    (Some(name), _) => format!(" The nearest is `{name}`."),
                    _ => String::new(),
                };
                let earlier = match earlier.is_empty() {
                    true => String::new(),
                    false => format!(" On fewer prompts it was met by {}, which were slower.", list(earlier)),
                };
                let open = match open.is_empty() {
                    true => String::new(),
                    false => format!(" Not judged: {}.", open.join("; ")),
                };
                format!("No setting of the last rung meets the budget.{nearest}{earlier}{open}")
            }
        }
    }

    /// One line a setting, rung and bound, with every number in full.
    ///
    /// # Errors
    /// When the CSV writer refuses a line.
    pub fn csv(&self) -> Result<String, VerdictError> {
        let mut out = csv::Writer::from_writer(Vec::new());
        let failed = |e: csv::Error| VerdictError::Csv { reason: e.to_string() };
        out.write_record([
            "rung",
            "first_prompt",
            "end_prompt",
            "run",
            "setting",
            "place",
            "kept",
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
            "why",
        ])
        .map_err(failed)?;
        let mut put = |start: [String; 7], trial: &Trial, why: &str| {
            let objective = &trial.objective;
            let ends = |ci95: Option<[f64; 2]>| [number(ci95.map(|ci| ci[0])), number(ci95.map(|ci| ci[1]))];
            let value = [self.objective.clone(), number(objective.value)];
            let value: Vec<String> = value.into_iter().chain(ends(objective.ci95)).collect();
            let bounds: Vec<Vec<String>> = trial
                .budget
                .iter()
                .map(|held| {
                    let numbers = [held.reading.value, held.bound, held.slack].map(number);
                    let texts = std::iter::once(held.constraint.clone()).chain(numbers);
                    texts.chain(ends(held.slack_ci95)).collect()
                })
                .collect();
            let bounds = if bounds.is_empty() { vec![vec![String::new(); 6]] } else { bounds };
            bounds.into_iter().try_for_each(|bound| {
                let line = start.iter().chain(&value).cloned().chain(bound).chain([why.to_owned()]);
                out.write_record(line)
            })
        };
        for (at, rung) in self.rungs.iter().enumerate() {
            for placed in &rung.trials {
                let start = [
                    (at + 1).to_string(),
                    rung.prompts[0].to_string(),
                    rung.prompts[1].to_string(),
                    rung.run.clone(),
                    placed.trial.setting.clone(),
                    placed.place.to_string(),
                    placed.kept.to_string(),
                ];
                put(start, &placed.trial, &placed.why).map_err(failed)?;
            }
        }
        if let Some(held_out) = &self.confirmation {
            let start = [
                "held-out".to_owned(),
                held_out.prompts[0].to_string(),
                held_out.prompts[1].to_string(),
                held_out.run.clone(),
                held_out.trial.setting.clone(),
                String::new(),
                String::new(),
            ];
            put(start, &held_out.trial, outcome(held_out.standing)).map_err(failed)?;
        }
        let bytes = out.into_inner().map_err(|e| VerdictError::Csv { reason: e.to_string() })?;
        Ok(String::from_utf8(bytes).expect("only text was written"))
    }

    fn head(&self) -> String {
        let best = if self.higher_is_better { "highest" } else { "lowest" };
        let budget = match self.budget.is_empty() {
            true => String::new(),
            false => format!(" subject to {}", self.budget.join(", ")),
        };
        let n = self.settings.len();
        format!("Tuning of {}: the {best} {} of {n} settings{budget}.", self.name, self.objective)
    }

    fn rows(&self) -> (Vec<Row<'_>>, Vec<Section>) {
        let (mut rows, mut sections) = (Vec::new(), Vec::new());
        for (at, rung) in self.rungs.iter().enumerate() {
            let [from, to] = rung.prompts;
            let title = format!("rung {} of {}: {} prompts", at + 1, self.schedule.n_rungs(), to - from);
            sections.push(Section { first_row: rows.len(), title });
            for placed in &rung.trials {
                let outcome = if placed.kept { "goes on" } else { "dropped" }.to_owned();
                // Places are read off the order, and what is met without being decided off the mark in its column.
                let is_plain = placed.standing == Standing::Meets && placed.trial.objective.value.is_some();
                let why = (!is_plain).then_some(placed.why.as_str());
                rows.push(Row { trial: &placed.trial, outcome, why });
            }
        }
        if let Some(held_out) = &self.confirmation {
            let [from, to] = held_out.prompts;
            let title = format!("held out: {} prompts that no rung had", to - from);
            sections.push(Section { first_row: rows.len(), title });
            let outcome = outcome(held_out.standing).to_owned();
            rows.push(Row { trial: &held_out.trial, outcome, why: None });
        }
        (rows, sections)
    }
}

/// What the held-out prompts say.
fn outcome(standing: Standing) -> &'static str {
    match standing {
        Standing::Meets => "confirmed",
        Standing::Open | Standing::Misses => "not confirmed",
    }
}

fn readings(readings: &[&Reading]) -> Vec<String> {
    let present: Vec<_> = readings.iter().filter_map(|r| Some((r.value?, r.ci95))).collect();
    let decimals = column_decimals(&present);
    let text = |r: &&Reading| match r.value {
        Some(value) => with_interval(value, r.ci95, decimals, true),
        None => "—".to_owned(),
    };
    readings.iter().map(text).collect()
}

/// `3.08, 0.05 [-0.02, 0.12] ?`
fn bounds(held: &[&Held]) -> Vec<String> {
    let present: Vec<_> = held.iter().filter_map(|h| Some((h.slack?, h.slack_ci95))).collect();
    let decimals = column_decimals(&present);
    let text = |h: &&Held| match (h.reading.value, h.slack) {
        (Some(value), Some(slack)) => {
            let mark = if h.is_decided() { "" } else { " ?" };
            format!(
                "{}: {}{mark}",
                fixed(value, decimals),
                with_interval(slack, h.slack_ci95, decimals, true)
            )
        }
        (Some(value), None) => format!("{} ?", fixed(value, decimals)),
        _ => "—".to_owned(),
    };
    held.iter().map(text).collect()
}

fn number(value: Option<f64>) -> String {
    value.map(|value| value.to_string()).unwrap_or_default()
}
