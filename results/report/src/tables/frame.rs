//! The cells of a summary as a polars data frame: one row a cell, typed columns. The table and the CSV are both read
//! from it.

use polars::prelude::*;
use specimen_record::{CellSummary, Guarantee, Summary};

use crate::ReportError;
use crate::tables::measure::{Measure, measures};

/// The frame and what its columns of numbers mean.
pub(crate) struct CellFrame {
    pub(crate) frame: DataFrame,
    pub(crate) measures: Vec<Measure>,
}

/// Columns that are text, with their meaning.
pub(crate) const TEXTS: [(&str, &str); 9] = [
    ("cell", "the cell"),
    ("model", "the target"),
    ("dataset", "the dataset of the prompts"),
    ("dtype", "element type of the weights"),
    ("device", "`cpu` or `cuda:N`"),
    ("drafter", "what drafts, in words"),
    ("method", "rules and a schedule that skips, in words"),
    ("guarantee", "`exact`, `relaxed`, or `not known` for another program's images"),
    ("baseline_cell", "the cell that it is compared with"),
];

/// Columns that are counts, with their meaning.
pub(crate) const COUNTS: [(&str, &str); 2] = [("n_images", "images made"), ("n_failed", "items that failed")];

impl CellFrame {
    /// One row a cell, in the summary's order.
    pub(crate) fn of(summary: &Summary) -> Result<CellFrame, ReportError> {
        let cells = &summary.cells;
        let text = |name: &str, of: &dyn Fn(&CellSummary) -> String| {
            Column::new(name.into(), cells.iter().map(of).collect::<Vec<_>>())
        };
        let count = |name: &str, of: &dyn Fn(&CellSummary) -> u64| {
            Column::new(name.into(), cells.iter().map(of).collect::<Vec<_>>())
        };
        let mut columns = vec![
            text("cell", &|c| c.id.clone()),
            text("model", &|c| c.model.clone()),
            text("dataset", &|c| c.dataset.clone()),
            text("dtype", &|c| c.dtype.clone()),
            text("device", &|c| c.device.clone()),
            text("drafter", &|c| c.drafter.clone()),
            text("method", &|c| c.method.clone()),
            text("guarantee", &|c| guarantee(c.guarantee).to_owned()),
            count("n_images", &|c| c.n_images),
            count("n_failed", &|c| c.n_failed),
            Column::new("baseline".into(), cells.iter().map(CellSummary::is_baseline).collect::<Vec<_>>()),
            text("baseline_cell", &|c| c.baseline.clone().unwrap_or_default()),
        ];
        let measures = measures(summary);
        for measure in &measures {
            let quantities: Vec<_> = cells.iter().map(|c| measure.of(c)).collect();
            let numbers = |suffix: &str, values: Vec<Option<f64>>| {
                Column::new(format!("{}{suffix}", measure.key()).into(), values)
            };
            columns.push(numbers("", quantities.iter().map(|q| q.value).collect()));
            columns.push(numbers("_lo", quantities.iter().map(|q| q.ci95.map(|ci| ci[0])).collect()));
            columns.push(numbers("_hi", quantities.iter().map(|q| q.ci95.map(|ci| ci[1])).collect()));
        }
        Ok(CellFrame { frame: DataFrame::new(cells.len(), columns)?, measures })
    }

    /// Number of cells.
    pub(crate) fn n_rows(&self) -> usize {
        self.frame.height()
    }

    /// A text column's entry.
    pub(crate) fn text(&self, column: &str, row: usize) -> Result<String, ReportError> {
        Ok(self.frame.column(column)?.str()?.get(row).unwrap_or_default().to_owned())
    }

    /// A count column's entry.
    pub(crate) fn count(&self, column: &str, row: usize) -> Result<u64, ReportError> {
        Ok(self.frame.column(column)?.u64()?.get(row).unwrap_or_default())
    }

    /// A number column's entry; `None` where the summary has null.
    pub(crate) fn number(&self, column: &str, row: usize) -> Result<Option<f64>, ReportError> {
        Ok(self.frame.column(column)?.f64()?.get(row))
    }
}

/// How a promise is written.
pub(crate) fn guarantee(guarantee: Guarantee) -> &'static str {
    match guarantee {
        Guarantee::Exact => "exact",
        Guarantee::Relaxed => "relaxed",
        Guarantee::Unknown => "not known",
    }
}
