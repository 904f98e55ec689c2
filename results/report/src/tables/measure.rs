//! The columns of numbers: what each is called, which direction is better, and where the summary keeps
//! it. A new quantity of the summary is one variant here.

use specimen_record::{
    Better, CellQuantity, CellSummary, Guarantee, MetricSummary, Projection, Ratio, Summary,
};
use specimen_stats::fewest::FEWEST_OBSERVATIONS;

/// The reason shown for a null without a reason in the summary.
pub(crate) const NO_REASON: &str = "the summary gives no reason";

/// Why a cell with a speedup has no median of it.
const NO_MEDIAN: &str = "a median comes with its 95 % interval only, which needs six prompts or batches, or the summary is older than this column";

/// Why a cell with a speedup has no geometric mean of it.
const NO_GEOMEAN: &str = "the summary does not hold it";

/// Why a value has no interval, of which there are as many independent observations as `found` says.
pub(crate) fn few(found: &str) -> String {
    format!("no interval: {found}, and one needs at least {FEWEST_OBSERVATIONS}")
}

/// Why a ratio of times has no value, or no interval. The baseline's own is 1 by definition.
fn why_of_ratio(cell: &CellSummary, ratio: &Ratio) -> Option<String> {
    let without = ratio.observations.filter(|_| ratio.ci95.is_none() && !cell.is_baseline());
    ratio.why.clone().or_else(|| Some(few(&without?.to_string())))
}

/// Why there is no mean of the ratios of prompts or batches, where there is none.
fn missing(mean: Option<f64>, ratio: &Ratio, otherwise: &str) -> Option<String> {
    let why = ratio.why.clone().unwrap_or_else(|| otherwise.to_owned());
    mean.is_none().then_some(why)
}

/// Why an exact cell has no distance from its baseline.
const BY_CHANCE: &str = "exact output differs from the baseline only by chance";

/// One column of numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Measure {
    Speedup,
    /// Geometric mean over prompts or batches; in the CSV and a line below the table.
    SpeedupGeomean,
    /// Median over prompts or batches, likewise.
    SpeedupMedian,
    SpeedupE2e,
    Accepted,
    TokensPerForward,
    Tpf,
    Nfe,
    Seconds,
    SecondsE2e,
    Overhead,
    MeasuredToPredicted,
    /// Under a cost table.
    Projected,
    BaselineEfficiency,
    SpeedupAtBound,
    /// A metric under one protocol; `qualified` when another protocol of the same metric is there too.
    Metric {
        metric: String,
        protocol: String,
        unit: String,
        higher_is_better: Option<bool>,
        qualified: bool,
    },
    /// How far a metric is from the baseline's, of cells for which nearer to it is better.
    Distance {
        metric: String,
        protocol: String,
        unit: String,
    },
}

/// A value of a cell, or the reason why there is none.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Quantity {
    pub(crate) value: Option<f64>,
    pub(crate) ci95: Option<[f64; 2]>,
    /// Why there is no value, or no interval of a value that has one in other runs.
    pub(crate) why: Option<String>,
}

/// The columns of a summary, in reading order.
pub(crate) fn measures(summary: &Summary) -> Vec<Measure> {
    let mut measures = vec![Measure::Speedup];
    // Another program shows no inside: what can be compared with it is the time from the prompt to the image.
    let whole = summary.cells.iter().any(|c| c.origin.is_some());
    measures.extend(whole.then_some(Measure::SpeedupE2e));
    for further in [Measure::SpeedupGeomean, Measure::SpeedupMedian] {
        if summary.cells.iter().any(|cell| further.of(cell).value.is_some()) {
            measures.push(further);
        }
    }
    measures.extend([Measure::Accepted, Measure::TokensPerForward]);
    if summary.cells.iter().any(|c| c.tpf.is_some() && c.tpf != c.tokens_per_forward) {
        measures.push(Measure::Tpf);
    }
    measures.extend([Measure::Nfe, Measure::Seconds]);
    measures.extend(whole.then_some(Measure::SecondsE2e));
    measures.extend([Measure::Overhead, Measure::MeasuredToPredicted]);
    if summary.costs.is_some() {
        measures.extend([Measure::Projected, Measure::BaselineEfficiency, Measure::SpeedupAtBound]);
    }
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
    /// Those that are no metric, in reading order, with their meaning.
    pub(crate) const FIXED: [(Measure, &'static str); 15] = [
        (Measure::Speedup, "decode time of the baseline over that of the cell"),
        (Measure::SpeedupE2e, "time from prompt to image of the baseline over that of the cell"),
        (Measure::SpeedupGeomean, "geometric mean of the speedup over prompts, or over batches"),
        (Measure::SpeedupMedian, "median of the speedup over prompts, or over batches"),
        (Measure::Accepted, "draft tokens accepted a verified step (alpha)"),
        (Measure::TokensPerForward, "tokens a verification emits (tau)"),
        (Measure::Tpf, "the same with the tokens of skipped steps"),
        (Measure::Nfe, "forwards of the target"),
        (Measure::Seconds, "time of decoding, mean over the attempts that timed all cells"),
        (Measure::SecondsE2e, "time from prompt to image, over the same attempts"),
        (Measure::Overhead, "decode time outside prefill, target and draft, as a share"),
        (Measure::MeasuredToPredicted, "measured speedup over the predicted one"),
        (Measure::Projected, "speedup under the cost table given"),
        (Measure::BaselineEfficiency, "time at the memory's bandwidth over the baseline's"),
        (Measure::SpeedupAtBound, "time at the memory's bandwidth over the cell's"),
    ];

    /// Its column in the data frame and the CSV.
    pub(crate) fn key(&self) -> String {
        let key = match self {
            Measure::Speedup => "speedup",
            Measure::SpeedupGeomean => "speedup_geomean",
            Measure::SpeedupMedian => "speedup_median",
            Measure::SpeedupE2e => "speedup_e2e",
            Measure::Accepted => "accepted_per_step",
            Measure::TokensPerForward => "tokens_per_forward",
            Measure::Tpf => "tpf",
            Measure::Nfe => "nfe",
            Measure::Seconds => "decode_s_per_image",
            Measure::SecondsE2e => "e2e_s_per_image",
            Measure::Overhead => "overhead_fraction",
            Measure::MeasuredToPredicted => "measured_to_predicted_speedup",
            Measure::Projected => "projected_speedup",
            Measure::BaselineEfficiency => "baseline_efficiency",
            Measure::SpeedupAtBound => "speedup_at_bound",
            Measure::Metric { metric, protocol, qualified: true, .. } => {
                return format!("{metric} ({protocol})");
            }
            Measure::Metric { metric, .. } => metric,
            Measure::Distance { metric, .. } => return format!("{metric}_distance"),
        };
        key.to_owned()
    }

    /// Its name in a table head.
    pub(crate) fn name(&self) -> String {
        match self {
            Measure::Accepted => "accepted".to_owned(),
            Measure::TokensPerForward => "tokens".to_owned(),
            Measure::Tpf => "tokens+skips".to_owned(),
            Measure::Nfe => "NFE".to_owned(),
            Measure::Seconds => "decode".to_owned(),
            Measure::SpeedupE2e => "speedup e2e".to_owned(),
            Measure::SecondsE2e => "prompt to image".to_owned(),
            Measure::Overhead => "overhead".to_owned(),
            Measure::MeasuredToPredicted => "measured".to_owned(),
            Measure::Projected => "projected speedup".to_owned(),
            Measure::BaselineEfficiency => "baseline efficiency".to_owned(),
            Measure::SpeedupAtBound => "speedup at the bound".to_owned(),
            Measure::Distance { metric, .. } => format!("abs. Δ {metric}"),
            _ => self.key(),
        }
    }

    /// Whether it is a column of the table where none is asked for by name; the CSV has them all.
    pub(crate) fn is_column(&self) -> bool {
        !matches!(self, Measure::SpeedupGeomean | Measure::SpeedupMedian)
    }

    /// Whether its numbers have intervals.
    pub(crate) fn has_intervals(&self) -> bool {
        matches!(
            self,
            Measure::Speedup
                | Measure::SpeedupE2e
                | Measure::SpeedupGeomean
                | Measure::SpeedupMedian
                | Measure::Metric { .. }
                | Measure::Distance { .. }
        )
    }

    /// Whether its numbers come from times that were measured.
    pub(crate) fn is_of_times(&self) -> bool {
        !matches!(
            self,
            Measure::Accepted
                | Measure::TokensPerForward
                | Measure::Tpf
                | Measure::Nfe
                | Measure::Projected
                | Measure::Metric { .. }
                | Measure::Distance { .. }
        )
    }

    /// What its numbers are counted in.
    pub(crate) fn unit(&self) -> &str {
        match self {
            Measure::Speedup | Measure::SpeedupE2e | Measure::SpeedupGeomean | Measure::SpeedupMedian => "×",
            Measure::Accepted => "/ step",
            Measure::TokensPerForward | Measure::Tpf => "/ forward",
            Measure::Nfe => "/ image",
            Measure::Seconds | Measure::SecondsE2e => "s / image",
            Measure::Projected | Measure::SpeedupAtBound => "×",
            Measure::BaselineEfficiency => "% of the bound",
            Measure::Overhead => "% of decode",
            Measure::MeasuredToPredicted => "/ predicted",
            Measure::Metric { unit, .. } | Measure::Distance { unit, .. } => unit,
        }
    }

    /// Which direction is better; `None` where neither is.
    pub(crate) fn higher_is_better(&self) -> Option<bool> {
        match self {
            Measure::Speedup | Measure::SpeedupE2e | Measure::SpeedupGeomean | Measure::SpeedupMedian => {
                Some(true)
            }
            Measure::Accepted | Measure::TokensPerForward | Measure::Tpf => Some(true),
            Measure::Nfe | Measure::Seconds | Measure::SecondsE2e | Measure::Overhead => Some(false),
            Measure::Distance { .. } => Some(false),
            Measure::Projected | Measure::SpeedupAtBound => Some(true),
            Measure::MeasuredToPredicted | Measure::BaselineEfficiency => None,
            Measure::Metric { higher_is_better, .. } => *higher_is_better,
        }
    }

    /// Factor between the summary's number and the one in a table for people.
    pub(crate) fn shown_per_unit(&self) -> f64 {
        if matches!(self, Measure::Overhead | Measure::BaselineEfficiency) { 100.0 } else { 1.0 }
    }

    /// Decimals in a table for people; `None` where the intervals decide.
    pub(crate) fn decimals(&self) -> Option<usize> {
        match self {
            Measure::Nfe | Measure::Overhead | Measure::BaselineEfficiency => Some(1),
            Measure::Seconds | Measure::SecondsE2e | Measure::Metric { .. } | Measure::Distance { .. } => {
                None
            }
            _ => Some(2),
        }
    }

    /// What a cell has of it.
    pub(crate) fn of(&self, cell: &CellSummary) -> Quantity {
        let with_reason = |value: Option<f64>, quantity: CellQuantity| Quantity {
            value,
            ci95: None,
            why: value.is_none().then(|| cell.why.get(&quantity).cloned()).flatten(),
        };
        let plain = |quantity: CellQuantity| with_reason(quantity.of(cell), quantity);
        let predicted = &cell.predicted_speedup;
        let projected = |of: fn(&Projection) -> (Option<f64>, &Option<String>)| {
            let (value, why) = cell.projection.as_ref().map_or((None, &None), of);
            Quantity { value, ci95: None, why: why.clone() }
        };
        match self {
            Measure::Speedup => {
                let (value, ci95) = (cell.speedup.value, cell.speedup.ci95);
                Quantity { value, ci95, why: why_of_ratio(cell, &cell.speedup) }
            }
            Measure::SpeedupGeomean => Quantity {
                value: cell.speedup.geomean,
                ci95: cell.speedup.geomean_ci95,
                why: missing(cell.speedup.geomean, &cell.speedup, NO_GEOMEAN),
            },
            Measure::SpeedupMedian => Quantity {
                value: cell.speedup.median,
                ci95: cell.speedup.median_ci95,
                why: missing(cell.speedup.median, &cell.speedup, NO_MEDIAN),
            },
            Measure::SpeedupE2e => {
                let e2e = &cell.speedup_e2e;
                Quantity { value: e2e.value, ci95: e2e.ci95, why: why_of_ratio(cell, e2e) }
            }
            Measure::Accepted => plain(CellQuantity::AcceptedPerStep),
            Measure::TokensPerForward => plain(CellQuantity::TokensPerForward),
            Measure::Tpf => plain(CellQuantity::Tpf),
            Measure::Nfe => plain(CellQuantity::Nfe),
            Measure::Seconds => plain(CellQuantity::WallS),
            Measure::SecondsE2e => with_reason(cell.wall_s.e2e, CellQuantity::WallS),
            Measure::Overhead => plain(CellQuantity::OverheadFraction),
            Measure::MeasuredToPredicted => Quantity {
                value: predicted.ratio_measured_to_predicted,
                ci95: None,
                why: predicted
                    .why
                    .clone()
                    .or_else(|| Some(format!("no measured speedup: {}", cell.speedup.why.as_ref()?))),
            },
            Measure::Projected => projected(|found| (found.speedup, &found.why)),
            Measure::BaselineEfficiency => projected(|found| (found.baseline_efficiency, &found.bound_why)),
            Measure::SpeedupAtBound => projected(|found| (found.speedup_at_bound, &found.bound_why)),
            Measure::Metric { metric, protocol, .. } => {
                match cell.metrics.iter().find(|m| m.metric == *metric && m.protocol == *protocol) {
                    Some(m) => {
                        let why = m.why.clone().filter(|_| m.value.is_none());
                        Quantity { value: m.value, ci95: m.ci95, why }
                    }
                    None => {
                        Quantity { value: None, ci95: None, why: Some("not scored for this cell".into()) }
                    }
                }
            }
            Measure::Distance { metric, protocol, .. } => {
                let scored = cell.metrics.iter().find(|m| m.metric == *metric && m.protocol == *protocol);
                let versus = scored.and_then(|m| m.vs_baseline);
                let distance = versus.map(|versus| versus.distance());
                let why = match (scored, cell.guarantee, &cell.baseline) {
                    _ if cell.is_baseline() => "it is the baseline".to_owned(),
                    (_, Guarantee::Exact, _) => BY_CHANCE.to_owned(),
                    (None, ..) => "not scored for this cell".to_owned(),
                    (Some(MetricSummary { why: Some(why), .. }), ..) => why.clone(),
                    (Some(_), _, None) => "it has no baseline".to_owned(),
                    (Some(_), _, Some(baseline)) => {
                        format!(
                            "fewer than two prompts have a value of this cell and of its baseline `{baseline}`"
                        )
                    }
                };
                match distance.filter(|_| cell.guarantee != Guarantee::Exact && !cell.is_baseline()) {
                    Some((value, ci95)) => {
                        let why = versus
                            .filter(|_| ci95.is_none())
                            .map(|versus| few(&format!("{} pairs", versus.n)));
                        Quantity { value: Some(value), ci95, why }
                    }
                    None => Quantity { value: None, ci95: None, why: Some(why) },
                }
            }
        }
    }
}
