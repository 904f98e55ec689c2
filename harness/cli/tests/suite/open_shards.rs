//! Shards that are not finished: what was changed in them is not sealed, and a worker that holds one is named.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::Duration,
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
    desk.succeeds(&["verify", "--deep", "r"]);
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
    desk.succeeds(&["verify", "--deep", "r"]);
}

#[test]
fn a_worker_that_is_stopped_is_named_with_its_shard_and_process() {
    let desk = Desk::new();
    let stub = spec("ci/stub.toml");
    let mut command = desk.command(&["run", &stub, "--out", "r", "--shards", "1", "--jobs", "1"]);
    command.env("SPECIMEN_LEASE_S", "0.5").stdout(Stdio::null()).stderr(Stdio::piped());
    let mut driver = command.spawn().unwrap();
    let lines = BufReader::new(driver.stderr.take().unwrap()).lines().map(Result::unwrap);
    while !desk.path("r/shards/0/attempts/0/records.jsonl").exists() {
        assert_eq!(driver.try_wait().unwrap(), None, "the driver ended before it was disturbed");
        std::thread::sleep(Duration::from_millis(5));
    }
    let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", driver.id())).unwrap();
    let worker = children.split_whitespace().next().expect("a worker is at work").to_owned();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &worker]).status().unwrap().success());
    signal("-STOP");
    let mut said = lines.skip_while(|line| !line.contains("shows no sign of life"));
    let named = said.next().expect("the worker is named");
    signal("-CONT");
    let expected = format!("the worker of shard 0, process {worker}, shows no sign of life since ");
    assert!(named.contains(&expected) && named.contains(&format!("kill -CONT {worker}")), "{named}");
    let rest: Vec<String> = said.collect();
    assert!(driver.wait().unwrap().success(), "{rest:?}");
}
