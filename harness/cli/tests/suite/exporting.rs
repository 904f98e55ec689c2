//! `specimen export`: a run in the files of other tools.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support::Desk;

#[test]
fn a_run_is_exported_for_each_tool_and_nothing_is_overwritten() {
    let desk = Desk::new();
    desk.succeeds(&["run", "ci/stub", "--limit", "2", "--out", "run"]);
    for (tool, file, next) in [
        ("wandb", "runs.jsonl", "python import_runs.py PROJECT"),
        ("mlflow", "mlruns", "mlflow ui --backend-store-uri mlruns"),
        ("hf-eval", "stub.yaml", "model-index"),
    ] {
        let said = desk.succeeds(&["export", "run", "--for", tool, "--out", tool]).out;
        assert!(said.contains(next), "{said}");
        assert!(desk.path(tool).join(file).exists(), "{tool}: no {file}");
        desk.fails(&["export", "run", "--for", tool, "--out", tool], 2, &["is there already and not empty"]);
    }
    let json = desk.json(&["export", "run", "--for", "wandb", "--out", "again"]);
    assert_eq!((&json["tool"], &json["n_files"]), (&"wandb".into(), &2.into()));
    let lines = std::fs::read_to_string(desk.path("again/runs.jsonl")).unwrap();
    let summary = std::fs::read_to_string(desk.path("run/merged/summary.json")).unwrap();
    let summary: serde_json::Value = serde_json::from_str(&summary).unwrap();
    assert_eq!(lines.lines().count(), summary["cells"].as_array().unwrap().len());

    desk.fails(&["export", "run", "--for", "wandb", "--out", "run"], 2, &["is in the folder of the run"]);
    desk.fails(
        &["export", "run", "--for", "comet", "--out", "new"],
        2,
        &["comet", "wandb", "mlflow", "hf-eval"],
    );
    desk.fails(&["export", "none", "--for", "wandb", "--out", "new"], 4, &["none"]);
}

#[test]
fn a_run_whose_summary_was_changed_is_exported_only_on_request() {
    let desk = Desk::new();
    desk.succeeds(&["run", "ci/stub", "--limit", "2", "--out", "run"]);
    let path = desk.path("run/merged/summary.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text + "\n").unwrap();
    desk.fails(&["export", "run", "--for", "wandb", "--out", "new"], 4, &["summary.json"]);
    let said = desk.succeeds(&["export", "run", "--for", "wandb", "--out", "new", "--unverified"]).out;
    assert!(said.starts_with("not verified: run"), "{said}");
}
