//! Images that are decoded together: one plan, the same bytes however it is cut and continued, times that are shared, and
//! images that can be made again one by one.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{collections::BTreeSet, fs};

use serde_json::Value;

use crate::support::{Desk, cell, spec};

/// Timed cells of each kind of drafter, and one that is not timed.
const CELLS: &str = r#"cell = [
    { name = "ar" },
    { name = "chain", drafter = { proposer = "eagle1", shape = "chain", depth = 3 } },
    { name = "sjd", drafter = { proposer = "jacobi", window = 8, init = "random" } },
    { name = "vvs", timed = false, drafter = { proposer = "eagle1", shape = "static", tree = "mc_sim_7b_63" }, schedule = { kind = "vvs", trigger = "interval", every = 2 } },
]"#;

fn run(desk: &Desk, out: &str, limit: &str, batch: &str, more: &[&str]) {
    let cells = CELLS.replace('\n', " ");
    let model = format!("model={{ name = \"stub\", dtype = \"f32\", batch = {batch} }}");
    let fixed = ["run", &spec("ci/stub.toml"), "--limit", limit, "--out", out, "-q"];
    let sets = ["--set", &cells, "--set", &model, "--set", "timing.blocks=4", "--set", "timing.warmup=1"];
    desk.succeeds(&[&fixed[..], &sets, more].concat());
}

#[test]
fn a_batch_gives_the_same_bytes_however_it_is_cut_and_each_image_again_alone() {
    let desk = Desk::new();
    run(&desk, "whole", "4", "4", &["--jobs", "1"]);
    run(&desk, "cut", "4", "4", &["--jobs", "2"]);
    for file in ["plan.json", "merged/records.jsonl", "merged/steps.jsonl"] {
        let bytes = |run: &str| fs::read(desk.path(run).join(file)).unwrap();
        assert!(bytes("whole") == bytes("cut"), "{file}");
    }
    desk.succeeds(&["verify", "whole"]);
    // All 16 of them.
    let again = desk.json(&["verify", "--deep", "whole", "--replay", "100"]);
    assert_eq!(again["n_replayed"], 16);
    run(&desk, "single", "4", "1", &["--jobs", "1"]);
    let tokens = |run: &str| desk.rows(&format!("{run}/merged/records.jsonl"));
    let (batch, single) = (tokens("whole"), tokens("single"));
    let same = batch.iter().zip(&single).filter(|(a, b)| a["tokens"] == b["tokens"]).count();
    // In f32 a sum that is rounded otherwise seldom moves a draw.
    assert!(
        (batch.len(), single.len()) == (16, 16) && same >= 14,
        "{same} of 16 images are those of one at a time"
    );
}

#[test]
fn a_batch_is_paired_with_that_of_the_same_images_in_whatever_block_it_was_timed() {
    let desk = Desk::new();
    // Blocks are numbered over all batch sizes, so those of four images have other numbers in the second run.
    run(&desk, "four", "8", "4", &["--sweep", "model.batch=4", "--jobs", "1"]);
    run(&desk, "both", "8", "4", &["--sweep", "model.batch=2,4", "--jobs", "1"]);
    let found = desk.json(&["compare", "four", "both"]);
    let rows = found["rows"].as_array().unwrap();
    let times = rows.iter().filter(|row| row["measure"] == "decode_s").collect::<Vec<_>>();
    assert_eq!(times.len(), 3, "{found:#}");
    assert!(times.iter().all(|row| row["n"] == 2 && row["observed"] == "batches"), "{times:#?}");
    let is_counted = |row: &&Value| row["measure"] == "accepted_per_step" && row["cell"] == "chain[batch=4]";
    let counts = rows.iter().find(is_counted).unwrap();
    assert!(counts["n"] == 8 && counts["observed"] == "prompts", "{counts:#?}");
    assert!(desk.succeeds(&["compare", "four", "both"]).out.contains("2 batches"));
    let sizes = desk.succeeds(&["compare", "both", "both", "--cell", "chain[batch=2]=chain[batch=4]"]).out;
    assert!(sizes.contains("fewer than two batches of the same images were timed on both sides"), "{sizes}");
}

#[test]
fn the_images_of_a_batch_share_its_time_and_count_once() {
    let desk = Desk::new();
    run(&desk, "r", "8", "4", &["--jobs", "1"]);
    let mut units = BTreeSet::new();
    for row in desk.rows("r/shards/0/attempts/0/timing.jsonl") {
        if row["warmup"] == false {
            assert_eq!((&row["batch"]["size"], &row["batch"]["index"]), (&4.into(), &0.into()), "{row}");
            units.insert((row["block"].to_string(), row["decode_ns"].to_string()));
        }
    }
    assert_eq!(units.len(), 6, "three timed cells in two blocks of four prompts have one time each");
    let summary = desk.document("r/merged/summary.json");
    let chain = cell(&summary, "chain");
    // Two batches are two observations: a ratio has a value and no interval, and the table says so.
    let speedup = &chain["measures"]["speedup"];
    assert!(speedup["value"].is_f64(), "{speedup}");
    for mean in ["speedup", "speedup_geomean", "speedup_median"] {
        assert!(chain["measures"][mean]["ci95"].is_null(), "{mean}: {chain}");
    }
    assert_eq!(speedup["observations"], serde_json::json!({"n": 2, "of": "batches"}), "{speedup}");
    let table = desk.succeeds(&["report", "r"]).out;
    assert!(table.contains("speedups over 2 batches"), "{table}");
    assert!(table.contains("no interval: 2 batches"), "{table}");
    run(&desk, "one", "4", "4", &["--jobs", "1"]);
    let table = desk.succeeds(&["report", "one"]).out;
    assert!(table.contains("fewer than two batches"), "{table}");
}

#[test]
fn a_batch_that_is_not_full_grows() {
    let desk = Desk::new();
    let untimed =
        ["--set", "cell.ar.timed=false", "--set", "cell.chain.timed=false", "--set", "cell.sjd.timed=false"];
    run(&desk, "r", "3", "4", &untimed);
    let before = desk.rows("r/merged/records.jsonl");
    run(&desk, "r", "6", "4", &[&untimed[..], &["--resume"]].concat());
    run(&desk, "at-once", "6", "4", &untimed);
    let (grown, at_once) = (desk.rows("r/merged/records.jsonl"), desk.rows("at-once/merged/records.jsonl"));
    assert_eq!((before.len(), grown.len()), (12, 24));
    assert_eq!(grown, at_once);
}
