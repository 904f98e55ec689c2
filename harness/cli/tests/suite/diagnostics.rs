//! What a spec asks to be looked at in a few images: made after the run, the same whenever it is made.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use serde_json::Value;

use crate::support::{Desk, spec};

const ASKED: &str = "
[[diagnostic]]
name   = \"feature-rows\"
images = 2
[[diagnostic]]
name   = \"draft-paths\"
images = 3
[[diagnostic]]
name   = \"feature-pairs\"
images = 1
[[diagnostic]]
name   = \"confidence\"
images = 2
[[diagnostic]]
name   = \"risen-tokens\"
images = 2
";

/// A tree over the network that draws noise, in place of a chain, which has one path only.
fn asked(desk: &Desk) -> String {
    let text = fs::read_to_string(spec("ci/stub.toml")).unwrap();
    let tree = "shape = \"static\", tree = [[0], [1], [2], [0, 0], [1, 0], [2, 0]]";
    let jacobi =
        "\n[[cell]]\nname = \"sjd\"\ndrafter = { proposer = \"jacobi\", window = 8, init = \"random\" }\n";
    desk.file("asked.toml", &(text.replace("shape = \"chain\", depth = 2", tree) + jacobi + ASKED))
}

fn read(desk: &Desk, file: &str) -> Value {
    desk.document(file)
}

#[test]
fn a_finished_run_is_looked_into_again_without_making_an_image() {
    let desk = Desk::new();
    let file = asked(&desk);
    let bare =
        desk.file("bare.toml", fs::read_to_string(&file).unwrap().split("\n[[diagnostic]]").next().unwrap());
    desk.succeeds(&["run", &bare, "--limit", "4", "--out", "r"]);
    assert!(!desk.path("r/diagnostics").exists());
    let again = desk.succeeds(&["run", &file, "--limit", "4", "--out", "r", "--resume"]);
    assert!(again.err.contains(": 0 images to make"), "{}", again.err);
    for name in ["features", "feature-pairs", "paths", "confidence", "risen-tokens"]
        .iter()
        .flat_map(|name| ["svg", "csv"].map(|ending| format!("{name}.{ending}")))
    {
        assert!(desk.path("r/report").join(&name).is_file(), "{name}");
    }
    desk.succeeds(&["run", &file, "--limit", "4", "--out", "whole"]);
    for name in [
        "feature-rows/ar.json",
        "feature-rows/sd-chain2.json",
        "draft-paths/sd-chain2.json",
        "risen-tokens/sjd.json",
    ] {
        let of = |run: &str| fs::read(desk.path(run).join("diagnostics").join(name)).unwrap();
        assert_eq!(of("r"), of("whole"), "{name}");
    }
}

#[test]
fn features_and_paths_are_those_of_the_first_images() {
    let desk = Desk::new();
    let file = asked(&desk);
    desk.succeeds(&["run", &file, "--limit", "4", "--out", "r"]);
    let features = read(&desk, "r/diagnostics/feature-rows/ar.json");
    let images = features["feature_rows"].as_array().unwrap();
    assert_eq!(images.len(), 2);
    let n = usize::try_from(images[0]["n_rows"].as_u64().unwrap()).unwrap();
    let between: Vec<f64> =
        images[0]["between"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect();
    for row in 0..n {
        assert_eq!(between[row * n + row], 1.0, "a row is like itself");
        for other in 0..n {
            assert_eq!(between[row * n + other], between[other * n + row], "likeness is mutual");
        }
    }
    let paths = read(&desk, "r/diagnostics/draft-paths/sd-chain2.json");
    let counts = paths["draft_paths"]["counts"].as_array().unwrap();
    let n_trees: u64 = counts.iter().map(|n| n.as_u64().unwrap()).sum();
    assert!(n_trees > 10, "{paths:#}");
    assert_eq!(
        (&paths["draft_paths"]["n_images"], &paths["draft_paths"]["n_repeated"]),
        (&3.into(), &3.into())
    );
    assert_eq!(read(&desk, "r/diagnostics/draft-paths/ar.json")["why"], "it drafts nothing");
    let alone = &read(&desk, "r/diagnostics/draft-paths/quality.json")["draft_paths"];
    assert!(
        alone["mean"].is_null() && alone["n_single"].as_u64().unwrap() > 0,
        "a chain has one path: {alone}"
    );
}

fn sum(counts: &Value) -> u64 {
    counts.as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum()
}

/// The records of a cell's first `n` images.
fn first_records(desk: &Desk, cell: &str, n: usize) -> Vec<Value> {
    let text = desk.text("r/merged/records.jsonl");
    let records = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    records.filter(|record| record["cell"] == cell).take(n).collect()
}

#[test]
fn confidence_and_risen_guesses_agree_with_the_records() {
    let desk = Desk::new();
    let file = asked(&desk);
    desk.succeeds(&["run", &file, "--limit", "4", "--out", "r"]);
    // Plain decoding: every token but the first is sampled from one verification.
    let plain = &read(&desk, "r/diagnostics/confidence/ar.json")["confidence"];
    let records = first_records(&desk, "ar", 2);
    let n_tokens: usize = records.iter().map(|record| record["tokens"].as_array().unwrap().len()).sum();
    assert_eq!(sum(&plain["target"]), n_tokens as u64 - 2, "{plain:#}");
    assert!(plain["tested"].as_array().unwrap().is_empty(), "{plain:#}");
    // A chain has one candidate a level, so the candidates that were tested first are all.
    let chain = &read(&desk, "r/diagnostics/confidence/quality.json")["confidence"];
    for (of_diagnostic, of_records) in [("tested", "tested_by_depth"), ("accepted", "accepted_by_depth")] {
        let recorded: u64 =
            first_records(&desk, "quality", 2).iter().map(|record| sum(&record[of_records])).sum();
        assert_eq!(sum(&chain[of_diagnostic]), recorded, "{of_diagnostic}");
    }
    let jacobi = &read(&desk, "r/diagnostics/risen-tokens/sjd.json")["risen_tokens"];
    let total = |tally: &Value, of: usize| -> u64 {
        ["risen", "not_risen"].iter().map(|part| tally[part][of].as_u64().unwrap()).sum()
    };
    for name in ["accepted", "correct"] {
        let tally = &jacobi[name];
        assert_eq!(
            [sum(&tally["guesses"]), sum(&tally["hits"])],
            [0, 1].map(|of| total(tally, of)),
            "{jacobi:#}"
        );
        assert!(total(tally, 0) > total(tally, 1), "{name}: {jacobi:#}");
    }
    let of_records =
        |of: &str| -> u64 { first_records(&desk, "sjd", 2).iter().map(|record| sum(&record[of])).sum() };
    let [tested, accepted] = [0, 1].map(|of| total(&jacobi["accepted"], of));
    assert!(tested <= of_records("tested_by_depth") && accepted <= of_records("accepted_by_depth"));
    assert_eq!(
        read(&desk, "r/diagnostics/risen-tokens/quality.json")["why"],
        "it keeps no chain of guesses from iteration to iteration"
    );
    let pairs = &read(&desk, "r/diagnostics/feature-pairs/ar.json")["feature_pairs"][0];
    let n = pairs["positions"].as_array().unwrap().len();
    let cosine = |at: usize| pairs["cosines"][at].as_f64().unwrap();
    assert!(n > 1 && (0..n).all(|at| cosine(at * n + at) == 1.0), "a position is like itself");
    assert!((0..n * n).all(|at| cosine(at) == cosine((at % n) * n + at / n)), "likeness is mutual");
}
