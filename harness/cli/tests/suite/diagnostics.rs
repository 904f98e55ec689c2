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
";

/// A tree over the network that draws noise, in place of a chain, which has one path only.
fn asked(desk: &Desk) -> String {
    let text = fs::read_to_string(spec("ci/stub.toml")).unwrap();
    let tree = "shape = \"static\", tree = [[0], [1], [2], [0, 0], [1, 0], [2, 0]]";
    desk.file("asked.toml", &(text.replace("shape = \"chain\", depth = 2", tree) + ASKED))
}

fn read(desk: &Desk, file: &str) -> Value {
    serde_json::from_str(&fs::read_to_string(desk.path(file)).unwrap()).unwrap()
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
    for name in ["features.svg", "features.csv", "paths.png", "paths.csv"] {
        assert!(desk.path("r/report").join(name).is_file(), "{name}");
    }
    desk.succeeds(&["run", &file, "--limit", "4", "--out", "whole"]);
    for name in ["feature-rows/ar.json", "feature-rows/sd-chain2.json", "draft-paths/sd-chain2.json"] {
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
