//! Weights & Biases: a line of JSON for each cell, and the script that logs them. Its own importers take servers only, so that
//! runs made elsewhere are logged by `wandb.init` and `run.summary`, as its documentation does with a table of experiments
//! (docs.wandb.ai, "working with csv").

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::{Exporter, Finished, values};

pub(crate) const EXPORTER: Exporter = Exporter {
    name: "wandb",
    what: "runs.jsonl, one run of Weights & Biases a cell, and the script that logs them",
    next: "pip install wandb && python import_runs.py PROJECT",
    write: |run, folder| folder.put_texts(files(run)),
};

/// Logs what is in `runs.jsonl`.
const SCRIPT: &str = include_str!("import_runs.py");

fn files(run: &Finished<'_>) -> Vec<(PathBuf, String)> {
    let lines: String = run.summary.cells.iter().map(|cell| format!("{}\n", line(run, cell))).collect();
    vec![("runs.jsonl".into(), lines), ("import_runs.py".into(), SCRIPT.to_owned())]
}

fn line(run: &Finished<'_>, cell: &specimen_record::CellSummary) -> Value {
    let mut config = values::settings(cell);
    for (name, digest) in
        [("plan_digest", &run.summary.plan_digest), ("result_digest", &run.summary.result_digest)]
    {
        config.insert(name.to_owned(), json!(digest));
    }
    config.insert("started".to_owned(), json!(run.manifest.started));
    let summary: Map<String, Value> =
        values::numbers(cell).into_iter().map(|(name, value)| (name, json!(value))).collect();
    json!({
        "name": format!("{} {}", run.summary.name, cell.id),
        "group": run.summary.name,
        "tags": [cell.model, cell.dataset],
        "config": config,
        "summary": summary,
    })
}
