//! The data frame as CSV: every number as the summary holds it, empty where it holds null.

use specimen_experiments::measures::{MEASURES, Shown};
use specimen_foundation::text::csv_field;
use specimen_record::Summary;

use crate::ReportError;
use crate::table::CsvText;
use crate::tables::frame::{COUNTS, CellFrame, TEXTS};

/// The CSV of a summary, with a head line.
pub(crate) fn of(summary: &Summary) -> Result<String, ReportError> {
    let frame = CellFrame::of(summary)?;
    let number_columns: Vec<String> = frame
        .measures
        .iter()
        .flat_map(|m| ["", "_lo", "_hi"].map(|suffix| format!("{}{suffix}", m.key())))
        .filter(|name| !is_empty_interval(&frame, name))
        .collect();
    let mut out = CsvText::new();
    let head = TEXTS.iter().chain(&COUNTS).map(|(name, _)| (*name).to_owned());
    let head = head.chain(number_columns.iter().map(|name| csv_field(name)));
    out.write_record(head.chain(["why".to_owned()]))?;
    for (row, cell) in summary.cells.iter().enumerate() {
        let mut line = Vec::new();
        for (name, _) in TEXTS {
            line.push(csv_field(&frame.text(name, row)?));
        }
        for (name, _) in COUNTS {
            line.push(frame.count(name, row)?.to_string());
        }
        for name in &number_columns {
            line.push(frame.number(name, row)?.map(|value| value.to_string()).unwrap_or_default());
        }
        let reasons =
            frame.measures.iter().filter_map(|m| m.of(cell).why.map(|why| format!("{}: {why}", m.key())));
        line.push(csv_field(&reasons.collect::<Vec<_>>().join("; ")));
        out.write_record(&line)?;
    }
    Ok(out.into_text())
}

/// The columns that the CSV of a run may have, in order: name, unit, meaning. A measure has its interval in `_lo` and
/// `_hi`; metrics follow under their own names.
pub fn table_columns() -> Vec<(String, String, &'static str)> {
    let texts = TEXTS.iter().chain(&COUNTS).map(|(name, what)| ((*name).to_owned(), String::new(), *what));
    let measures =
        // Tables for people show percents, the CSV has the shares.
        MEASURES.iter().filter(|measure| measure.shown != Shown::Summary).map(|measure| {
            (measure.column.clone(), measure.unit.replacen("% of", "share of", 1), measure.what.as_str())
        });
    texts
        .chain(measures)
        .chain([("why".to_owned(), String::new(), "why values or intervals are missing")])
        .collect()
}

/// Intervals that no cell has get no column.
fn is_empty_interval(frame: &CellFrame, name: &str) -> bool {
    let is_bound = name.ends_with("_lo") || name.ends_with("_hi");
    is_bound && frame.frame.column(name).is_ok_and(|column| column.null_count() == frame.n_rows())
}
