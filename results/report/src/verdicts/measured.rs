//! What a cell has of a measure that a rule, a claim or a layout names.

use specimen_experiments::measures;
use specimen_record::{Better, CellSummary, Reading, Summary};

/// How far a metric of a cell is from its baseline's, where nearer to that is better for this cell.
pub(crate) fn distance(cell: &CellSummary, measure: &str) -> Option<Reading> {
    let scored = cell.metrics.iter().find(|scored| scored.metric == measure)?;
    let is_nearer = scored.better(cell.guarantee) == Some(Better::NearerToBaseline) && !cell.is_baseline();
    let (value, ci95) = scored.vs_baseline.filter(|_| is_nearer)?.distance();
    Some(Reading { value: Some(value), ci95, ..of(cell, measure) })
}

/// The name under which a cell has the metric `measure`: its own, or that under a protocol (`fid:lantern` for `fid`).
pub(crate) fn name_in<'a>(cell: &'a CellSummary, measure: &'a str) -> &'a str {
    let names = || cell.metrics.iter().map(|metric| metric.metric.as_str());
    let exact = names().find(|name| *name == measure);
    let under = || names().find(|name| name.split_once(':').is_some_and(|(metric, _)| metric == measure));
    exact.or_else(under).unwrap_or(measure)
}

/// What a cell has of a measure or a metric by its name.
pub(crate) fn of(cell: &CellSummary, name: &str) -> Reading {
    if measures::named().any(|measure| measure == name) {
        return cell.measured(name);
    }
    match cell.metrics.iter().find(|metric| metric.metric == name_in(cell, name)) {
        Some(metric) => metric.reading(),
        None => Reading::absent(&why_not_scored(cell, name)),
    }
}

/// A value under one protocol says nothing about that under another.
fn why_not_scored(cell: &CellSummary, metric: &str) -> String {
    let base = |name: &str| name.split(':').next().map(str::to_owned);
    match cell.metrics.iter().find(|scored| base(&scored.metric) == base(metric)) {
        Some(other) => format!("not comparable: the cell has {}", other.metric),
        None => "not scored for this cell".to_owned(),
    }
}

/// As [`of`], or a measure of the cell over one of its baseline: `tvd_per_token` (spent an image, over the baseline's
/// forwards, of which it makes one a token) and `schedule_share` (the scheduler's time over the baseline's decode time).
pub(crate) fn of_run(summary: &Summary, cell: &CellSummary, measure: &str) -> Reading {
    let (what, own, whole_is, whole) = match measure {
        "tvd_per_token" => ("the spent distance", "tvd_spent", "the number of forwards", "nfe"),
        "schedule_share" => ("the scheduler's time", "schedule_s", "the decode time", "decode_s"),
        other => return of(cell, other),
    };
    let baseline = cell.baseline.as_deref().and_then(|id| summary.cell(id));
    match (cell.value(own), baseline.and_then(|baseline| baseline.value(whole))) {
        (Some(own), Some(whole)) => Reading { n: cell.n_images, ..Reading::of(own / whole) },
        (None, _) => Reading::absent(&format!("{what} of the cell is not known")),
        (_, None) => Reading::absent(&format!("{whole_is} of its baseline is not known")),
    }
}
