//! `specimen tune` on objectives that no clock decides: on the embedded model, and on the network that draws noise.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{fs, time::SystemTime};

use serde_json::Value;

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

/// Four settings on noise: two rungs and a held-out part.
fn noise(desk: &Desk) -> String {
    chains(desk, "stub", "[1, 2, 3, 4]", "18")
}

fn trace(desk: &Desk, out: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(desk.path(out).join("tune.json")).unwrap()).unwrap()
}

fn touched(desk: &Desk, file: &str) -> SystemTime {
    fs::metadata(desk.path(file)).unwrap().modified().unwrap()
}

#[test]
fn the_embedded_model_is_tuned_to_the_fewest_forwards_within_a_budget() {
    let desk = Desk::new();
    let file = chains(&desk, "tiny", "[1, 3]", "12");
    let args = [
        "tune",
        &file,
        "--objective",
        "nfe",
        "--subject-to",
        "accepted_per_step<=1.2,nfe<=ar*0.7",
        "--out",
        "t",
    ];
    let found = desk.json(&args);
    let best = found["verdict"]["setting"].as_str().unwrap();
    assert_eq!(found["verdict"]["kind"], "confirmed", "{found:#}");
    // Three drafts a step save more forwards and accept more than the budget allows.
    assert_eq!(best, "sd[depth=1]", "{found:#}");
    assert_eq!(found["rungs"][0]["trials"].as_array().unwrap().len(), 2, "{found:#}");
    let held_out = &found["confirmation"]["prompts"];
    assert_eq!(held_out, &serde_json::json!([6, 12]));
    let objective = &found["confirmation"]["objective"];
    assert!(objective["value"].is_number() && objective["ci95"].is_array(), "{found:#}");
    let csv = fs::read_to_string(desk.path("t/tune.csv")).unwrap();
    assert!(csv.starts_with("rung,first_prompt,") && csv.contains("held-out,6,12,held-out,"), "{csv}");
}

#[test]
fn a_tuning_that_lies_there_is_continued_and_comes_out_the_same() {
    let desk = Desk::new();
    let file = noise(&desk);
    let args = ["tune", &file, "--objective", "tokens_per_forward", "--out", "t"];
    let whole = desk.succeeds(&args).out;
    assert!(whole.contains("is the best. There is no bound that held-out prompts could refute."), "{whole}");
    let (first, before) = (trace(&desk, "t"), touched(&desk, "t/rung-1/merged/summary.json"));
    let status = |expected: &[&str]| {
        let told = desk.succeeds(&["status", "t"]).out;
        expected.iter().for_each(|line| assert!(told.contains(line), "{told}"));
    };
    status(&[
        "tuning  chains: tokens_per_forward of 4 settings\n",
        "state   finished\n",
        "run     held-out\n",
    ]);
    status(&["verdict `sd[depth="]);
    // As a kill after the first rung leaves it.
    let mut cut = first.clone();
    cut["rungs"].as_array_mut().unwrap().truncate(1);
    (cut["confirmation"], cut["verdict"]) = (Value::Null, Value::Null);
    fs::write(desk.path("t/tune.json"), cut.to_string()).unwrap();
    status(&[
        "state   incomplete: rung-2 is next or under way",
        "rungs   1 of at most 2 done, ",
        "verdict No verdict yet",
    ]);
    // A damaged trace is said to be one, and what to do.
    fs::write(desk.path("t/tune.json"), "{\"schema\": 1, \"na").unwrap();
    for command in [&["status", "t"][..], &args[..]] {
        desk.fails(command, 4, &["t/tune.json: no tuning", "remove the file and run the same `tune` again"]);
    }
    // As a kill between the rungs leaves it: the first is whole, the second has lost what a worker had not finished.
    fs::remove_dir_all(desk.path("t/held-out")).unwrap();
    fs::remove_file(desk.path("t/tune.json")).unwrap();
    fs::remove_dir_all(desk.path("t/rung-2/merged")).unwrap();
    fs::remove_dir_all(desk.path("t/rung-2/shards")).unwrap();
    assert_eq!(desk.succeeds(&args).out, whole);
    assert_eq!(trace(&desk, "t"), first);
    assert_eq!(touched(&desk, "t/rung-1/merged/summary.json"), before, "a finished rung is not made again");
}

/// The best of exact settings is confirmed by a run of exact cells alone.
#[test]
fn a_distance_from_the_baseline_stays_one_where_every_cell_is_exact() {
    let desk = Desk::new();
    let file = noise(&desk);
    let text = fs::read_to_string(desk.path(&file)).unwrap() + "[[metric]]\nname = \"target-nll\"\n";
    let file = desk.file("scored.toml", &text);
    let found = desk.json(&["tune", &file, "--objective", "target-nll", "--out", "t"]);
    assert_eq!(found["confirmation"]["objective"]["value"], 0.0, "{found:#}");
    let table = fs::read_to_string(desk.path("t/tune.md")).unwrap();
    assert!(table.contains("the lowest abs. Δ target-nll of 4 settings"), "{table}");
}

#[test]
fn a_budget_that_nothing_meets_ends_with_1_and_names_the_nearest() {
    let desk = Desk::new();
    let file = noise(&desk);
    let args = ["tune", &file, "--objective", "tokens_per_forward", "--subject-to", "nfe<=3", "--out", "t"];
    let said = "No setting meets the budget: on 6 prompts each misses a bound for certain. The nearest is `sd[depth=";
    desk.fails(&args, 1, &[said]);
    assert_eq!(trace(&desk, "t")["verdict"]["kind"], "none-meets");
    assert!(!desk.path("t/held-out").exists(), "there is nothing to confirm");
}

#[test]
fn a_goal_a_spec_or_a_number_of_prompts_that_allows_no_tuning_is_refused_before_anything_runs() {
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
    desk.fails(&with(&["nfe", "--limit", "9"]), 3, &["9 prompts", "at least 12", "--limit"]);
    desk.fails(&with(&["nfe", "--prompts", "2"]), 3, &["--prompts 2 is too few", "at least 6"]);
    desk.fails(&with(&["nfe", "--prompts", "13"]), 3, &["18 prompts", "at least 20"]);
    let alone = desk.file(
        "alone.toml",
        fs::read_to_string(&file).unwrap().split("[[cell]]\nname = \"sd\"").next().unwrap(),
    );
    desk.fails(&["tune", &alone, "--objective", "nfe"], 3, &["no cell but the baseline"]);
    assert!(!desk.path("results").exists());
}

#[test]
fn a_folder_with_another_tuning_is_refused_and_its_answer_kept() {
    let desk = Desk::new();
    let file = noise(&desk);
    let tune = |bound: &str| {
        let args = ["tune", &file, "--objective", "nfe", "--subject-to", bound, "--out", "t"];
        desk.run(&args)
    };
    let first = tune("nfe<=ar");
    let answer = trace(&desk, "t");
    assert!(!answer["rungs"].as_array().unwrap().is_empty(), "{}", first.err);
    let other = tune("nfe<=ar*0.9");
    assert_eq!(other.code, 2, "{}", other.err);
    assert!(other.err.contains("t has another tuning; it differs in the bounds"), "{}", other.err);
    assert_eq!(trace(&desk, "t"), answer);
    assert_eq!(tune("nfe<=ar").code, first.code, "the same tuning continues");
    // So does one with --prompts of a program whose traces did not say that it was given.
    let given = |n: &str| desk.run(&["tune", &file, "--objective", "nfe", "--prompts", n, "--out", "g"]);
    let first = given("6");
    let mut earlier = trace(&desk, "g");
    assert_eq!(earlier["schedule"]["is_first_given"], true, "{}", first.err);
    earlier["schedule"].as_object_mut().unwrap().remove("is_first_given");
    desk.file("g/tune.json", &earlier.to_string());
    assert_eq!(given("6").code, first.code);
    let other = given("7");
    assert!(other.err.contains("it differs in the prompts (--limit, --prompts)"), "{}", other.err);
}
