//! A run becomes that of a larger plan: what is missing is made beside what is there, and the digests are those of a run
//! made at once. What would change the meaning of an image that is there is refused. On the stub network.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use serde_json::Value;

use crate::support::{Desk, all_named, cell, spec};

/// The cells `ar` and `sd-chain2`, timed, and one that is not.
const CELLS: &str = "{ name = \"ar\" }, { name = \"sd-chain2\", drafter = { proposer = \"eagle1\", shape = \"chain\", depth = 2 } }";
const UNTIMED: &str = "{ name = \"quality\", timed = false, drafter = { proposer = \"eagle1\", shape = \"chain\", depth = 3 } }";
const ADDED: &str =
    "{ name = \"added\", timed = false, drafter = { proposer = \"eagle1\", shape = \"chain\", depth = 1 } }";
const TIMED: &str = "{ name = \"timed\", drafter = { proposer = \"eagle1\", shape = \"chain\", depth = 1 } }";

fn command(out: &str, limit: &str, cells: &[&str], more: &[&str]) -> Vec<String> {
    let cells = format!("cell=[{}]", cells.join(", "));
    let fixed = ["run", &spec("ci/stub.toml"), "--limit", limit, "--set", &cells, "--out", out];
    let blocks = ["--set", "timing.blocks=4", "--jobs", "1"];
    fixed.iter().chain(&blocks).chain(more).map(|part| (*part).to_owned()).collect()
}

fn run(desk: &Desk, out: &str, limit: &str, cells: &[&str], more: &[&str]) -> String {
    let command = command(out, limit, cells, more);
    let parts: Vec<&str> = command.iter().map(String::as_str).collect();
    desk.succeeds(&parts).err
}

#[track_caller]
fn refused(desk: &Desk, limit: &str, cells: &[&str], more: &[&str], parts: &[&str]) {
    let command = command("r", limit, cells, &[&["--resume"], more].concat());
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    desk.fails(&command, 3, &[&["r: a run with another plan is there already"], parts].concat());
}

fn manifest(desk: &Desk, out: &str) -> Value {
    desk.document(&format!("{out}/manifest.json"))
}

/// That the run at `out` is that of `whole`, made at once.
#[track_caller]
fn check_equal(desk: &Desk, out: &str, whole: &str) {
    desk.succeeds(&["verify", out]);
    let (grown, at_once) = (manifest(desk, out), manifest(desk, whole));
    for field in ["plan_digest", "spec_digest", "datasets", "weights"] {
        assert_eq!(grown[field], at_once[field], "{field}");
    }
    assert_eq!(grown["sealed"]["result_digest"], at_once["sealed"]["result_digest"]);
    for file in ["plan.json", "merged/records.jsonl", "merged/steps.jsonl"] {
        let bytes = |run: &str| fs::read(desk.path(run).join(file)).unwrap();
        assert!(bytes(out) == bytes(whole), "{file}");
    }
}

/// Rows of all attempts of a run, the records that were made.
fn n_made(desk: &Desk, out: &str) -> usize {
    let records = all_named(&desk.path(out).join("shards"), "records.jsonl");
    records.iter().map(|path| fs::read_to_string(path).unwrap().lines().count()).sum()
}

#[test]
fn more_prompts_are_made_beside_those_that_are_there_and_timed_blocks_stay_whole() {
    let desk = Desk::new();
    let cells = [CELLS, UNTIMED];
    run(&desk, "r", "6", &cells, &["--shards", "2"]);
    assert_eq!(n_made(&desk, "r"), 18);
    let said = run(&desk, "r", "10", &cells, &["--resume"]);
    // The second block had two of its four prompts.
    let there = "18 of 30 images are there, 12 missing; 1 timed block(s) have some of their images and are timed again";
    assert!(said.contains(there), "{said}");
    // Four prompts of the second block and two of the third in two cells, and four of the untimed cell.
    assert_eq!(n_made(&desk, "r"), 18 + 8 + 4 + 4);
    run(&desk, "whole", "10", &cells, &[]);
    check_equal(&desk, "r", "whole");
    let said = run(&desk, "r", "10", &cells, &["--resume"]);
    assert!(said.contains("nothing is left to do"), "{said}");
    // Every time of a block is of one attempt.
    let found = desk.json(&["compare", "r", "whole"]);
    assert!(found["rows"].as_array().unwrap().iter().any(|row| row["measure"] == "speedup"), "{found:#}");
}

#[test]
fn cells_samples_and_metrics_are_made_beside_those_that_are_there() {
    let desk = Desk::new();
    run(&desk, "r", "4", &[CELLS], &[]);
    // An untimed cell costs its own images only.
    let said = run(&desk, "r", "4", &[CELLS, ADDED], &["--resume"]);
    assert!(said.contains("8 of 12 images are there, 4 missing") && !said.contains("timed again"), "{said}");
    assert_eq!(n_made(&desk, "r"), 12);
    run(&desk, "added", "4", &[CELLS, ADDED], &[]);
    check_equal(&desk, "r", "added");
    // A timed one is compared with the others, so the block is timed again.
    let said = run(&desk, "r", "4", &[CELLS, TIMED, ADDED], &["--resume"]);
    assert!(said.contains("1 timed block(s) have some of their images and are timed again"), "{said}");
    run(&desk, "timed", "4", &[CELLS, TIMED, ADDED], &[]);
    check_equal(&desk, "r", "timed");
    let samples = ["--set", "dataset.samples=2", "--set", "metric=[{ name = \"target-nll\" }]"];
    run(&desk, "r", "4", &[CELLS, TIMED, ADDED], &[&["--resume"], &samples[..]].concat());
    run(&desk, "samples", "4", &[CELLS, TIMED, ADDED], &samples);
    check_equal(&desk, "r", "samples");
    assert!(desk.path("r/metrics/target-nll/timed.json").is_file());
}

#[test]
fn what_changes_the_meaning_of_an_image_is_refused_with_what_differs() {
    let desk = Desk::new();
    let prompts = desk.file("prompts.txt", "a circle\na square\na star\n");
    let set = format!("dataset.name={prompts:?}");
    let of_file = ["--set", &set[..]];
    run(&desk, "r", "2", &[CELLS], &of_file);
    let before = desk.bytes("r/manifest.json");
    let with = |more: &[&'static str]| [&["--set", set.clone().leak() as &'static str], more].concat();
    refused(&desk, "1", &[CELLS], &with(&[]), &["ar/1/0, is not asked for any more", "`limit` was 2, is 1"]);
    refused(&desk, "3", &[UNTIMED], &with(&[]), &["`cells.ar` was {", "is absent"]);
    let other = CELLS.replace("depth = 2", "depth = 3");
    refused(&desk, "3", &[&other], &with(&[]), &["`cells.sd-chain2.method.drafter.depth` was 2, is 3"]);
    refused(&desk, "3", &[CELLS], &with(&["--set", "seed=9"]), &["`seed` was 5, is 9"]);
    refused(&desk, "3", &[CELLS], &with(&["--set", "timing.warmup=2"]), &["`timing.warmup` was 1, is 2"]);
    desk.file("prompts.txt", "a circle\na hill\na star\n");
    refused(&desk, "3", &[CELLS], &with(&[]), &["has another prompt"]);
    desk.file("prompts.txt", "a circle\na square\na star\n");
    assert!(desk.bytes("r/manifest.json") == before);
    desk.succeeds(&["verify", "r"]);

    // A driver that was killed while it enlarged the run: the plan is there, the manifest is the old one.
    run(&desk, "whole", "3", &[CELLS], &of_file);
    fs::copy(desk.path("whole/plan.json"), desk.path("r/plan.json")).unwrap();
    fs::remove_file(desk.path("r/checksums.json")).unwrap();
    let mut half = manifest(&desk, "r");
    half["sealed"] = Value::Null;
    fs::write(desk.path("r/manifest.json"), half.to_string()).unwrap();
    run(&desk, "r", "3", &[CELLS], &[&["--resume"], &of_file[..]].concat());
    check_equal(&desk, "r", "whole");
}

/// Adding a timed cell times every block again: all images of timed cells are made, and only those.
#[test]
fn images_of_blocks_that_are_timed_again_are_announced() {
    let desk = Desk::new();
    run(&desk, "r", "4", &[CELLS, UNTIMED], &[]);
    let before = n_made(&desk, "r");
    let said = run(&desk, "r", "4", &[CELLS, UNTIMED, TIMED], &["--resume"]);
    let n = n_made(&desk, "r") - before;
    assert_eq!(n, 3 * 4, "ar, sd-chain2 and the new cell");
    assert!(said.contains(&format!(": {n} images to make in 4 cells")), "{said}");
    // Only the last attempt timed all cells, so its times are those of the table, and their ratio is the speedup.
    let summary = desk.document("r/merged/summary.json");
    let decode = |id: &str| cell(&summary, id)["measures"]["decode_s"]["value"].as_f64().unwrap();
    let speedup = cell(&summary, "timed")["measures"]["speedup"]["value"].as_f64().unwrap();
    assert!((decode("ar") / decode("timed") / speedup - 1.0).abs() < 1e-9, "{speedup}");
}
