//! The `[[expect]]` rows of a spec that a run does not meet.

use specimen_experiments::expect::{Expectation, Tolerance};
use specimen_record::{CellSummary, Summary};

/// A warning for each of `expected` whose value is missed or was not measured.
pub(crate) fn missed(expected: &[Expectation], summary: &Summary) -> Vec<String> {
    let warning = |row: &Expectation| {
        let cell = summary.cells.iter().find(|cell| cell.id == row.cell);
        let measured = cell.and_then(|cell| measured(cell, &row.measure));
        let Expectation { cell, measure, value, tolerance, source } = row;
        let bound = match tolerance {
            Tolerance::Absolute(bound) => format!("within {bound}"),
            Tolerance::Relative(share) => format!("within {} %", share * 100.0),
        };
        match measured {
            Some(measured) if row.is_met_by(measured) => None,
            Some(measured) => {
                Some(format!("{cell}: {measure} is {measured:.4}, expected {value} {bound} ({source})"))
            }
            None => Some(format!("{cell}: {measure} was not measured, expected {value} {bound} ({source})")),
        }
    };
    expected.iter().filter_map(warning).collect()
}

/// The value of a measure in the summary of a cell, or of a metric.
fn measured(cell: &CellSummary, measure: &str) -> Option<f64> {
    let metric = || cell.metrics.iter().find(|found| found.metric == measure)?.value;
    cell.measured(measure).value.or_else(metric)
}
