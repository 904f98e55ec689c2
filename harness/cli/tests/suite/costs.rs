//! Cost tables of several models, one process each.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use crate::support::Desk;

#[test]
fn a_model_that_cannot_be_timed_is_a_line_and_costs_the_others_nothing() {
    let desk = Desk::new();
    let args = [
        "costs",
        "--made",
        "--dtype",
        "f32",
        "--repetitions",
        "10",
        "--nodes",
        "2,6",
        "--guidance",
        "2",
        "--out",
        "bench",
        "--graphs",
        "true",
        "--model",
        "llamagen-toy,igpt-mnist,llamagen-c2i-toy",
    ];
    let ran = desk.succeeds(&args);
    assert!(
        ran.err.contains("timing llamagen-toy") && ran.err.contains("page: bench/README.md"),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("igpt-mnist is not timed: "), "{}", ran.err);
    let page = desk.text("bench/README.md");
    assert!(
        page.contains("Command: specimen costs --made --dtype f32")
            && page.contains("\nigpt-mnist is not timed: "),
        "{page}"
    );
    for model in ["llamagen-toy", "llamagen-c2i-toy"] {
        let table = desk.text(&format!("bench/{model}.toml"));
        for part in [
            "prefill_seconds = ",
            "picture_seconds = ",
            "nodes = 6",
            "weights = \"made\"",
            "guidance = 2.0",
            "[eager_step]",
            "peak_device_unknown = \"it computes on no GPU\"",
        ] {
            assert!(table.contains(part), "{part} is not in {table}");
        }
        let row = page.lines().find(|line| line.starts_with(&format!("| {model} "))).unwrap();
        let steps = table.split("nodes = 6\nsteps = ").nth(1).unwrap().lines().next().unwrap();
        let steps = format!("6: {:.2}", steps.parse::<f64>().unwrap());
        assert!(row.contains(&steps), "{steps} is not in {row}");
    }
}

#[test]
fn what_is_wrong_with_all_models_is_said_before_any_is_timed() {
    let desk = Desk::new();
    let costs = |device: &'static str, models: &'static str| {
        ["costs", "--made", "--guidance=3", "--out=bench", "--device", device, "--model", models]
    };
    // No machine has so many.
    let ran = desk.run(&costs("cuda:999", "llamagen-toy,tiny"));
    assert_eq!(ran.code, 6, "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.starts_with("error: device `cuda:999` cannot be used: "), "{}", ran.err);
    desk.fails(
        &costs("cpu", "llamagen-toy,lamagen"),
        2,
        &["unknown model `lamagen`, did you mean `llamagen-toy`"],
    );
    desk.fails(&["costs", "--model", "tiny,stub"], 2, &["several models need a folder", "--out DIR"]);
    assert!(!desk.path("bench").exists());
}
