//! What a driver asks of a cluster, and what it makes of the answers, on programs that count.

use std::{collections::BTreeMap, fs, time::Instant};

use specimen_record::{Environment, RunDir, Summary, read_document, write_document};

use crate::on_slurm::{
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
fn a_queue_that_hangs_is_reported_and_a_run_ends_when_everything_is_made() {
    // No task begins before the driver has said that the queue is silent.
    let cluster = Cluster::counted_and_asked();
    let hangs = "#!/bin/sh\necho \"0 squeue $*\" >>\"$COUNTED/calls\"\nexec sleep 600\n";
    fs::write(cluster.file("squeue"), hangs).unwrap();
    let desk = Desk::new(&cluster, QUICK);
    let said = desk.path("said");
    let mut driver = desk.arrays("there", "2", &[]).stderr(fs::File::create(&said).unwrap()).spawn().unwrap();
    let words = || fs::read_to_string(&said).unwrap();
    desk.wait_for("a word of the driver", || {
        words().contains("the queue does not answer; finished shards are found")
    });
    fs::remove_file(cluster.file("hold")).unwrap();
    let run = desk.path("there");
    let are_done = || (0..4).all(|k| run.join(format!("shards/{k}/done.json")).is_file());
    desk.wait_for("the end of all shards", are_done);
    let made = Instant::now();
    assert_eq!(driver.wait().unwrap().code(), Some(0), "{}", words());
    // A question about each array may take 30 s; merging and scoring take one.
    assert!(made.elapsed().as_secs_f64() < 25.0, "{:?}: {}", made.elapsed(), words());
    let here = desk.run("here", &[]);
    assert_eq!(here.code, Some(0), "{}", here.err);
    assert_eq!(desk.digest("here"), desk.digest("there"));
}

#[test]
fn what_another_attempt_would_find_again_is_not_tried_again() {
    let cluster = Cluster::counted();
    let desk = Desk::new(&cluster, QUICK);
    fs::create_dir_all(desk.path("there/shards/0")).unwrap();
    fs::write(desk.path("there/shards/0/lease.json"), "{\"schema\": 99}").unwrap();
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
    assert!(
        there.err.contains("was killed or aborted while it made the image of ar for prompt 1"),
        "{}",
        there.err
    );
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
    assert!(again.err.contains("job 77 is of this run, but no driver noted it"), "{}", again.err);
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
        status.out.contains("of them wait for disk space")
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
fn a_task_that_is_ended_while_it_waits_for_room_is_no_attempt() {
    let Some(disk) = Tmpfs::mount("a_task_that_is_ended_while_it_waits_for_room_is_no_attempt") else {
        return;
    };
    // As before the time limit, and as by the node's own memory killer.
    for signal in ["-USR1", "-KILL"] {
        let cluster = Cluster::counted();
        let desk = Desk::new(&cluster, QUICK);
        // Any attempt that counts would be the last.
        fs::write(desk.path("fast.toml"), "[slurm]\nlag_s = 1\nmax_attempts = 1\n").unwrap();
        disk.remount("size=300k");
        let more = [&UNTIMED[..], &["--set", "dataset.samples=16"]].concat();
        let out = disk.path().join(signal);
        let out = out.to_str().unwrap();
        let said = desk.path("said");
        let mut driver =
            desk.arrays(out, "1", &more).stderr(fs::File::create(&said).unwrap()).spawn().unwrap();
        desk.wait_for("a worker without room", || {
            let status = ended(desk.command(&["status", out]).spawn().unwrap());
            status.out.contains("of them wait for disk space")
        });
        kill(signal, Worker::at_work(&desk, out).process);
        let has_said = |words: &str| fs::read_to_string(&said).unwrap().contains(words);
        desk.wait_for("a word of the driver", || {
            has_said("while it waited for disk space; it is submitted again")
        });
        disk.remount("size=64m");
        let code = driver.wait().unwrap().code();
        assert_eq!(code, Some(0), "{}", fs::read_to_string(&said).unwrap());
        assert_eq!(of(&cluster.calls(), "sbatch").len(), 2);
        let here = desk.run("here", &more);
        assert_eq!(here.code, Some(0), "{}", here.err);
        assert_eq!(desk.digest("here"), desk.digest(out));
        fs::remove_dir_all(out).unwrap();
    }
}

#[test]
fn a_worker_without_room_for_its_first_write_says_so_and_leaves_no_empty_attempt() {
    let test = "a_worker_without_room_for_its_first_write_says_so_and_leaves_no_empty_attempt";
    let Some(disk) = Tmpfs::mount(test) else { return };
    let cluster = Cluster::counted();
    let desk = Desk::new(&cluster, QUICK);
    let folder = disk.path().to_str().unwrap();
    // Once the array is noted, and before the worker starts, nothing more fits.
    let setup = format!(
        "[slurm]\nlag_s = 1\nsetup = [\"until grep -q '.job.:' {folder}/there/slurm/submissions.json; do sleep 0.05; done\", \
         \"dd if=/dev/zero of={folder}/filler bs=1k 2>/dev/null\"]\n"
    );
    fs::write(desk.path("fast.toml"), setup).unwrap();
    let out = disk.path().join("there");
    let out = out.to_str().unwrap();
    let driver = desk.arrays(out, "1", &UNTIMED).spawn().unwrap();
    desk.wait_for("a worker without room", || {
        let status = ended(desk.command(&["status", out]).spawn().unwrap());
        status.out.contains("of them wait for disk space")
    });
    let run = RunDir::open(disk.path().join("there")).unwrap();
    assert_eq!(run.attempts(0).unwrap(), [0_u32; 0]);
    disk.remount("size=64m");
    let there = ended(driver);
    assert_eq!(there.code, Some(0), "{}", there.err);
    assert_eq!(run.attempts(0).unwrap(), [0]);
    assert_eq!(of(&cluster.calls(), "sbatch").len(), 1);
}

#[test]
fn a_queue_that_hangs_keeps_no_worker_from_its_work_and_only_timed_tasks_ask_it() {
    let cluster = Cluster::counted();
    let desk = Desk::new(&cluster, QUICK);
    let name_the_node = "[slurm]\nlag_s = 1\nsetup = [\"export SLURMD_NODENAME=here\"]\n";
    fs::write(desk.path("fast.toml"), name_the_node).unwrap();
    let queue = fs::read_to_string(cluster.file("squeue")).unwrap();
    let hangs = "case \"$*\" in *--nodelist*) exec sleep 600 ;; esac\njob=; before=";
    fs::write(cluster.file("squeue"), queue.replacen("job=; before=", hangs, 1)).unwrap();
    let there = ended(desk.arrays("there", "1", &[]).spawn().unwrap());
    assert_eq!(there.code, Some(0), "{}", there.err);
    let calls = cluster.calls();
    let of_nodes = of(&calls, "squeue").into_iter().filter(|call| call.contains("--nodelist here"));
    assert_eq!(of_nodes.count(), 1, "one of two tasks is timed: {calls:?}");
    let run = RunDir::open(desk.path("there")).unwrap();
    let known: Environment = read_document(&run.attempt_env(0, 0)).unwrap();
    assert_eq!(known.allocation.unwrap().neighbours, None);
}

#[test]
fn the_machine_of_a_run_on_a_cluster_is_that_of_its_tasks() {
    let cluster = Cluster::counted();
    let desk = Desk::new(&cluster, QUICK);
    // Two timed shards and two others, as if they had run on nodes of their own and the driver on a login node.
    let made_on = |out: &str, cpus: [&str; 4]| {
        let left = ended(desk.arrays(out, "2", &["--detach"]).spawn().unwrap());
        assert_eq!(left.code, Some(0), "{}", left.err);
        let run = RunDir::open(desk.path(out)).unwrap();
        for (shard, cpu) in (0..).zip(cpus) {
            desk.wait_for("the end of a task", || run.done(shard).is_file());
            let mut known: Environment = read_document(&run.attempt_env(shard, 0)).unwrap();
            known.host_cpu = cpu.to_owned();
            write_document(&run.attempt_env(shard, 0), &known).unwrap();
        }
        let whole = ended(desk.arrays(out, "2", &["--resume"]).spawn().unwrap());
        assert_eq!(whole.code, Some(0), "{}", whole.err);
        assert!(!whole.err.contains("from another machine or build"), "{}", whole.err);
        let summary: Summary = read_document(&run.summary()).unwrap();
        (whole.err, summary.machine(), summary.cell("sd-chain2").unwrap().measured("speedup"))
    };
    let (said, machine, speedup) = made_on("alike", ["Node CPU"; 4]);
    assert!(!said.contains("several models"), "{said}");
    assert_eq!((machine.as_str(), speedup.value.is_some()), ("Node CPU", true));
    let (said, machine, speedup) = made_on("there", ["Node CPU", "Another CPU", "Node CPU", "Node CPU"]);
    assert!(said.contains("devices of several models (Another CPU; Node CPU)"), "{said}");
    assert_eq!(machine, "Another CPU and Node CPU");
    assert!(speedup.why.as_ref().is_some_and(|why| why.contains("Another CPU; Node CPU")), "{speedup:?}");
    let here = desk.run("here", &[]);
    assert_eq!(here.code, Some(0), "{}", here.err);
    assert_eq!(desk.digest("here"), desk.digest("there"));
    // Other hardware is not compared without a word.
    let compared = ended(desk.command(&["compare", "here", "there", "--layout", "csv"]).spawn().unwrap());
    let reported = compared.err.contains("not compared: decode_s of ar: machine:");
    assert!(reported && compared.err.contains("B has Another CPU and Node CPU"), "{}", compared.err);
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
