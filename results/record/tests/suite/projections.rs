//! Projected speedups by hand, from counts and a made-up cost table; and cost tables that are refused.

use serde_json::{Value, json};
use specimen_record::{
    CellSummary, Summary,
    summary::{cost_table::CostTable, projection::project},
};

/// No machine has these costs.
const TABLE: &str = r#"schema = 1
model = "tiny"
weights = "embedded"
machine = "Example CPU"
device = "cpu"
dtype = "bf16"
threads = 1
libtorch = "2.13.0"
date = "2026-01-01"
guidance = 3.0
context = [1, 255]
repetitions = 100
bytes_per_second = 1e9
step_bytes = 1000000
step_seconds = 0.002
step_seconds_ci95 = [0.0019, 0.0021]

[[verification]]
nodes = 4
steps = 1.2
ci95 = [1.1, 1.3]

[[verification]]
nodes = 10
steps = 1.5
ci95 = [1.4, 1.6]

[[drafter]]
proposer = "eagle1"
steps = 0.1
ci95 = [0.09, 0.11]
"#;

/// A cell with these tokens, nodes and drafts a verification, target forwards an image and seconds of decoding.
fn cell(id: &str, proposer: &str, [tpf, nodes, drafts, nfe, decode]: [f64; 5]) -> Value {
    let measures = [
        ("speedup", 1.0),
        ("pooled_tpf", tpf),
        ("nodes_per_verification", nodes),
        ("drafts_per_verification", drafts),
        ("nfe", nfe),
        ("decode_s", decode),
    ];
    let measures: Value =
        measures.map(|(name, value)| (name.to_owned(), json!({ "value": value }))).into_iter().collect();
    json!({
        "id": id, "model": "tiny", "dataset": "scenes", "drafter": proposer, "method": "lossless", "guarantee": "exact",
        "baseline": "ar", "dtype": "bf16", "device": "cpu",
        "sampling": {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "guidance": 3.0},
        "params": {"drafter.proposer": proposer}, "n_images": 8, "n_failed": 0, "measures": measures,
        "acceptance_by_depth": [], "metrics": []
    })
}

/// A run of plain decoding and `cells` on `cpu`.
fn summary(cpu: &str, cells: &[Value]) -> Summary {
    let ar = cell("ar", "none", [1.0, 1.0, 0.0, 256.0, 1.024]);
    let cells: Vec<Value> = std::iter::once(ar).chain(cells.iter().cloned()).collect();
    let digest = specimen_record::Digest::of(b"made up");
    serde_json::from_value(json!({
        "schema": 2, "spec": {}, "name": "made-up", "plan_digest": digest, "result_digest": digest, "baseline": "ar",
        "device": "cpu", "dtype": "bf16", "threads": 1, "cpu_model": cpu, "cpu_features": [], "gpus": [],
        "cells": cells
    }))
    .unwrap()
}

/// A cell with its projection under [`TABLE`], on the table's machine.
fn projected(cell: Value) -> CellSummary {
    let mut summary = summary("Example CPU", &[cell]);
    project(&mut summary, &CostTable::parse("made.toml", TABLE).unwrap()).unwrap();
    summary.cells[1].clone()
}

fn near(found: Option<f64>, expected: f64) {
    assert!(found.is_some_and(|found| (found - expected).abs() < 1e-12), "{found:?}, expected {expected}");
}

#[test]
fn a_projected_speedup_is_tokens_over_the_costs_of_the_table() {
    // 7 nodes are half way between 4 and 10: 1.35; three drafts at 0.1.
    near(
        projected(cell("chain", "eagle1", [2.4, 7.0, 3.0, 110.0, 0.512])).value("projected_speedup"),
        2.4 / 1.65,
    );
    // 2.5 nodes are half way between the plain step and 4; Jacobi has no forwards of a drafter.
    near(
        projected(cell("sjd", "jacobi", [2.0, 2.5, 0.0, 128.0, 0.512])).value("projected_speedup"),
        2.0 / 1.1,
    );
    near(projected(cell("largest", "jacobi", [3.0, 10.0, 0.0, 86.0, 0.512])).value("projected_speedup"), 2.0);
    // Plain decoding gains nothing.
    near(projected(cell("plain", "none", [1.0, 1.0, 0.0, 256.0, 1.024])).value("projected_speedup"), 1.0);
}

#[test]
fn rows_side_by_side_have_a_reason_and_no_projection() {
    let mut rows = cell("zipar", "none", [2.9, 1.0, 0.0, 89.0, 0.4]);
    rows["family"] = json!("rows");
    let found = projected(rows);
    assert_eq!(found.value("projected_speedup"), None);
    assert!(found.why_not("projected_speedup").contains("rows side by side"));
}

#[test]
fn costs_that_were_not_measured_give_a_reason_and_no_number() {
    let why = |cell| projected(cell).why_not("projected_speedup");
    let wide = why(cell("wide", "jacobi", [3.0, 12.0, 0.0, 86.0, 0.5]));
    assert!(wide.contains("ends at 10 nodes") && wide.contains("12.0"), "{wide}");
    let other = why(cell("other", "eagle3", [3.0, 8.0, 2.0, 86.0, 0.5]));
    assert!(other.contains("proposer = \"eagle3\""), "{other}");
}

#[test]
fn the_bound_of_memory_bandwidth_is_known_on_the_machine_of_the_table_only() {
    // A step reads 1 MB at 1 GB/s: 1 ms; 256 of them are 0.256 s.
    let chain = cell("chain", "eagle1", [2.4, 7.0, 3.0, 110.0, 0.512]);
    let here = projected(chain.clone());
    near(here.value("baseline_efficiency"), 0.25);
    near(here.value("speedup_at_bound"), 0.5);
    let mut elsewhere = summary("Another CPU", &[chain]);
    project(&mut elsewhere, &CostTable::parse("made.toml", TABLE).unwrap()).unwrap();
    let found = &elsewhere.cells[1];
    near(found.value("projected_speedup"), 2.4 / 1.65);
    assert_eq!((found.value("baseline_efficiency"), found.value("speedup_at_bound")), (None, None));
    let why = found.why_not("speedup_at_bound");
    assert!(why.contains("Example CPU") && why.contains("Another CPU"), "{why}");
}

#[test]
fn a_table_reads_back_as_it_was_written() {
    let table = CostTable::parse("made.toml", TABLE).unwrap();
    assert_eq!(CostTable::parse("again.toml", &table.text()).unwrap(), table);
    assert!(table.words().contains("50 % of what memory bandwidth allows"), "{}", table.words());
}

#[test]
fn the_committed_tables_can_be_read() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../costs");
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let tables: Vec<CostTable> = paths.map(|path| CostTable::read(&path).unwrap()).collect();
    assert!(tables.iter().any(|table| table.model == "tiny" && table.device == "cpu"), "{tables:?}");
}

#[test]
fn a_bad_table_is_refused_at_its_line() {
    for (from, to, place, reason) in [
        ("schema = 1", "schema = 2", "made.toml:1", "schema is 2, this program reads 1"),
        ("threads = 1", "threads = 0", "made.toml:7", "above 0, found 0"),
        ("nodes = 4", "nodes = 1", "made.toml:19", "2 nodes or more, found 1"),
        ("steps = 1.5", "steps = -1.5", "made.toml:25", "above 0, found -1.5"),
        ("nodes = 10", "nodes = 3", "made.toml:18", "rising `nodes`, found 3 after 4"),
        ("proposer", "proposr", "made.toml:29", "proposr"),
        ("\"embedded\"", "\"guessed\"", "made.toml:3", "guessed"),
    ] {
        let error = CostTable::parse("made.toml", &TABLE.replacen(from, to, 1)).unwrap_err().to_string();
        assert!(error.starts_with(place) && error.contains(reason), "{to}: {error}");
    }
    let error = CostTable::read("no/such.toml".as_ref()).unwrap_err().to_string();
    assert!(error.starts_with("no/such.toml"), "{error}");
}

#[test]
fn a_table_of_another_guidance_device_or_dtype_is_said_to_be() {
    let said = |from: &str, to: &str| {
        let mut summary = summary("Example CPU", &[cell("chain", "eagle1", [2.4, 7.0, 3.0, 110.0, 0.512])]);
        let table = TABLE.replace(from, to);
        let warning = project(&mut summary, &CostTable::parse("made.toml", &table).unwrap()).unwrap();
        let costs = summary.costs.unwrap();
        assert!(warning.iter().all(|warning| costs.ends_with(warning)), "{costs}");
        warning
    };
    assert_eq!(said("3.0", "3.0"), None);
    for (from, to, what) in [
        ("guidance = 3.0", "guidance = 7.5", "guidance 7.5, the run 3"),
        ("device = \"cpu\"", "device = \"cuda:0\"", "device cuda, the run cpu"),
        ("dtype = \"bf16\"", "dtype = \"f32\"", "dtype f32, the run bf16"),
    ] {
        assert_eq!(said(from, to), Some(format!("the table is not of the run's settings: it has {what}")));
    }
}
