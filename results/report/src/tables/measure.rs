//! The columns of numbers: the measures of the summary, its metrics, and how far these are from the baseline's.

use specimen_experiments::measures::{self, MEASURES, Shown};
use specimen_record::{Better, CellSummary, Guarantee, MetricSummary, Reading, Summary};
use specimen_stats::fewest::FEWEST_OBSERVATIONS;

/// The reason shown for a null without a reason in the summary.
pub(crate) const NO_REASON: &str = "the summary gives no reason";

/// Why a value has no interval, of which there are as many independent observations as `found` says.
pub(crate) fn few(found: &str) -> String {
    format!("no interval: {found}, and one needs at least {FEWEST_OBSERVATIONS}")
}

/// Why an exact cell has no distance from its baseline.
const BY_CHANCE: &str = "exact output differs from the baseline only by chance";

/// One column of numbers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Measure {
    /// A measure of every cell.
    OfCell(&'static measures::Measure),
    /// A metric under one protocol; `qualified` when another protocol of the same metric is there too.
    Metric { metric: String, protocol: String, unit: String, higher_is_better: Option<bool>, qualified: bool },
    /// How far a metric is from the baseline's, of cells for which nearer to it is better.
    Distance { metric: String, protocol: String, unit: String },
}

/// The columns of a summary, in reading order.
pub(crate) fn measures(summary: &Summary) -> Vec<Measure> {
    let any = |is: &dyn Fn(&CellSummary) -> bool| summary.cells.iter().any(is);
    // Another program shows no inside: what can be compared with it is the time from the prompt to the image.
    let whole = any(&|cell| cell.origin.is_some());
    let has = |measure: &&measures::Measure| match (measure.key.as_str(), measure.shown) {
        (_, Shown::Summary) => false,
        ("speedup_e2e" | "e2e_s", _) => whole,
        ("tpf", _) => any(&|c| c.value("tpf").is_some() && c.value("tpf") != c.value("tokens_per_forward")),
        (key, Shown::OnRequest) => any(&|cell| cell.value(key).is_some()),
        (_, Shown::WithCosts) => summary.costs.is_some(),
        (_, Shown::Column) => true,
    };
    let mut measures: Vec<Measure> = MEASURES.iter().filter(has).map(Measure::OfCell).collect();
    let mut seen: Vec<&MetricSummary> = Vec::new();
    for metric in summary.cells.iter().flat_map(|c| &c.metrics) {
        if !seen.iter().any(|m| m.metric == metric.metric && m.protocol == metric.protocol) {
            seen.push(metric);
        }
    }
    for m in &seen {
        let better = summary.better(&m.metric);
        let is_distance = better == Some(Better::NearerToBaseline);
        measures.push(Measure::Metric {
            metric: m.metric.clone(),
            protocol: m.protocol.clone(),
            unit: m.unit.clone(),
            higher_is_better: better.filter(|_| !is_distance).map(|better| better == Better::Higher),
            qualified: seen.iter().filter(|other| other.metric == m.metric).count() > 1,
        });
        measures.extend(is_distance.then(|| Measure::Distance {
            metric: m.metric.clone(),
            protocol: m.protocol.clone(),
            unit: m.unit.clone(),
        }));
    }
    measures
}

impl Measure {
    /// The name of the measure of every cell that it is; empty for a metric.
    pub(crate) fn of_cell(&self) -> &'static str {
        if let Measure::OfCell(measure) = self { &measure.key } else { "" }
    }

    /// Its column in the data frame and the CSV.
    pub(crate) fn key(&self) -> String {
        match self {
            Measure::OfCell(measure) => measure.column.clone(),
            Measure::Metric { metric, protocol, qualified: true, .. } => format!("{metric} ({protocol})"),
            Measure::Metric { metric, .. } => metric.clone(),
            Measure::Distance { metric, .. } => format!("{metric}_distance"),
        }
    }

    /// Its name in a table head.
    pub(crate) fn name(&self) -> String {
        match self {
            Measure::OfCell(measure) => measure.head.clone(),
            Measure::Distance { metric, .. } => format!("abs. Δ {metric}"),
            Measure::Metric { .. } => self.key(),
        }
    }

    /// Whether it is a column of the table where none is asked for by name; the CSV has them all.
    pub(crate) fn is_column(&self) -> bool {
        !matches!(self, Measure::OfCell(measure) if measure.shown == Shown::OnRequest)
    }

    /// Whether it is a speedup: its intervals stand in brackets.
    pub(crate) fn is_ratio(&self) -> bool {
        matches!(self, Measure::OfCell(measure) if measure.ratio_of.is_some())
    }

    /// Whether its numbers have intervals.
    pub(crate) fn has_intervals(&self) -> bool {
        self.of_cell().is_empty() || self.is_ratio()
    }

    /// Whether its numbers come from times that were measured.
    pub(crate) fn is_of_times(&self) -> bool {
        matches!(self, Measure::OfCell(measure) if measure.of_times)
    }

    /// What its numbers are counted in.
    pub(crate) fn unit(&self) -> &str {
        match self {
            Measure::OfCell(measure) => &measure.unit,
            Measure::Metric { unit, .. } | Measure::Distance { unit, .. } => unit,
        }
    }

    /// Which direction is better; `None` where neither is.
    pub(crate) fn higher_is_better(&self) -> Option<bool> {
        match self {
            Measure::OfCell(measure) => measure.higher_is_better(),
            Measure::Distance { .. } => Some(false),
            Measure::Metric { higher_is_better, .. } => *higher_is_better,
        }
    }

    /// Factor between the summary's number and the one in a table for people.
    pub(crate) fn shown_per_unit(&self) -> f64 {
        if let Measure::OfCell(measure) = self { measure.shown_per_unit() } else { 1.0 }
    }

    /// Decimals in a table for people; `None` where the intervals decide.
    pub(crate) fn decimals(&self) -> Option<usize> {
        if let Measure::OfCell(measure) = self { measure.decimals } else { None }
    }

    /// What a cell has of it, with the reason where there is no value, or no interval of a value that has one in other runs.
    pub(crate) fn of(&self, cell: &CellSummary) -> Reading {
        let scored = |metric: &str, protocol: &str| {
            cell.metrics.iter().find(|m| m.metric == *metric && m.protocol == *protocol)
        };
        let absent = || Reading::absent("not scored for this cell");
        match self {
            Measure::OfCell(measure) => {
                let found = cell.measured(&measure.key);
                // The baseline's own ratio is 1 by definition.
                let without = found.observations.filter(|_| found.ci95.is_none() && !cell.is_baseline());
                let why = found.why.or_else(|| Some(few(&without?.to_string())));
                Reading { why, ..found }
            }
            Measure::Metric { metric, protocol, .. } => {
                scored(metric, protocol).map_or_else(absent, MetricSummary::reading)
            }
            Measure::Distance { metric, protocol, .. } => {
                let metric = scored(metric, protocol);
                let why = match (metric, cell.guarantee, &cell.baseline) {
                    _ if cell.is_baseline() => "it is the baseline".to_owned(),
                    (_, Guarantee::Exact, _) => BY_CHANCE.to_owned(),
                    (None, ..) => return absent(),
                    (Some(MetricSummary { why: Some(why), .. }), ..) => why.clone(),
                    (Some(_), _, None) => "it has no baseline".to_owned(),
                    (Some(MetricSummary { vs_baseline: Some(versus), .. }), ..) => {
                        let (value, ci95) = versus.distance();
                        let why = ci95.is_none().then(|| few(&format!("{} pairs", versus.n)));
                        return Reading { ci95, why, ..Reading::of(value) };
                    }
                    (Some(_), _, Some(baseline)) => format!(
                        "fewer than two prompts have a value of this cell and of its baseline `{baseline}`"
                    ),
                };
                Reading::absent(&why)
            }
        }
    }
}
