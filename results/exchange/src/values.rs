//! What is written of a cell: its numbers, and its settings.

use serde_json::{Map, Value, json};
use specimen_record::{CellSummary, Ratio};

/// What the name of a value has at its end for the two ends of its 95 % interval.
const ENDS: [&str; 2] = ["ci95_low", "ci95_high"];

/// The numbers of a cell by their names in `summary.json`, with the ends of their intervals: `speedup`,
/// `speedup.ci95_low`, `wall_s.decode`, `fid:lantern`. A number that the run does not have is left out.
pub(crate) fn numbers(cell: &CellSummary) -> Vec<(String, f64)> {
    let mut all = vec![
        ("n_images".to_owned(), Some(cell.n_images as f64)),
        ("n_failed".to_owned(), Some(cell.n_failed as f64)),
    ];
    ratio(&mut all, "speedup", &cell.speedup);
    ratio(&mut all, "speedup_e2e", &cell.speedup_e2e);
    for (name, value) in [
        ("accepted_per_step", cell.accepted_per_step),
        ("tokens_per_forward", cell.tokens_per_forward),
        ("tpf", cell.tpf),
        ("nfe", cell.nfe),
        ("step_compression", cell.step_compression),
        ("predicted_speedup", cell.predicted_speedup.value),
        ("tvd_spent", cell.tvd_spent),
        ("wall_s.decode", cell.wall_s.decode),
        ("wall_s.e2e", cell.wall_s.e2e),
    ] {
        all.push((name.to_owned(), value));
    }
    for metric in &cell.metrics {
        with_interval(&mut all, &metric.metric, metric.value, metric.ci95);
    }
    all.into_iter()
        .filter_map(|(name, value)| Some((name, value.filter(|value| value.is_finite())?)))
        .collect()
}

fn ratio(all: &mut Vec<(String, Option<f64>)>, name: &str, ratio: &Ratio) {
    with_interval(all, name, ratio.value, ratio.ci95);
}

fn with_interval(
    all: &mut Vec<(String, Option<f64>)>,
    name: &str,
    value: Option<f64>,
    ci95: Option<[f64; 2]>,
) {
    all.push((name.to_owned(), value));
    for (at, end) in ENDS.into_iter().enumerate() {
        all.push((format!("{name}.{end}"), ci95.map(|ends| ends[at])));
    }
}

/// What a cell is: model, dataset, method, sampling, its swept parameters, and the recipe of each metric.
pub(crate) fn settings(cell: &CellSummary) -> Map<String, Value> {
    let mut settings = Map::new();
    let mut put = |name: &str, value: Value| settings.insert(name.to_owned(), value);
    put("cell", json!(cell.id));
    put("model", json!(cell.model));
    put("dataset", json!(cell.dataset));
    put("drafter", json!(cell.drafter));
    put("method", json!(cell.method));
    put("guarantee", json!(cell.guarantee));
    put("dtype", json!(cell.dtype));
    put("device", json!(cell.device));
    put("sampling.temperature", json!(cell.sampling.temperature));
    put("sampling.top_k", json!(cell.sampling.top_k));
    put("sampling.top_p", json!(cell.sampling.top_p));
    put("sampling.guidance", json!(cell.sampling.guidance));
    for (name, value) in &cell.params {
        put(&format!("params.{name}"), value.clone());
    }
    for metric in &cell.metrics {
        put(&format!("protocol.{}", metric.metric), json!(metric.protocol));
    }
    settings
}
