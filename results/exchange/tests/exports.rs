//! What is written for each tool, of the summary that the tests of `specimen-record` keep.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use specimen_exchange::{EXPORTERS, export, exporter};
use specimen_record::RunDir;
use tempfile::TempDir;

/// A finished run: its manifest and summary.
fn run() -> (TempDir, RunDir) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("run");
    let mut summary: Value =
        serde_json::from_str(include_str!("../../record/tests/suite/summary.json")).unwrap();
    summary["cells"][0]["speedup"]["ci95"] = json!([0.9, 1.1]);
    let digest = summary["plan_digest"].clone();
    let manifest = json!({
        "schema": 1, "name": summary["name"], "argv": ["specimen"], "spec": summary["spec"],
        "spec_digest": digest, "plan_digest": digest, "git": { "sha": null, "dirty": null }, "weights": [],
        "datasets": [], "dtype": "bf16", "device": "cpu", "threads": 1, "environment": {},
        "hardware": {
            "cpu_model": "a", "cores": 1, "cpu_features": [], "memory_mb": 1, "gpus": []
        },
        "software": { "specimen": "0.1.0", "libtorch": null, "rustc": null },
        "started": "2026-11-24T07:30:00Z", "sealed": null
    });
    for (path, value) in [("manifest.json", &manifest), ("merged/summary.json", &summary)] {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, value.to_string()).unwrap();
    }
    let run = RunDir::open(&root).unwrap();
    (folder, run)
}

/// The files of an export below its folder, with their texts.
fn exported(name: &str) -> (TempDir, PathBuf, Vec<(String, String)>) {
    let (folder, run) = run();
    let out = folder.path().join("out");
    let written = export(&run, exporter(name).unwrap(), &out, None).unwrap().files;
    let mut files: Vec<(String, String)> = written
        .iter()
        .map(|path| {
            (path.strip_prefix(&out).unwrap().to_str().unwrap().to_owned(), fs::read_to_string(path).unwrap())
        })
        .collect();
    files.sort();
    (folder, out, files)
}

#[test]
fn a_line_of_wandb_has_the_name_the_settings_and_the_numbers_of_a_cell() {
    let (_folder, _, files) = exported("wandb");
    let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["import_runs.py", "runs.jsonl"]);
    let lines: Vec<Value> = files[1].1.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ar = &lines[0];
    assert_eq!(ar["config"]["cell"], "ar");
    assert_eq!(ar["config"]["sampling.guidance"], 3.0);
    assert_eq!(ar["config"]["params.tau_pos"], 0.85);
    assert_eq!(ar["config"]["started"], "2026-11-24T07:30:00Z");
    assert_eq!(ar["summary"]["speedup"], 1.0);
    assert_eq!(
        (&ar["summary"]["speedup.ci95_low"], &ar["summary"]["speedup.ci95_high"]),
        (&json!(0.9), &json!(1.1))
    );
    assert_eq!(ar["summary"]["target-nll"], 5.1);
    assert_eq!(ar["summary"]["wall_s.decode"], 1.6);
    // What the run does not have is not there: neither a zero nor a null.
    for absent in ["fid", "fid.ci95_low", "tvd_spent", "speedup_e2e"] {
        assert!(ar["summary"].get(absent).is_none(), "{absent}: {ar}");
    }
}

#[test]
fn mlflow_has_an_experiment_with_a_run_for_each_cell() {
    let (_folder, out, files) = exported("mlflow");
    let text = |end: &str| {
        let found: Vec<&String> =
            files.iter().filter(|(name, _)| name.ends_with(end)).map(|(_, text)| text).collect();
        assert!(!found.is_empty(), "no file ends in {end}");
        found
    };
    let names: BTreeSet<usize> = files.iter().map(|(name, _)| name.split('/').count()).collect();
    assert_eq!(names, BTreeSet::from([3, 4, 5]), "experiment, run, and what a run has");
    assert!(files.iter().all(|(name, _)| name.starts_with("mlruns/")));
    assert_eq!(text("metrics/speedup.ci95_high")[0], "1795505400000 1.1 0\n");
    assert_eq!(text("params/model")[0], "tiny");
    assert_eq!(text("tags/mlflow.runName")[0], "ar");
    let experiment = files.iter().find(|(name, _)| name.split('/').count() == 3).unwrap();
    assert!(experiment.1.contains("lifecycle_stage: \"active\"\n"), "{}", experiment.1);
    let out = out.canonicalize().unwrap();
    assert!(experiment.1.contains(&format!("file://{}", out.join("mlruns").display())), "{}", experiment.1);
    let of_run = files.iter().find(|(name, _)| name.split('/').count() == 4).unwrap();
    for part in ["status: 3\n", "run_name: \"ar\"\n", "start_time: 1795505400000\n"] {
        assert!(of_run.1.contains(part), "{part} is not in {}", of_run.1);
    }
    assert!(!files.iter().any(|(name, _)| name.ends_with("metrics/fid")), "the run has no fid");
    // The same run has the same names wherever it is written.
    let (_again, _, again) = exported("mlflow");
    let paths = |files: &[(String, String)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(paths(&files), paths(&again));
}

#[test]
fn a_model_card_has_a_result_for_each_cell() {
    let (_folder, _, files) = exported("hf-eval");
    let (name, text) = &files[0];
    assert_eq!(name, "tiny.yaml");
    assert!(text.starts_with("model-index:\n  - name: \"tiny\"\n    results:\n      - task:\n"), "{text}");
    for part in [
        "          type: \"text-to-image\"\n",
        "          type: \"scenes-val\"\n",
        "          - type: \"target-nll\"\n            value: 5.1\n            name: \"target-nll of ar (ar), protocol p\"\n",
        "          - type: \"speedup.ci95_low\"\n            value: 0.9\n",
    ] {
        assert!(text.contains(part), "`{part}` is not in {text}");
    }
    assert!(!text.contains("null"), "{text}");
}

#[test]
fn nothing_is_overwritten_and_a_run_without_summary_is_refused() {
    let (folder, run) = run();
    let taken = folder.path().join("taken");
    fs::create_dir(&taken).unwrap();
    for tool in EXPORTERS {
        let inside = run.root().join("new");
        let refused = export(&run, tool, &inside, None).unwrap_err().to_string();
        assert!(refused.contains("is in the folder of the run") && !inside.exists(), "{refused}");
        fs::write(taken.join("note"), "mine").unwrap();
        let refused = export(&run, tool, &taken, None).unwrap_err().to_string();
        assert!(refused.contains("taken: is there already and not empty"), "{refused}");
        let refused = export(&run, tool, &taken.join("note"), None).unwrap_err().to_string();
        assert!(refused.contains("note: is there already"), "{refused}");
        assert_eq!(fs::read_dir(&taken).unwrap().count(), 1);
    }
    let empty: &Path = &folder.path().join("empty");
    fs::create_dir(empty).unwrap();
    export(&run, &EXPORTERS[0], empty, None).unwrap();
    fs::remove_file(run.summary()).unwrap();
    let refused = export(&run, &EXPORTERS[0], &folder.path().join("new"), None).unwrap_err().to_string();
    assert!(refused.contains("summary.json: is not there"), "{refused}");
}
