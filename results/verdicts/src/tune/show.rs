//! A tuning for people and as CSV.

use specimen_table::{
    Column, Entry, Section, Table, column_decimals, deciding_interval, fixed, plain, with_interval,
};

use super::{
    bound::{BoundCheck, BudgetStatus, Reading},
    sample::ALONE,
    trial::Trial,
    tuning::Tuning,
};
use crate::VerdictError;

/// A trial as a row, and its result.
struct Row<'t> {
    trial: &'t Trial,
    outcome: &'static str,
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
        let column = Column::number(&self.objective_name(), "", Some(self.higher_is_better));
        let texts = readings(&objectives, &mut table);
        table.push(column, texts);
        for (at, constraint) in self.budget.iter().enumerate() {
            let held: Vec<&BoundCheck> = rows.iter().map(|row| &row.trial.budget[at]).collect();
            let texts = bounds(&held, &mut table);
            table.push(Column::number(constraint, "", None), texts);
        }
        let outcomes = rows.iter().map(|row| Entry::plain(row.outcome)).collect();
        table.push(Column::text("outcome"), outcomes);
        table.legend.extend(self.legend());
        table.legend.push(self.cost());
        table.legend.push(self.said());
        table
    }

    /// What marks and words mean, once for the whole table.
    fn legend(&self) -> Vec<String> {
        let dropped = format!(
            "dropped, worse: the best of those that meet every bound for certain has a better objective for certain, by the {} % \
             interval of their difference, prompt by prompt.",
            fixed(100.0 * self.confidence, 2)
        );
        let is_zero = |trial: &Trial| trial.objective.ci95 == Some([0.0; 2]);
        let distance = match self.is_distance && self.trials().any(is_zero) {
            true => vec![format!(
                "{}: 0 of an exact method, whose distribution is the baseline's, whatever its own images have.",
                self.objective_name()
            )],
            false => Vec::new(),
        };
        if self.budget.is_empty() {
            return [vec![dropped.replacen('d', "D", 1)], distance].concat();
        }
        let has_exact = self.trials().any(|trial| trial.budget.iter().any(|held| held.is_by_construction));
        let exact = match has_exact {
            true => {
                " `exact`: the method samples from the target's distribution, so its margin is that of the baseline, whatever its \
                 own images have, and no bound of quality drops it."
            }
            false => "",
        };
        let lines = vec![
            format!(
                "Of each bound: the value, how far it is inside the bound (negative: outside) with the interval of that, and \
                 `?` where the interval does not decide.{exact} Dropped, misses: a bound is missed for certain; {dropped} \
                 Undecided settings continue."
            ),
            format!(
                "A rung judges by all prompts so far. The intervals of bounds have {} % each, so that all decisions \
                 about one setting have {} % together; the intervals of the objective, as shown, and of held-out prompts have 95 %.",
                fixed(100.0 * self.confidence, 2),
                fixed(100.0 * ALONE, 0),
            ),
        ];
        [lines, distance].concat()
    }

    fn trials(&self) -> impl Iterator<Item = &Trial> {
        let of_rungs = self.rungs.iter().flat_map(|rung| &rung.trials).map(|placed| &placed.trial);
        of_rungs.chain(self.confirmation.as_ref().map(|confirmation| &confirmation.trial))
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
            "fate",
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
                    let needed = held.prompts_to_decide.map(|n| n.to_string()).unwrap_or_default();
                    texts.chain(ends(held.slack_interval)).chain([needed]).collect()
                })
                .collect();
            let bounds = if bounds.is_empty() { vec![vec![String::new(); 7]] } else { bounds };
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
                    placed.fate.words().to_owned(),
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
        format!("Tuning of {}: the {best} {} of {n} settings{budget}.", self.name, self.objective_name())
    }

    /// The objective as tables name it: a distance from the baseline's value is called one.
    fn objective_name(&self) -> String {
        if self.is_distance { format!("abs. Δ {}", self.objective) } else { self.objective.clone() }
    }

    fn rows(&self) -> (Vec<Row<'_>>, Vec<Section>) {
        let (mut rows, mut sections) = (Vec::new(), Vec::new());
        for (at, rung) in self.rungs.iter().enumerate() {
            let [from, to] = rung.prompts;
            let new = if from == 0 { String::new() } else { format!(", {} of them new", to - from) };
            let title = format!("rung {} of {}: {to} prompts{new}", at + 1, self.schedule.n_rungs());
            sections.push(Section { first_row: rows.len(), title });
            rows.extend(
                rung.trials.iter().map(|placed| Row { trial: &placed.trial, outcome: placed.fate.words() }),
            );
        }
        if let Some(held_out) = &self.confirmation {
            let [from, to] = held_out.prompts;
            let title = format!("held out: {} prompts of no rung", to - from);
            sections.push(Section { first_row: rows.len(), title });
            rows.push(Row { trial: &held_out.trial, outcome: outcome(held_out.standing) });
        }
        (rows, sections)
    }
}

/// The verdict of the held-out prompts.
fn outcome(standing: BudgetStatus) -> &'static str {
    match standing {
        BudgetStatus::Meets => "confirmed",
        BudgetStatus::Open | BudgetStatus::Misses => "not confirmed",
    }
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
