//! The hub of Hugging Face: `model-index`, the results in the head of a model card, one file for each model of the run
//! (huggingface/hub-docs, modelcard.md). A result is a cell, its metrics are the cell's numbers.

use std::{collections::BTreeMap, path::PathBuf};

use serde_json::{Value, json};
use specimen_record::CellSummary;

use crate::{Exporter, Finished, values, yaml};

pub(crate) const EXPORTER: Exporter = Exporter {
    name: "hf-eval",
    what: "one YAML file a model with the `model-index` of its card on the Hugging Face hub",
    next: "copy the `model-index` of MODEL.yaml into the YAML head of the model's README.md",
    write: |run, folder| folder.put_texts(files(run)),
};

/// The dataset without prompts.
const UNCONDITIONAL: &str = "unconditional";

fn files(run: &Finished<'_>) -> Vec<(PathBuf, String)> {
    let mut of_model: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for cell in &run.summary.cells {
        of_model.entry(&cell.model).or_default().push(result(cell));
    }
    let file = |(model, results): (&str, Vec<Value>)| {
        let index = json!({ "model-index": [{ "name": model, "results": results }] });
        (PathBuf::from(format!("{model}.yaml")), yaml::document(&index))
    };
    of_model.into_iter().map(file).collect()
}

fn result(cell: &CellSummary) -> Value {
    let (kind, name) = match cell.dataset == UNCONDITIONAL {
        true => ("unconditional-image-generation", "Unconditional image generation"),
        false => ("text-to-image", "Text to image"),
    };
    let protocol = |name: &str| cell.metrics.iter().find(|metric| metric.metric == name);
    let metric = |(name, value): (String, f64)| {
        let of_protocol = protocol(&name).map(|metric| format!(", protocol {}", metric.protocol));
        json!({
            "type": name,
            "value": value,
            "name": format!("{name} of {} ({}){}", cell.id, cell.method, of_protocol.unwrap_or_default()),
        })
    };
    json!({
        "task": { "type": kind, "name": name },
        "dataset": { "type": cell.dataset, "name": cell.dataset, "args": { "cell": cell.id, "n_images": cell.n_images } },
        "metrics": values::numbers(cell).into_iter().map(metric).collect::<Vec<_>>(),
    })
}
