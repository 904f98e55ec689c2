//! `specimen export`: the images of a run for the scripts of benchmarks.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support::Desk;

#[test]
fn a_run_whose_summary_was_changed_is_exported_only_on_request() {
    let desk = Desk::new();
    desk.succeeds(&["run", "ci/stub", "--limit", "2", "--out", "run"]);
    let path = desk.path("run/merged/summary.json");
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text + "\n").unwrap();
    let export = ["export", "run", "--for", "geneval", "--out", "new"];
    desk.fails(&export, 4, &["summary.json"]);
    desk.fails(&[&export[..], &["--unverified"]].concat(), 4, &["the run is of the dataset `scenes-val`"]);
    desk.fails(&["export", "run", "--for", "comet", "--out", "new"], 2, &["comet", "geneval", "dpg"]);
    desk.fails(&["export", "none", "--for", "dpg", "--out", "new"], 4, &["none"]);
}

#[test]
fn a_tool_of_an_earlier_release_is_answered_with_what_to_use() {
    let desk = Desk::new();
    for tool in ["wandb", "mlflow", "hf-eval"] {
        let export = ["export", "run", "--for", tool, "--out", "new"];
        desk.fails(&export, 2, &["the few lines of Python", "docs/python.md"]);
        let said = desk.run(&[&export[..], &["--format", "json"]].concat()).err;
        let said: serde_json::Value = serde_json::from_str(&said).unwrap();
        assert!(said.to_string().contains("docs/python.md"), "{said}");
    }
}
