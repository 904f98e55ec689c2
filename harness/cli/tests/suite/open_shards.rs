//! An unfinished run whose open shards were changed: it is not sealed, and the file, the item and the remedy are named.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::support::{Desk, spec};

const RECORDS: &str = "shards/0/attempts/0/records.jsonl";
const TIMES: &str = "shards/0/attempts/0/timing.jsonl";

/// A run whose images are made, and whose driver was killed before any shard was marked and anything merged.
fn unfinished(desk: &Desk) -> PathBuf {
    desk.succeeds(&[&arguments()[..], &["-q"]].concat());
    let run = desk.path("r");
    let manifest = run.join("manifest.json");
    let mut value: serde_json::Value = serde_json::from_slice(&fs::read(&manifest).unwrap()).unwrap();
    value["sealed"] = serde_json::Value::Null;
    fs::write(manifest, value.to_string()).unwrap();
    for name in ["merged", "report"] {
        fs::remove_dir_all(run.join(name)).unwrap();
    }
    fs::remove_file(run.join("checksums.json")).unwrap();
    fs::remove_file(run.join("shards/0/done.json")).unwrap();
    run
}

fn arguments() -> [&'static str; 9] {
    static STUB: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| spec("ci/stub.toml"));
    ["run", &STUB, "--limit", "2", "--set", "timing.blocks=1", "--out", "r", "--resume"]
}

/// Gives a number another value in the last row that has it.
fn set_last(path: &Path, field: &str, value: u64) {
    let text = fs::read_to_string(path).unwrap();
    let field = format!("\"{field}\":");
    let at = text.rfind(&field).unwrap() + field.len();
    let rest = text[at..].trim_start_matches(|c: char| c.is_ascii_digit());
    fs::write(path, format!("{}{value}{rest}", &text[..at])).unwrap();
}

#[test]
fn changed_rows_of_an_open_shard_are_not_sealed_and_their_shard_is_made_again() {
    let desk = Desk::new();
    let run = unfinished(&desk);
    for (file, field, value) in [(RECORDS, "accepted", 99), (TIMES, "decode_ns", 0), (TIMES, "order", 99)] {
        let path = run.join(file);
        let whole = fs::read(&path).unwrap();
        set_last(&path, field, value);
        let remedy = "remove the folder r/shards/0 and continue with --resume";
        desk.fails(&arguments(), 4, &[file, &format!("`{field}` is {value}"), remedy]);
        assert!(!run.join("checksums.json").exists() && !run.join("merged/summary.json").exists());
        fs::write(&path, whole).unwrap();
    }
    set_last(&run.join(RECORDS), "emitted", 99);
    desk.fails(&arguments(), 4, &["`emitted` is 99"]);
    fs::remove_dir_all(run.join("shards/0")).unwrap();
    desk.succeeds(&arguments());
    desk.succeeds(&["check", "r"]);
}

#[test]
fn a_lease_that_cannot_be_read_is_made_again_and_nothing_is_lost() {
    let desk = Desk::new();
    let run = unfinished(&desk);
    let lease = run.join("shards/0/lease.json");
    fs::write(&lease, "{").unwrap();
    desk.fails(&["verify", "r"], 4, &["lease.json:1:1: not a valid lease", "`run --resume` makes it again"]);
    let resumed = desk.succeeds(&arguments());
    assert!(
        resumed.err.contains("lease.json") && resumed.err.contains("it is made again"),
        "{}",
        resumed.err
    );
    assert!(resumed.err.contains("6 of 6 images are there"), "{}", resumed.err);
    desk.succeeds(&["check", "r"]);
}
