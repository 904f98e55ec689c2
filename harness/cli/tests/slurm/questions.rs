//! What a driver asks of a cluster, and what it makes of the answers, on programs that count.

use std::{collections::BTreeMap, fs, time::Instant};

use specimen_record::RunDir;

use crate::{
    cluster::Cluster,
    desk::{Desk, QUICK, ended},
    processes::{Worker, is_there, kill},
    tmpfs::Tmpfs,
};

/// Calls of one program.
fn of<'c>(calls: &'c [String], program: &str) -> Vec<&'c str> {
    let is_its = |line: &&String| line.split(' ').nth(1) == Some(program);
    calls.iter().filter(is_its).map(String::as_str).collect()
}

#[test]
fn the_queue_is_asked_once_per_array_and_interval_and_large_arrays_are_split() {
    let cluster = Cluster::counted_and_asked();
    fs::write(cluster.file("size"), "3").unwrap();
    let desk = Desk::new(&cluster, &QUICK.replace('\n', " wait 250\n"));
    let started = Instant::now();
    let there = ended(desk.arrays("there", "4", &[]).spawn().unwrap());
    let seconds = started.elapsed().as_secs_f64();
    assert_eq!(there.code, Some(0), "{}", there.err);
    let calls = cluster.calls();
    let arrays: Vec<&str> =
        of(&calls, "sbatch").iter().flat_map(|c| c.split(' ').find(|w| w.starts_with("--array"))).collect();
    // Four timed shards and four others, numbered on, three numbers an array.
    assert_eq!(arrays, ["--array=0-2", "--array=0", "--array=1-2", "--array=0-1"]);
    assert_eq!(of(&calls, "scontrol").len(), 1);
    assert!(of(&calls, "scancel").is_empty());
    let mut asked: BTreeMap<&str, usize> = BTreeMap::new();
    for call in of(&calls, "squeue") {
        let words: Vec<&str> = call.split(' ').collect();
        if let Some(at) = words.iter().position(|word| *word == "--jobs") {
            *asked.entry(words[at + 1]).or_default() += 1;
        }
    }
    assert_eq!(asked.len(), 4, "{calls:?}");
    // Intervals are 1.6 s at least, so no more fit into the time that all took; a slow machine only makes it longer.
    let most = 1 + (seconds / 1.6) as usize;
    assert!(asked.values().all(|&n| n <= most), "{asked:?} in {seconds} s");
    let here = desk.run("here", &[]);
    assert_eq!(here.code, Some(0), "{}", here.err);
    assert_eq!(desk.digest("here"), desk.digest("there"));
}

#[test]
fn a_queue_that_does_not_answer_is_unknown_and_nothing_is_handed_in_twice() {
    let cluster = Cluster::counted_and_asked();
    cluster.silence(true);
    let desk = Desk::new(&cluster, QUICK);
    let there = ended(desk.arrays("there", "2", &[]).spawn().unwrap());
    assert_eq!(there.code, Some(0), "{}", there.err);
    assert!(there.err.contains("unknown: the queue does not answer"), "{}", there.err);
    assert_eq!(of(&cluster.calls(), "sbatch").len(), 2);
}

#[test]
fn what_another_attempt_would_find_again_is_not_tried_again() {
    let cluster = Cluster::counted();
    let desk = Desk::new(&cluster, QUICK);
    fs::create_dir_all(desk.path("there/shards/0")).unwrap();
    fs::write(desk.path("there/shards/0/lease.json"), "{\"schema\": 1, \"sh").unwrap();
    let there = ended(desk.arrays("there", "2", &[]).spawn().unwrap());
    assert_eq!(there.code, Some(4), "{}", there.err);
    assert!(
        there.err.contains("shard 0 ended with exit code 4") && there.err.contains("lease.json"),
        "{}",
        there.err
    );
    // One array of timed and one of other blocks, and no more.
    assert_eq!(of(&cluster.calls(), "sbatch").len(), 2);
    let status = ended(desk.command(&["status", "there"]).spawn().unwrap());
    assert!(status.out.contains("shard 0 was given up"), "{}", status.out);
    fs::remove_file(desk.path("there/shards/0/lease.json")).unwrap();
    let again = ended(desk.arrays("there", "2", &["--resume"]).spawn().unwrap());
    assert_eq!(again.code, Some(0), "{}", again.err);
}

#[test]
fn a_shard_that_keeps_ending_without_an_image_is_given_up() {
    let cluster = Cluster::counted();
    let desk = Desk::new(&cluster, QUICK);
    fs::write(desk.path("fast.toml"), "[slurm]\nlag_s = 0\nmax_attempts = 2\nsetup = [\"exit 1\"]\n")
        .unwrap();
    let there = ended(desk.arrays("there", "1", &["--set", "cell=[{ name = \"ar\" }]"]).spawn().unwrap());
    assert_eq!(there.code, Some(6), "{}", there.err);
    assert!(there.err.contains("was killed or aborted in 2 attempts"), "{}", there.err);
    assert_eq!(of(&cluster.calls(), "sbatch").len(), 2);
}

#[test]
fn an_image_that_kills_its_workers_is_the_same_row_as_on_this_machine() {
    let cluster = Cluster::counted();
    let desk =
        Desk::new(&cluster, "a circle\nplease abort here\na square\nplease panic here\na star\na hill\n");
    let here = desk.run("here", &[]);
    assert_eq!(here.code, Some(5), "{}", here.err);
    let there = ended(desk.arrays("there", "2", &[]).spawn().unwrap());
    assert_eq!(there.code, Some(5), "{}", there.err);
    assert!(there.err.contains("was killed or aborted while it made ar/1/0"), "{}", there.err);
    assert_eq!(desk.digest("here"), desk.digest("there"));
}

#[test]
fn an_array_that_nobody_noted_is_cancelled_and_one_that_was_refused_says_why() {
    let cluster = Cluster::counted();
    let desk = Desk::new(&cluster, QUICK);
    fs::write(cluster.file("refuse"), "sbatch: error: invalid partition specified: gpus\n").unwrap();
    let there = ended(desk.arrays("there", "1", &[]).spawn().unwrap());
    assert_eq!(there.code, Some(6), "{}", there.err);
    assert!(there.err.contains("invalid partition specified: gpus"), "{}", there.err);
    fs::remove_file(cluster.file("refuse")).unwrap();
    // The number by which the queue answers for this run's name.
    fs::write(cluster.file("squeue"), "#!/bin/sh\ncase \"$*\" in *--name=*) echo 77 ;; esac\n").unwrap();
    let again = ended(desk.arrays("there", "1", &["--resume"]).spawn().unwrap());
    assert_eq!(again.code, Some(0), "{}", again.err);
    assert!(again.err.contains("job 77 is of this run and nobody noted it"), "{}", again.err);
    assert!(of(&cluster.calls(), "scancel")[0].ends_with("scancel 77"));
}

/// The stub network's plain cell, whose images are not timed.
const UNTIMED: [&str; 2] = ["--set", "cell=[{ name = \"ar\", timed = false }]"];

#[test]
fn a_worker_stopped_past_its_lease_adds_nothing_when_it_wakes_up() {
    let cluster = Cluster::counted();
    // Long enough for the worker to be stopped before its last image, whatever else the machine does.
    let desk = Desk::new(&cluster, &QUICK.replace('\n', " wait 1500\n"));
    let driver = desk.arrays("there", "1", &UNTIMED).spawn().unwrap();
    desk.wait_for("a record", || desk.n_records("there") > 0);
    let worker = Worker::at_work(&desk, "there");
    kill("-STOP", worker.process);
    // The queue has lost sight of it, as of a job on a node that was declared dead.
    fs::write(cluster.file(&format!("task-{}", worker.task.replace('_', "-"))), "0").unwrap();
    let there = ended(driver);
    assert_eq!(there.code, Some(0), "{}", there.err);
    let run = RunDir::open(desk.path("there")).unwrap();
    let rows_of_first = || fs::read_to_string(run.attempt_records(0, 0)).unwrap().lines().count();
    let n_before = rows_of_first();
    assert!((1..8).contains(&n_before), "it was stopped after {n_before} of 8 images");
    kill("-CONT", worker.process);
    desk.wait_for("the end of the worker that woke up", || !is_there(worker.process));
    assert_eq!(rows_of_first(), n_before);
    assert!(
        fs::read_to_string(run.worker_log(0)).unwrap().contains("has taken this shard over"),
        "its log says why"
    );
    assert_eq!(ended(desk.command(&["verify", "there"]).spawn().unwrap()).code, Some(0));
    let here = desk.run("here", &UNTIMED);
    assert_eq!(here.code, Some(0), "{}", here.err);
    assert_eq!(desk.digest("here"), desk.digest("there"));
}

#[test]
fn tasks_wait_for_room_on_a_full_disk_and_say_so() {
    let Some(disk) = Tmpfs::mount("tasks_wait_for_room_on_a_full_disk_and_say_so") else { return };
    let cluster = Cluster::counted();
    let desk = Desk::new(&cluster, QUICK);
    let more = [&UNTIMED[..], &["--set", "dataset.samples=16"]].concat();
    let out = disk.path().join("there");
    let out = out.to_str().unwrap();
    let driver = desk.arrays(out, "2", &more).spawn().unwrap();
    desk.wait_for("a worker without room", || {
        let status = ended(desk.command(&["status", out]).spawn().unwrap());
        status.out.contains("of them wait for room on the disk")
    });
    disk.remount("size=64m");
    let there = ended(driver);
    assert_eq!(there.code, Some(0), "{}", there.err);
    assert_eq!(of(&cluster.calls(), "sbatch").len(), 1, "nothing was handed in again");
    let here = desk.run("here", &more);
    assert_eq!(here.code, Some(0), "{}", here.err);
    assert_eq!(desk.digest("here"), desk.digest(out));
}

#[test]
fn the_status_of_a_thousand_shards_counts_their_rows() {
    let cluster = Cluster::counted();
    let prompts: String = (0..1000).map(|i| format!("shape {i}\n")).collect();
    let desk = Desk::new(&cluster, &prompts);
    let one = ["--set", "timing.blocks=1", "--jobs", "1", "--limit", "1000"];
    let here = desk.run("r", &[&UNTIMED[..], &one].concat());
    assert_eq!(here.code, Some(0), "{}", here.err);
    for file in ["records.jsonl", "timing.jsonl"] {
        let rows = fs::read_to_string(desk.path(&format!("r/shards/0/attempts/0/{file}"))).unwrap();
        for (k, row) in rows.lines().enumerate() {
            let folder = desk.path(&format!("r/shards/{k}/attempts/1"));
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(file), format!("{row}\n")).unwrap();
        }
    }
    fs::remove_dir_all(desk.path("r/shards/0/attempts/0")).unwrap();
    let status = ended(desk.command(&["status", "r"]).spawn().unwrap());
    assert!(status.out.contains("items   1000: 1000 made"), "{}{}", status.out, status.err);
}
