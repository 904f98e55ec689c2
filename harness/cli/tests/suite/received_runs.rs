//! Every command on a run folder that comes from somebody else, with a link or a special file in it: nothing is written
//! through it, nothing waits for it, and nothing passes.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::{
    fs,
    os::unix::fs::{MetadataExt, symlink},
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant},
};

use crate::support::{Desk, spec};

/// Commands of the list below that write to a run.
const N_WRITING: usize = 8;

/// What is below a folder: each name with its kind, its size and the time of its last change.
fn inventory(folder: &Path) -> Vec<(PathBuf, u32, u64, i64)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let facts = path.symlink_metadata().unwrap();
        if facts.is_dir() {
            found.extend(inventory(&path));
        }
        found.push((path, facts.mode(), facts.size(), facts.mtime_nsec()));
    }
    found.sort();
    found
}

/// Runs a command that must be refused with code 4, soon.
#[track_caller]
fn refuses(desk: &Desk, args: &[&str], place: &str) {
    let (begun, mut child) = (Instant::now(), desk.command(args));
    let mut child = child
        .stdout(fs::File::create(desk.path("out")).unwrap())
        .stderr(fs::File::create(desk.path("err")).unwrap())
        .spawn()
        .unwrap();
    let status = loop {
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None if begun.elapsed() > Duration::from_secs(60) => {
                child.kill().unwrap();
                panic!("{args:?} hangs at {place}");
            }
            None => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    let said = desk.text("err");
    assert_eq!(status.code(), Some(4), "{args:?} at {place}: {said}");
    let expected = format!("r/{place}: this is ");
    assert!(said.contains(&expected), "{args:?}: `{expected}` is not in {said}");
}

#[test]
fn no_command_follows_a_link_or_waits_for_a_pipe_in_a_run() {
    let desk = Desk::new();
    let stub = spec("ci/stub.toml");
    let run = ["run", &stub, "--limit", "2", "--set", "timing.blocks=1", "--out", "r"];
    desk.made(&["--limit", "2", "--set", "timing.blocks=1"], "r");
    desk.succeeds(&["report", "r"]);
    desk.file("outside/file", "kept");
    let resume = [&run[..], &["--resume"]].concat();
    let commands: [&[&str]; 14] = [
        &["score", "r", "--metric", "target-nll"],
        &["merge", "r"],
        &resume,
        &run,
        &["report", "r"],
        &["grid", "r"],
        &["shard", "run", "r", "0", "--timed-shards", "1", "--untimed-shards", "1"],
        &["import-scores", "r", "--metric", "dpg", "outside/file"],
        &["gate", "r", "--baseline", "b.json", "--update-baseline", "--reason", "x"],
        &["verify", "--deep", "r", "--replay", "1"],
        &["verify", "r"],
        &["status", "r"],
        &["compare", "r", "r"],
        &["cite", "r"],
    ];
    let places = [
        "lock",
        "shards/0/lock",
        "shards/0/heartbeat",
        "shards/0/worker.log",
        "report",
        "metrics",
        "merged",
        "merged/summary.json",
        "merged/records.jsonl",
        "shards",
        "shards/0",
        "shards/0/images",
        "shards/0/images/ar+0+0.png",
        "shards/0/lease.json",
        "shards/0/attempts/0",
        "manifest.json",
        "plan.json",
        "report/figures",
    ];
    // Commands that write meet two of the three kinds, the others one; every place and every kind has its turn.
    let ends = ["outside/file", "outside", ""];
    let mut next = 0;
    for (at, args) in commands.iter().enumerate() {
        for _ in 0..if at < N_WRITING { 2 } else { 1 } {
            let (place, end) = (places[next % places.len()], &ends[next % ends.len()]);
            next += 1;
            let (path, kept) = (desk.path("r").join(place), desk.path("kept"));
            let was_there = path.symlink_metadata().is_ok();
            if was_there {
                fs::rename(&path, &kept).unwrap();
            }
            match *end {
                "" => assert!(Command::new("mkfifo").arg(&path).status().unwrap().success()),
                end => symlink(desk.path(end), &path).unwrap(),
            }
            let before = (inventory(&desk.path("r")), inventory(&desk.path("outside")));
            refuses(&desk, args, place);
            let after = (inventory(&desk.path("r")), inventory(&desk.path("outside")));
            assert_eq!(before, after, "{args:?} at {place}");
            fs::remove_file(&path).unwrap();
            if was_there {
                fs::rename(&kept, &path).unwrap();
            }
        }
    }
    assert!(!desk.path("e").exists() && !desk.path("b.json").exists());
    desk.succeeds(&["verify", "--deep", "r"]);
}
