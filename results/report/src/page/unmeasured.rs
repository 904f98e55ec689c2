//! Everything a reader may look for and not find, with the reason, one entry a reason.

use serde::Serialize;
use specimen_experiments::measures::MEASURES;
use specimen_record::Summary;

use crate::figures::{NamedFigure, diagnostics::DIAGNOSTIC_FIGURES};
use crate::tables::measure::NO_REASON;

/// A quantity that is absent.
#[derive(Debug, PartialEq, Serialize)]
pub(crate) struct AbsentQuantity {
    pub(crate) what: String,
    pub(crate) why: String,
    /// Cells without it; empty where it is no cell's.
    pub(crate) cells: Vec<String>,
}

/// The gaps of a run, in the order in which they are met. What a figure of the report shows is no gap.
pub(crate) fn absent_quantities(summary: &Summary, named_figures: &[NamedFigure]) -> Vec<AbsentQuantity> {
    let mut gaps: Vec<AbsentQuantity> = Vec::new();
    let mut add = |what: &str, why: &str, cell: Option<&str>| {
        let at = gaps.iter().position(|gap| gap.what == what && gap.why == why).unwrap_or_else(|| {
            gaps.push(AbsentQuantity { what: what.to_owned(), why: why.to_owned(), cells: Vec::new() });
            gaps.len() - 1
        });
        gaps[at].cells.extend(cell.map(str::to_owned));
    };
    for cell in &summary.cells {
        let id = Some(cell.id.as_str());
        for measure in MEASURES.iter() {
            let why = cell.measures.get(&measure.key).filter(|reading| reading.value.is_none());
            // A mean of a ratio that is not there says nothing more than the ratio.
            let is_further = measure.key.ends_with("_geomean") || measure.key.ends_with("_median");
            if let Some(why) = why.and_then(|reading| reading.why.as_deref()).filter(|_| !is_further) {
                add(&measure.key, why, id);
            }
        }
        for metric in cell.metrics.iter().filter(|metric| metric.value.is_none()) {
            add(&metric.metric, metric.why.as_deref().unwrap_or(NO_REASON), id);
        }
    }
    if let Some(quality) = &summary.timing_quality {
        for (quantity, why) in &quality.why {
            add(quantity.name(), why, None);
        }
    }
    for figure in &DIAGNOSTIC_FIGURES {
        let named = named_figures.iter().find(|named| named.name == figure.name);
        if let Some(Err(why)) = named.map(|named| &named.drawn) {
            add(figure.shows, why, None);
        }
    }
    gaps
}
