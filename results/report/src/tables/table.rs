//! The table of a run: one row a cell, built once from the data frame; `crate::table` lays it out.

use specimen_foundation::names::known_names;
use specimen_record::Summary;

use crate::ReportError;
use crate::table::{Column, Entry, Rank, Table, column_decimals, fixed, ranks, with_interval};
use crate::tables::frame::CellFrame;
use crate::tables::measure::{Measure, NO_REASON};
use crate::tables::ranking::{RANKED_AMONG, missing_items, ranking_group};
use crate::tables::{conditions, differences, legend, table_csv as csv_of};

/// The table of a run.
pub fn table(summary: &Summary) -> Result<Table, ReportError> {
    table_of(summary, &[])
}

/// The table with the methods and these columns, in their order; with all where none is named. A column is named by its
/// head or by its name in the CSV, in letters of either case.
pub fn table_of(summary: &Summary, columns: &[String]) -> Result<Table, ReportError> {
    Builder::of(summary, columns)?.chosen()
}

/// The numbers behind the table as CSV: full precision, intervals in columns of their own, reasons for
/// absent values in the last.
pub fn table_csv(summary: &Summary) -> Result<String, ReportError> {
    csv_of::of(summary)
}

/// A table under construction.
struct Builder<'c> {
    table: Table,
    /// Names of the columns that are wanted; all where there is none.
    wanted: &'c [String],
    /// Place among those wanted of every column after the first.
    places: Vec<usize>,
    /// Heads of all columns, and their names in the CSV.
    known: Vec<(String, String)>,
    /// Those of columns in which a value has an interval.
    intervals: Vec<(String, String)>,
}

impl<'c> Builder<'c> {
    fn of(summary: &Summary, wanted: &'c [String]) -> Result<Builder<'c>, ReportError> {
        let frame = CellFrame::of(summary)?;
        let is_named =
            |measure: &Measure| wanted.iter().any(|name| is_name(name, &measure.name(), &measure.key()));
        let is_shown = |measure: &&Measure| match wanted.is_empty() {
            true => measure.is_column(),
            false => is_named(measure),
        };
        let shown: Vec<Measure> = frame.measures.iter().filter(is_shown).cloned().collect();
        let has_metric = |name: &str| {
            shown.iter().any(|measure| {
                matches!(measure, Measure::Metric { metric, .. } | Measure::Distance { metric, .. } if metric == name)
            })
        };
        let lines = [
            legend::legend(summary, &shown),
            legend::further_means(summary, &shown),
            differences::comparisons(summary, has_metric)?,
            legend::faults(summary),
        ];
        let mut table = Builder {
            table: Table {
                id: summary.name.chars().filter(|c| c.is_ascii_alphanumeric() || "-:".contains(*c)).collect(),
                head: conditions::head(summary),
                rows: vec![Vec::new(); frame.n_rows()],
                marked: Some(RANKED_AMONG.to_owned()),
                legend: lines.concat(),
                ..Table::default()
            },
            wanted,
            places: Vec::new(),
            known: Vec::new(),
            intervals: Vec::new(),
        };
        let methods = texts(&frame, "cell")?.iter().map(|text| Entry::plain(text)).collect();
        table.table.push(Column::text("method"), methods);
        for (name, column) in
            [("model", "model"), ("dataset", "dataset"), ("dtype", "dtype"), ("device", "device")]
        {
            let mut distinct = texts(&frame, column)?;
            distinct.dedup();
            if distinct.len() > 1 {
                table.push_text(name, &frame, column)?;
            }
        }
        if conditions::baselines(summary).len() > 1 {
            table.push_text("baseline", &frame, "baseline_cell")?;
        }
        table.push_text("output", &frame, "guarantee")?;
        table.push_text("drafter", &frame, "drafter")?;
        table.push_counts(summary, &frame)?;
        // Shown where it is asked for: the mark of `n` says it otherwise.
        if !wanted.is_empty() {
            table.push_failed(summary);
        }
        for measure in &frame.measures {
            let low = format!("{}_lo", measure.key());
            for row in 0..frame.n_rows() {
                if frame.number(&low, row)?.is_some() {
                    table.intervals.push((measure.name(), measure.key()));
                    break;
                }
            }
            if measure.is_column() || !wanted.is_empty() {
                table.push_measure(summary, &frame, measure)?;
            }
        }
        Ok(table)
    }

    /// Whether a column of this head, and of this name in the CSV, is to be shown; its place is kept.
    fn wants(&mut self, head: &str, key: &str) -> bool {
        self.known.push((head.to_owned(), key.to_owned()));
        let place = match self.wanted.is_empty() {
            true => Some(self.places.len()),
            false => self.wanted.iter().position(|wanted| is_name(wanted, head, key)),
        };
        self.places.extend(place);
        place.is_some()
    }

    /// The table with its columns in the order asked for.
    fn chosen(mut self) -> Result<Table, ReportError> {
        // A column that is named twice is shown once, where it is named first.
        let missing =
            |at: &usize| !self.known.iter().any(|(head, key)| is_name(&self.wanted[*at], head, key));
        if let Some(at) = (0..self.wanted.len()).find(missing) {
            // The methods are always there.
            if !self.wanted[at].eq_ignore_ascii_case("method") {
                let name = self.wanted[at].clone();
                let lower = name.to_lowercase();
                let of_interval = lower.strip_suffix("_lo").or_else(|| lower.strip_suffix("_hi"));
                let has_one = |end: &&str| self.intervals.iter().any(|(head, key)| is_name(end, head, key));
                let known = match of_interval.filter(has_one) {
                    Some(value) => format!("the interval in the column `{value}`"),
                    None => known_names(&name, self.known.iter().map(|(head, _)| head.as_str())),
                };
                return Err(crate::error::no_column(name, known));
            }
        }
        let mut order: Vec<usize> = (0..self.places.len()).collect();
        order.sort_by_key(|&at| self.places[at]);
        let order: Vec<usize> = std::iter::once(0).chain(order.iter().map(|at| at + 1)).collect();
        self.table.columns = order.iter().map(|&at| self.table.columns[at].clone()).collect();
        for row in &mut self.table.rows {
            *row = order.iter().map(|&at| row[at].clone()).collect();
        }
        Ok(self.table)
    }

    fn push_text(&mut self, name: &str, frame: &CellFrame, column: &str) -> Result<(), ReportError> {
        if !self.wants(name, column) {
            return Ok(());
        }
        let entries = texts(frame, column)?.iter().map(|text| Entry::plain(text)).collect();
        self.table.push(Column::text(name), entries);
        Ok(())
    }

    fn push_counts(&mut self, summary: &Summary, frame: &CellFrame) -> Result<(), ReportError> {
        if !self.wants("n", "n_images") {
            return Ok(());
        }
        let mut entries = Vec::new();
        for (row, cell) in summary.cells.iter().enumerate() {
            let n = frame.count("n_images", row)?;
            let mark = missing_items(summary, cell)
                .map(|missing_items| self.table.footnote(&format!("{missing_items}: the row is not ranked")));
            entries.push(Entry::plain(&format!("{n}{}", mark.unwrap_or_default())));
        }
        self.table.push(Column::number("n", "images", None), entries);
        Ok(())
    }

    fn push_failed(&mut self, summary: &Summary) {
        if self.wants("failed", "n_failed") {
            let entries = summary.cells.iter().map(|cell| Entry::plain(&cell.n_failed.to_string()));
            self.table.push(Column::number("failed", "items", None), entries.collect());
        }
    }

    fn push_measure(
        &mut self,
        summary: &Summary,
        frame: &CellFrame,
        measure: &Measure,
    ) -> Result<(), ReportError> {
        let (key, factor) = (measure.key(), measure.shown_per_unit());
        if !self.wants(&measure.name(), &key) {
            return Ok(());
        }
        let mut shown = Vec::new();
        for row in 0..frame.n_rows() {
            let number = |suffix: &str| frame.number(&format!("{key}{suffix}"), row);
            let ci95 = number("_lo")?.zip(number("_hi")?).map(|(lo, hi)| [lo * factor, hi * factor]);
            shown.push(number("")?.map(|value| (value * factor, ci95)));
        }
        let present: Vec<_> = shown.iter().flatten().copied().collect();
        let decimals = measure.decimals().unwrap_or_else(|| column_decimals(&present));
        let brackets = measure.is_ratio();
        let competing = summary.cells.iter().map(|cell| ranking_group(summary, cell, measure));
        let values = shown.iter().map(|shown| shown.map(|(value, _)| value));
        let rivals: Vec<_> =
            competing.zip(values).map(|(ranking_group, value)| ranking_group.zip(value)).collect();
        let places = match measure.higher_is_better() {
            Some(higher) => ranks(&rivals, higher),
            None => vec![Rank::None; rivals.len()],
        };
        let mut entries = Vec::new();
        for ((cell, value), rank) in summary.cells.iter().zip(shown).zip(places) {
            let text = match value {
                Some((value, ci95)) => {
                    // The CSV keeps the count.
                    match cell.accepted_in_tables() {
                        (Some(shown), Some(why)) if measure.of_cell() == "accepted_per_step" => {
                            format!("{}{}", fixed(shown, decimals), self.table.footnote(why))
                        }
                        _ => {
                            let why = measure.of(cell).why;
                            let mark = why.map_or_else(String::new, |why| self.table.footnote(&why));
                            format!("{}{mark}", with_interval(value, ci95, decimals, brackets))
                        }
                    }
                }
                None => {
                    let why = measure.of(cell).why;
                    format!("—{}", self.table.footnote(why.as_deref().unwrap_or(NO_REASON)))
                }
            };
            entries.push(Entry { text, rank });
        }
        self.table.push(Column::number(&measure.name(), measure.unit(), measure.higher_is_better()), entries);
        Ok(())
    }
}

/// Whether this is what a column of that head, and of that name in the CSV, is asked for by.
fn is_name(wanted: &str, head: &str, key: &str) -> bool {
    wanted.eq_ignore_ascii_case(head) || wanted.eq_ignore_ascii_case(key)
}

fn texts(frame: &CellFrame, column: &str) -> Result<Vec<String>, ReportError> {
    (0..frame.n_rows()).map(|row| frame.text(column, row)).collect()
}
