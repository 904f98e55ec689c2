//! Cost tables of several models, one process each.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fs;

use crate::support::Desk;

const BENCH: [&str; 8] =
    ["bench-device", "--device", "cpu", "--dtype", "f32", "--repetitions", "10", "--out=bench"];

#[test]
fn a_model_that_cannot_be_timed_is_a_row_and_costs_the_others_nothing() {
    let desk = Desk::new();
    let args = [&BENCH[..], &["--models", "llamagen-toy,llamagen-c2i-toy,igpt-mnist"]].concat();
    let ran = desk.succeeds(&args);
    assert!(ran.err.contains("timing llamagen-toy"), "{}", ran.err);
    assert!(ran.err.contains("igpt-mnist is not timed: "), "{}", ran.err);
    let page = fs::read_to_string(desk.path("bench/README.md")).unwrap();
    let row = page.lines().find(|line| line.starts_with("| llamagen-toy ")).unwrap();
    // Every verification is there, and both drafters.
    assert!(row.contains("eagle1 ") && row.contains("eagle3 "), "{row}");
    // A model of classes is given one.
    assert!(page.lines().any(|line| line.starts_with("| llamagen-c2i-toy ")), "{page}");
    let missing = page.lines().find(|line| line.starts_with("| igpt-mnist ")).unwrap();
    assert!(missing.len() > "| igpt-mnist | | |".len(), "{missing}");

    let table = fs::read_to_string(desk.path("bench/llamagen-toy.toml")).unwrap();
    for part in [
        "prefill_seconds = ",
        "picture_seconds = ",
        "nodes = 60",
        "weights = \"made\"",
        "peak_device_unknown = \"it computes on no GPU\"",
    ] {
        assert!(table.contains(part), "{part} is not in {table}");
    }
    assert!(!table.contains("[copies]"), "a CPU has no copies: {table}");
    assert!(page.contains("The memory of the GPU is not known: it computes on no GPU."), "{page}");
    let command = "Command: specimen bench-device --device cpu --dtype f32 --guidance 3 --models \
                   llamagen-toy,llamagen-c2i-toy,igpt-mnist \
                   --threads 1 --repetitions 10 --seconds 480 --out bench\n";
    assert!(page.contains(command), "{page}");
    let again = desk.succeeds(&args);
    assert!(again.err.contains("llamagen-toy was timed before"), "{}", again.err);
    assert_eq!(fs::read_to_string(desk.path("bench/llamagen-toy.toml")).unwrap(), table);
    assert!(!table.contains("eager_step"), "{table}");
    let other = [&args[..], &["--guidance", "2"]].concat();
    desk.fails(&other, 2, &["llamagen-toy.toml", "with guidance 3; choose another --out"]);
}

#[test]
fn steps_over_buffers_stand_beside_eager_ones() {
    let desk = Desk::new();
    desk.succeeds(&[&BENCH[..], &["--models", "llamagen-toy", "--graphs", "true"]].concat());
    let page = fs::read_to_string(desk.path("bench/README.md")).unwrap();
    let head = page.lines().find(|line| line.starts_with("| model ")).unwrap();
    let at = head.split('|').position(|name| name.contains("eager step")).unwrap();
    let row = page.lines().find(|line| line.starts_with("| llamagen-toy ")).unwrap();
    let shown: f64 = row.split('|').nth(at).unwrap().trim().parse().unwrap();
    let table = fs::read_to_string(desk.path("bench/llamagen-toy.toml")).unwrap();
    let (_, eager) = table.split_once("[eager_step]\nsteps = ").unwrap();
    let measured: f64 = eager.lines().next().unwrap().parse().unwrap();
    assert!((shown - measured).abs() < 0.006, "{shown}, {measured}");
    // And every verification.
    let eager = table.split("[verification.eager]\nsteps = ").skip(1);
    let eager: Vec<f64> = eager.map(|text| text.lines().next().unwrap().parse().unwrap()).collect();
    assert_eq!(eager.len(), 6, "{table}");
    let at = head.split('|').position(|name| name.contains("32 nodes, eager")).unwrap();
    let shown: f64 = row.split('|').nth(at).unwrap().trim().parse().unwrap();
    assert!((shown - eager[4]).abs() < 0.006, "{shown}, {eager:?}");
}

#[test]
fn without_a_gpu_one_sentence_says_so_before_any_model() {
    let desk = Desk::new();
    // No machine has so many.
    let ran = desk.run(&["bench-device", "--device", "cuda:999"]);
    assert_eq!(ran.code, 6, "{}", ran.err);
    assert_eq!(ran.err.lines().count(), 1, "{}", ran.err);
    assert!(ran.err.starts_with("error: device `cuda:999` cannot be used: "), "{}", ran.err);
    assert!(!desk.path("bench-device").exists());
}

#[test]
fn without_time_or_a_known_model_there_is_no_page() {
    let desk = Desk::new();
    let over = [&BENCH[..], &["--models", "llamagen-toy", "--seconds", "0"]].concat();
    desk.fails(&over, 6, &["no model was timed"]);
    desk.fails(&[&BENCH[..], &["--models", "lamagen"]].concat(), 2, &["no model `lamagen`", "janus-pro-1b"]);
    assert!(!desk.path("bench/README.md").exists());
}
