//! The table of a run: one row a cell. It is built once from the data frame and then laid out for
//! Markdown, for a terminal, or as CSV.

use specimen_record::Summary;

use crate::frame::CellFrame;
use crate::measure::Measure;
use crate::number::{column_decimals, fixed, mark, with_interval};
use crate::{ReportError, facts, layout, table_csv as csv_of};

/// A table ready to be laid out.
pub(crate) struct Table {
    /// Lines above.
    pub(crate) head: Vec<String>,
    pub(crate) columns: Vec<TableColumn>,
    pub(crate) rows: Vec<Vec<Entry>>,
    /// Numbered reasons, without their numbers.
    pub(crate) footnotes: Vec<String>,
    /// Lines below.
    pub(crate) legend: Vec<String>,
}

/// Head of a column.
pub(crate) struct TableColumn {
    pub(crate) name: String,
    pub(crate) unit: String,
    /// Which direction is better; empty where neither is.
    pub(crate) arrow: &'static str,
    /// Numbers stand right.
    pub(crate) is_number: bool,
}

/// What stands for the accepted draft tokens of a cell that drafts nothing: as CASCADE prints it. The CSV keeps
/// the count.
const BY_CONVENTION: &str = "1 by convention; it drafts nothing, so the count is 0";

/// One entry.
#[derive(Clone)]
pub(crate) struct Entry {
    pub(crate) text: String,
    pub(crate) is_best: bool,
}

/// The table as Markdown, its columns aligned so that it reads in a terminal too.
///
/// # Errors
/// When the data frame refuses an operation.
pub fn table_markdown(summary: &Summary) -> Result<String, ReportError> {
    Ok(layout::markdown(&Table::of(summary)?))
}

/// The table for a terminal of `width` columns: a table that is too wide is cut into panels that repeat
/// the first column.
///
/// # Errors
/// When the data frame refuses an operation.
pub fn table_text(summary: &Summary, width: usize) -> Result<String, ReportError> {
    Ok(layout::text(&Table::of(summary)?, width))
}

/// The numbers behind the table as CSV: full precision, intervals in columns of their own, reasons for
/// absent values in the last.
///
/// # Errors
/// When the data frame or the CSV writer refuses an operation.
pub fn table_csv(summary: &Summary) -> Result<String, ReportError> {
    csv_of::of(summary)
}

impl Table {
    pub(crate) fn of(summary: &Summary) -> Result<Table, ReportError> {
        let frame = CellFrame::of(summary)?;
        let mut table = Table {
            head: facts::head(summary).iter().map(|line| layout::one_line(line)).collect(),
            columns: Vec::new(),
            rows: vec![Vec::new(); frame.n_rows()],
            footnotes: Vec::new(),
            legend: [facts::legend(summary), facts::comparisons(summary), facts::faults(summary)]
                .iter()
                .flatten()
                .map(|line| layout::one_line(line))
                .collect(),
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
        table.push_counts(&frame)?;
        for measure in &frame.measures {
            table.push_measure(summary, &frame, measure)?;
        }
        if table.rows.iter().flatten().any(|entry| entry.is_best) {
            let bold = "Marked: the best of its kind (model, dataset, baseline, exact or relaxed output), where there are \
                        at least two; the baseline does not compete, and intervals decide whether a lead means anything.";
            table.legend.push(bold.to_owned());
        }
        Ok(table)
    }

    fn push_text(&mut self, name: &str, frame: &CellFrame, column: &str) -> Result<(), ReportError> {
        let entries = texts(frame, column)?.into_iter().map(Entry::plain).collect();
        self.push(
            TableColumn { name: name.to_owned(), unit: String::new(), arrow: "", is_number: false },
            entries,
        );
        Ok(())
    }

    fn push_counts(&mut self, frame: &CellFrame) -> Result<(), ReportError> {
        let mut entries = Vec::new();
        for row in 0..frame.n_rows() {
            let (n, n_failed) = (frame.count("n_images", row)?, frame.count("n_failed", row)?);
            let mark = match n_failed {
                0 => String::new(),
                1 => self.footnote("1 item failed and has no image"),
                more => self.footnote(&format!("{more} items failed and have no image")),
            };
            entries.push(Entry::plain(format!("{n}{mark}")));
        }
        self.push(
            TableColumn { name: "n".to_owned(), unit: "images".to_owned(), arrow: "", is_number: true },
            entries,
        );
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
        let brackets = *measure == Measure::Speedup;
        let mut entries = Vec::new();
        for (row, (cell, value)) in summary.cells.iter().zip(shown).enumerate() {
            let text = match value {
                Some((value, ci95)) => {
                    let drafts_nothing = *measure == Measure::Accepted && cell.drafter == "none";
                    match drafts_nothing {
                        true => format!("{}{}", fixed(1.0, decimals), self.footnote(BY_CONVENTION)),
                        false => with_interval(value, ci95, decimals, brackets),
                    }
                }
                None => {
                    let why = measure.of(cell).why;
                    format!("—{}", self.footnote(why.as_deref().unwrap_or("the summary gives no reason")))
                }
            };
            entries.push(Entry { text, is_best: frame.is_best(measure, row)? });
        }
        let arrow = match measure.higher_is_better() {
            Some(true) => "↑",
            Some(false) => "↓",
            None => "",
        };
        let (name, unit) = (layout::one_line(&measure.name()), layout::one_line(measure.unit()));
        self.push(TableColumn { name, unit, arrow, is_number: true }, entries);
        Ok(())
    }

    fn push(&mut self, column: TableColumn, entries: Vec<Entry>) {
        self.columns.push(column);
        for (row, entry) in self.rows.iter_mut().zip(entries) {
            row.push(entry);
        }
    }

    /// The mark of a reason; a reason given twice has one number.
    fn footnote(&mut self, reason: &str) -> String {
        let reason = &layout::one_line(reason);
        let at = self.footnotes.iter().position(|known| known == reason).unwrap_or_else(|| {
            self.footnotes.push(reason.to_owned());
            self.footnotes.len() - 1
        });
        mark(at)
    }
}

impl Entry {
    fn plain(text: String) -> Entry {
        Entry { text: layout::one_line(&text), is_best: false }
    }
}

fn texts(frame: &CellFrame, column: &str) -> Result<Vec<String>, ReportError> {
    (0..frame.n_rows()).map(|row| frame.text(column, row)).collect()
}
