//! `specimen tune` on objectives that no clock decides: on the embedded model, and on the network that draws noise.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use crate::support::Desk;

/// Chains of one to four drafts; the fewest forwards are those of the longest.
const CHAINS: &str = r#"
schema = 1
name = "chains"
seed = 5
dataset = { name = "scenes-val", limit = LIMIT }
model = { name = "MODEL", dtype = "f32" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 2.0 }
timing = { warmup = 0, blocks = 4 }
[[cell]]
name = "ar"
[[cell]]
name = "sd"
timed = false
drafter = { proposer = "eagle1", shape = "chain", depth = 1 }
[axes]
"cell.sd.drafter.depth" = DEPTHS
"#;

fn chains(desk: &Desk, model: &str, depths: &str, limit: &str) -> String {
    let text = CHAINS.replace("MODEL", model).replace("DEPTHS", depths).replace("LIMIT", limit);
    desk.file(&format!("{model}.toml"), &text)
}

/// Four settings on noise.
fn noise(desk: &Desk) -> String {
    chains(desk, "stub", "[1, 2, 3, 4]", "18")
}

#[test]
fn the_embedded_model_is_tuned_to_the_fewest_forwards_within_a_budget() {
    let desk = Desk::new();
    let file = chains(&desk, "tiny", "[1, 3]", "6");
    let goal = ["--objective", "nfe", "--subject-to", "accepted_per_step<=1.2,nfe<=ar*0.7"];
    let found = desk.json(&[&["tune", &file, "--out", "t"], &goal[..]].concat());
    // Three drafts a step save more forwards and accept more than the budget allows.
    assert_eq!(found["best"], "sd[depth=1]", "{found:#}");
    let standings: Vec<_> =
        found["settings"].as_array().unwrap().iter().map(|one| &one["standing"]).collect();
    assert_eq!(standings, ["meets", "misses"], "{found:#}");
    assert!(found["settings"][0]["objective"]["ci95"].is_array(), "{found:#}");
    let csv = desk.text("t/report/tune.csv");
    assert!(csv.starts_with("setting,standing,") && csv.lines().count() == 5, "{csv}");
    // The run is taken as it is, by the same and by another goal.
    let again = desk.json(&[&["tune", "t"], &goal[..]].concat());
    assert_eq!(again, found);
    let other = desk.json(&["tune", "t", "--objective", "nfe"]);
    assert_eq!(other["best"], "sd[depth=3]", "{other:#}");
    desk.fails(&["tune", "t", "--objective", "nfe", "--limit", "4"], 2, &["t is a run", "leave out --set"]);
    desk.succeeds(&["verify", "--deep", "t"]);
}

/// Exact settings alone have no relaxed cell that says so.
#[test]
fn a_distance_from_the_baseline_stays_one_where_every_cell_is_exact() {
    let desk = Desk::new();
    let text = fs::read_to_string(noise(&desk)).unwrap() + "[[metric]]\nname = \"target-nll\"\n";
    let file = desk.file("scored.toml", &text);
    let found = desk.succeeds(&["tune", &file, "--objective", "target-nll", "--out", "t"]);
    assert!(found.out.contains("the lowest abs. Δ target-nll of 4 settings"), "{}", found.out);
    assert!(found.out.contains("abs. Δ target-nll: 0 of an exact method"), "{}", found.out);
}

#[test]
fn a_budget_that_nothing_meets_ends_with_1_and_names_the_nearest() {
    let desk = Desk::new();
    let file = noise(&desk);
    let args = ["tune", &file, "--objective", "tokens_per_forward", "--subject-to", "nfe<=3", "--out", "t"];
    desk.fails(&args, 1, &["No setting meets the bounds. The nearest is `sd[depth=", "misses nfe<=3 by "]);
}

#[test]
fn a_goal_or_a_spec_that_allows_no_tuning_is_refused_before_anything_runs() {
    let desk = Desk::new();
    let file = noise(&desk);
    let tune = ["tune", &file, "--objective"];
    let with = |more: &[&'static str]| [&tune[..], more].concat();
    desk.fails(&with(&["nfee"]), 2, &["--objective nfee: ", "did you mean `nfe`?"]);
    let bad = with(&["nfe", "--subject-to", "nfe<=ar,tpv>=1"]);
    desk.fails(&bad, 2, &["--subject-to nfe<=ar,tpv>=1: at character 9: ", "did you mean `tpf`?"]);
    let untimed =
        ["cell `sd[depth=1]` will have no ", "cell `sd[depth=1]` is untimed; leave out its `timed = false`"];
    desk.fails(&with(&["speedup"]), 3, &untimed);
    desk.fails(&with(&["nfe", "--subject-to", "decode_s<=1"]), 3, &untimed);
    let alone = desk.file(
        "alone.toml",
        fs::read_to_string(&file).unwrap().split("[[cell]]\nname = \"sd\"").next().unwrap(),
    );
    desk.fails(&["tune", &alone, "--objective", "nfe"], 3, &["no cell but the baseline"]);
    assert!(!desk.path("results").exists());
}
