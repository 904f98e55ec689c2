//! The table of a run: one row a cell, built once from the data frame; `specimen-table` lays it out.

use specimen_record::Summary;
use specimen_table::{Column, Entry, Rank, Table, column_decimals, fixed, ranks, with_interval};

use crate::frame::CellFrame;
use crate::measure::{Measure, NO_REASON};
use crate::standing::{AMONG, gaps, kind};
use crate::{ReportError, facts, table_csv as csv_of};

/// What stands for the accepted draft tokens of a cell that drafts nothing: as CASCADE prints it. The CSV keeps
/// the count.
const BY_CONVENTION: &str = "1 by convention; it drafts nothing, so the count is 0";

/// The table of a run.
///
/// # Errors
/// When the data frame refuses an operation.
pub fn table(summary: &Summary) -> Result<Table, ReportError> {
    Ok(Builder::of(summary)?.table)
}

/// The table as Markdown, its columns aligned so that it reads in a terminal too.
///
/// # Errors
/// When the data frame refuses an operation.
pub fn table_markdown(summary: &Summary) -> Result<String, ReportError> {
    Ok(table(summary)?.markdown())
}

/// The table for a terminal of `width` columns: a table that is too wide is cut into panels that repeat
/// the first column.
///
/// # Errors
/// When the data frame refuses an operation.
pub fn table_text(summary: &Summary, width: usize) -> Result<String, ReportError> {
    Ok(table(summary)?.text(width))
}

/// The numbers behind the table as CSV: full precision, intervals in columns of their own, reasons for
/// absent values in the last.
///
/// # Errors
/// When the data frame or the CSV writer refuses an operation.
pub fn table_csv(summary: &Summary) -> Result<String, ReportError> {
    csv_of::of(summary)
}

/// A table under construction.
struct Builder {
    table: Table,
}

impl Builder {
    fn of(summary: &Summary) -> Result<Builder, ReportError> {
        let frame = CellFrame::of(summary)?;
        let lines = [
            facts::legend(summary),
            facts::further_means(summary),
            facts::comparisons(summary)?,
            facts::faults(summary),
        ];
        let mut table = Builder {
            table: Table {
                id: summary.name.chars().filter(|c| c.is_ascii_alphanumeric() || "-:".contains(*c)).collect(),
                head: facts::head(summary),
                rows: vec![Vec::new(); frame.n_rows()],
                marked: Some(AMONG.to_owned()),
                legend: lines.concat(),
                ..Table::default()
            },
        };
        table.push_text("method", &frame, "cell")?;
        for (name, column) in
            [("model", "model"), ("dataset", "dataset"), ("dtype", "dtype"), ("device", "device")]
        {
            let mut distinct = texts(&frame, column)?;
            distinct.dedup();
            if distinct.len() > 1 {
                table.push_text(name, &frame, column)?;
            }
        }
        table.push_text("output", &frame, "guarantee")?;
        table.push_text("drafter", &frame, "drafter")?;
        table.push_counts(summary, &frame)?;
        for measure in frame.measures.iter().filter(|measure| measure.is_column()) {
            table.push_measure(summary, &frame, measure)?;
        }
        Ok(table)
    }

    fn push_text(&mut self, name: &str, frame: &CellFrame, column: &str) -> Result<(), ReportError> {
        let entries = texts(frame, column)?.iter().map(|text| Entry::plain(text)).collect();
        self.table.push(Column::text(name), entries);
        Ok(())
    }

    fn push_counts(&mut self, summary: &Summary, frame: &CellFrame) -> Result<(), ReportError> {
        let mut entries = Vec::new();
        for (row, cell) in summary.cells.iter().enumerate() {
            let n = frame.count("n_images", row)?;
            let mark = gaps(summary, cell)
                .map(|gaps| self.table.footnote(&format!("{gaps}: the row competes for no mark")));
            entries.push(Entry::plain(&format!("{n}{}", mark.unwrap_or_default())));
        }
        self.table.push(Column::number("n", "images", None), entries);
        Ok(())
    }

    fn push_measure(
        &mut self,
        summary: &Summary,
        frame: &CellFrame,
        measure: &Measure,
    ) -> Result<(), ReportError> {
        let (key, factor) = (measure.key(), measure.shown_per_unit());
        let mut shown = Vec::new();
        for row in 0..frame.n_rows() {
            let number = |suffix: &str| frame.number(&format!("{key}{suffix}"), row);
            let ci95 = number("_lo")?.zip(number("_hi")?).map(|(lo, hi)| [lo * factor, hi * factor]);
            shown.push(number("")?.map(|value| (value * factor, ci95)));
        }
        let present: Vec<_> = shown.iter().flatten().copied().collect();
        let decimals = measure.decimals().unwrap_or_else(|| column_decimals(&present));
        let brackets = matches!(measure, Measure::Speedup | Measure::SpeedupE2e);
        let competing = summary.cells.iter().map(|cell| kind(summary, cell, measure));
        let values = shown.iter().map(|shown| shown.map(|(value, _)| value));
        let rivals: Vec<_> = competing.zip(values).map(|(kind, value)| kind.zip(value)).collect();
        let places = match measure.higher_is_better() {
            Some(higher) => ranks(&rivals, higher),
            None => vec![Rank::None; rivals.len()],
        };
        let mut entries = Vec::new();
        for ((cell, value), rank) in summary.cells.iter().zip(shown).zip(places) {
            let text = match value {
                Some((value, ci95)) => {
                    let drafts_nothing = *measure == Measure::Accepted && cell.drafter == "none";
                    match drafts_nothing {
                        true => format!("{}{}", fixed(1.0, decimals), self.table.footnote(BY_CONVENTION)),
                        false => with_interval(value, ci95, decimals, brackets),
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

fn texts(frame: &CellFrame, column: &str) -> Result<Vec<String>, ReportError> {
    (0..frame.n_rows()).map(|row| frame.text(column, row)).collect()
}
