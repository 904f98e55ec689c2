//! Caches of torch-fidelity through `convert`, and the distances that its own statistics give.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use serde_json::Value;

use crate::support::{Desk, workspace};

fn cached(name: &str) -> String {
    workspace("harness/convert/tests/fixtures/fidelity").join(name).to_str().unwrap().to_owned()
}

fn expected() -> Value {
    serde_json::from_str(&std::fs::read_to_string(cached("expected.json")).unwrap()).unwrap()
}

#[test]
fn the_statistics_of_two_caches_give_the_distance_that_the_tool_gives() {
    let desk = Desk::new();
    for side in ["a", "b"] {
        let out = format!("kept/{side}.npz");
        let ran = desk.succeeds(&["convert", &cached(&format!("{side}-small-stat-fid-six.pt")), &out]);
        for part in
            ["mean and covariance of 6 features (mu, sigma)", "which does not state", "(n)", "network"]
        {
            assert!(ran.out.contains(part), "{}", ran.out);
        }
    }
    let answered = desk.json(&["fid", "kept/a.npz", "kept/b.npz"]);
    let (found, tools) = (answered["value"].as_f64().unwrap(), expected()["fid"].as_f64().unwrap());
    assert!((found - tools).abs() <= 1e-5 * tools, "{found} {tools}");
    assert_eq!(
        (&answered["n"], &answered["made_by"][0]),
        (&serde_json::json!([null, null]), &"unknown".into())
    );
}

#[test]
fn features_of_a_cache_give_the_distance_of_its_statistics_and_more() {
    let desk = Desk::new();
    for side in ["a", "b"] {
        let out = format!("{side}.npy");
        let report = desk.json(&["convert", &cached(&format!("{side}-small-features-six.pt")), &out]);
        assert_eq!(report["holds"], "12 rows of 6 features, F32");
        assert_eq!(report["sources"][0]["file"], format!("{side}-small-features-six.pt"));
    }
    let found = desk.json(&["fid", "a.npy", "b.npy"])["value"].as_f64().unwrap();
    let tools = expected()["fid"].as_f64().unwrap();
    // The tool's mean is a single: of features near 0.5, whose distance is small, it costs some digits.
    assert!((found - tools).abs() <= 1e-4 * tools, "{found} {tools}");
    let layer = desk.json(&["convert", &cached("a-layers.pt"), "means.npy", "--key", "means"]);
    assert_eq!(layer["holds"], "12 rows of 3 features, F32, layer `means`");
    let half = desk.json(&["convert", &cached("a-layers.pt"), "half.npy", "--key", "six", "--dtype", "f16"]);
    assert_eq!(half["holds"], "12 rows of 6 features, F16, layer `six`");
}

#[test]
fn what_a_cache_does_not_hold_is_said_with_what_to_write_instead() {
    let desk = Desk::new();
    let (statistics, features) = (cached("a-small-stat-fid-six.pt"), cached("a-small-features-six.pt"));
    desk.fails(&["convert", &statistics, "x.safetensors"], 4, &["`mu`, `sigma`", "OUT.npz"]);
    desk.fails(&["convert", &statistics, "x.npy"], 4, &["these are statistics: write them as OUT.npz"]);
    desk.fails(&["convert", &features, "x.npz"], 4, &["these are features: write them as OUT.npy"]);
    desk.fails(
        &["convert", &cached("a-layers.pt"), "x.npy"],
        4,
        &["`means` [12, 3], `six` [12, 6]", "--key"],
    );
    let ran = ["convert", &statistics, "x.npz", "--dtype", "f32"];
    desk.fails(&ran, 2, &["`--dtype` has no meaning"]);
    desk.fails(&["fid", &statistics, "x.npz"], 2, &["specimen convert", "OUT.npz"]);
    desk.file("x.safetensors", "");
    desk.fails(&["fid", "x.safetensors", "x.npz"], 2, &["specimen convert x.safetensors OUT.npy"]);
    assert!(!desk.path("x.npz").exists() && !desk.path("x.npy").exists());
}
