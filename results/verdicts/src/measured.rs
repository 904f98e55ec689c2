//! What a cell has of a measure that a rule, a claim or a layout names.

use specimen_record::{Better, CellQuantity, CellSummary, Observations, Summary};

/// A value with its interval and the images behind it, or the reason why there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Measured {
    pub(crate) value: Option<f64>,
    pub(crate) ci95: Option<[f64; 2]>,
    pub(crate) n: u64,
    /// The independent observations behind a ratio of times, where they are known.
    pub(crate) observations: Option<Observations>,
    /// Protocol of a metric; values under different ones are not compared.
    pub(crate) protocol: Option<String>,
    pub(crate) why: Option<String>,
}

/// How far a metric of a cell is from its baseline's, where nearer to that is better for this cell.
pub(crate) fn distance(cell: &CellSummary, measure: &str) -> Option<Measured> {
    let scored = cell.metrics.iter().find(|scored| scored.metric == measure)?;
    let is_nearer = scored.better(cell.guarantee) == Some(Better::NearerToBaseline) && !cell.is_baseline();
    let (value, ci95) = scored.vs_baseline.filter(|_| is_nearer)?.distance();
    Some(Measured { value: Some(value), ci95, ..of(cell, measure) })
}

/// The quantities of a cell's summary that are measures, besides its metrics.
pub(crate) const QUANTITIES: [&str; 12] = [
    "nfe",
    "tokens_per_forward",
    "accepted_per_step",
    "tpf",
    "step_compression",
    "tvd_spent",
    "out_of_support",
    "n_failed",
    "speedup",
    "speedup_e2e",
    "decode_s",
    "e2e_s",
];

/// The name under which a cell has the metric `measure`: its own, or that under a protocol (`fid:lantern` for `fid`).
pub(crate) fn name_in<'a>(cell: &'a CellSummary, measure: &'a str) -> &'a str {
    let names = || cell.metrics.iter().map(|metric| metric.metric.as_str());
    let exact = names().find(|name| *name == measure);
    let under = || names().find(|name| name.split_once(':').is_some_and(|(metric, _)| metric == measure));
    exact.or_else(under).unwrap_or(measure)
}

/// The measure of this name, of a cell: a quantity of its summary, or a metric.
pub(crate) fn of(cell: &CellSummary, measure: &str) -> Measured {
    let counted = |value: Option<f64>| Measured { value, n: cell.n_images, ..Measured::default() };
    let with_reason = |value: Option<f64>, quantity: CellQuantity| Measured {
        why: value.is_none().then(|| cell.why.get(&quantity).cloned()).flatten(),
        ..counted(value)
    };
    let ratio = |ratio: &specimen_record::Ratio| Measured {
        ci95: ratio.ci95,
        observations: ratio.observations,
        why: ratio.why.clone(),
        ..counted(ratio.value)
    };
    if let Some(quantity) = CellQuantity::named(measure) {
        return with_reason(quantity.of(cell), quantity);
    }
    match measure {
        "out_of_support" => counted(Some(cell.out_of_support as f64)),
        "n_failed" => counted(Some(cell.n_failed as f64)),
        "speedup" => ratio(&cell.speedup),
        "speedup_e2e" => ratio(&cell.speedup_e2e),
        "decode_s" => with_reason(cell.wall_s.decode, CellQuantity::WallS),
        "e2e_s" => with_reason(cell.wall_s.e2e, CellQuantity::WallS),
        metric => match cell.metrics.iter().find(|m| m.metric == name_in(cell, metric)) {
            Some(m) => Measured {
                value: m.value,
                ci95: m.ci95,
                n: m.n,
                protocol: Some(m.protocol.clone()),
                why: m.why.clone(),
                ..Measured::default()
            },
            None => Measured { why: Some(why_not_scored(cell, metric)), ..Measured::default() },
        },
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

/// As [`of`], or a quantity of the cell over one of its baseline: `tvd_per_token` (spent an image, over the baseline's
/// forwards, of which it makes one a token) and `schedule_share` (the scheduler's time over the baseline's decode time).
pub(crate) fn of_run(summary: &Summary, cell: &CellSummary, measure: &str) -> Measured {
    let baseline = cell.baseline.as_deref().and_then(|id| summary.cell(id));
    let (what, whole_is, own, whole) = match measure {
        "tvd_per_token" => {
            ("the spent distance", "the number of forwards", cell.tvd_spent, baseline.and_then(|b| b.nfe))
        }
        "schedule_share" => (
            "the scheduler's time",
            "the decode time",
            cell.wall_s.schedule,
            baseline.and_then(|b| b.wall_s.decode),
        ),
        other => return of(cell, other),
    };
    match (own, whole) {
        (Some(own), Some(whole)) => {
            Measured { value: Some(own / whole), n: cell.n_images, ..Measured::default() }
        }
        (None, _) => {
            Measured { why: Some(format!("{what} of the cell is not known")), ..Measured::default() }
        }
        (_, None) => {
            Measured { why: Some(format!("{whole_is} of its baseline is not known")), ..Measured::default() }
        }
    }
}
