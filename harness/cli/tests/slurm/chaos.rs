//! A real cluster disturbed in every way that a night can bring: after each the merged digest is that of an undisturbed
//! run of this machine, no item is lost, and nothing that was finished is made again.

use std::{collections::BTreeMap, fs, process::Command, time::Duration};

use specimen_record::{PlanFile, Record, RunDir, Status, Submissions, read_document, read_rows};

use crate::{
    cluster::Cluster,
    desk::{Desk, ended},
};

/// Sixteen prompts whose images last long enough to be disturbed, one of which panics.
fn prompts() -> String {
    let line =
        |i: u32| if i == 5 { "please panic here\n".to_owned() } else { format!("shape {i} wait 150\n") };
    (0..16).map(line).collect()
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    KillTask,
    CancelTask,
    KillController,
    KillDriver,
    Requeue,
    KillNodeDaemon,
    LoseNode,
    TimeLimit,
}

impl Fault {
    const ALL: [Self; 8] = [
        Self::KillTask,
        Self::CancelTask,
        Self::KillController,
        Self::KillDriver,
        Self::Requeue,
        Self::KillNodeDaemon,
        Self::LoseNode,
        Self::TimeLimit,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::KillTask => "kill -9 of a task",
            Self::CancelTask => "scancel of a task",
            Self::KillController => "kill -9 of slurmctld, back 2 s later",
            Self::KillDriver => "kill -9 of the driver",
            Self::Requeue => "scontrol requeue of a task",
            Self::KillNodeDaemon => "kill -9 of slurmd, back 3 s later",
            Self::LoseNode => "slurmd, its steps and tasks killed, slurmd back when the node is down",
            Self::TimeLimit => "the time limit",
        }
    }

    /// Whether it takes half a minute or more.
    fn is_long(self) -> bool {
        matches!(
            self,
            Self::KillController | Self::Requeue | Self::KillNodeDaemon | Self::LoseNode | Self::TimeLimit
        )
    }

    /// What the driver must have said; nothing where nothing is lost.
    fn report(self) -> &'static str {
        match self {
            Self::KillTask => "was killed or aborted while it made",
            Self::CancelTask => "was asked to stop",
            Self::KillDriver => "images are there",
            Self::TimeLimit => "was asked to stop",
            Self::KillController | Self::Requeue | Self::KillNodeDaemon | Self::LoseNode => "",
        }
    }
}

/// What came of a round.
struct Outcome {
    is_equal: bool,
    /// Images made more than once.
    n_again: usize,
    /// Of them those that were finished.
    n_finished_again: usize,
    n_lost: usize,
}

#[test]
fn no_disturbance_of_a_cluster_changes_a_digest_or_loses_an_item() {
    let test = "no_disturbance_of_a_cluster_changes_a_digest_or_loses_an_item";
    let Some(cluster) = Cluster::real(test) else { return };
    let n_rounds: u32 = std::env::var("CHAOS_ROUNDS").map_or(1, |n| n.parse().unwrap());
    let only = std::env::var("CHAOS_ONLY").unwrap_or_default();
    let desk = Desk::new(&cluster, &prompts());
    let here = desk.run("here", &[]);
    assert_eq!(here.code, Some(5), "{}", here.err);
    let digest = desk.digest("here");
    println!(
        "disturbance                                  rounds  equal digests  items again  finished ones  lost"
    );
    for fault in Fault::ALL.into_iter().filter(|fault| format!("{fault:?}").contains(&only)) {
        let n = match (n_rounds, fault.is_long()) {
            (1, true) => 0,
            (n, true) => n.div_ceil(5),
            (n, false) => n,
        };
        let rounds: Vec<Outcome> = (0..n).map(|i| round(&desk, fault, i, &digest)).collect();
        let n_equal = rounds.iter().filter(|round| round.is_equal).count();
        let sum = |of: fn(&Outcome) -> usize| rounds.iter().map(of).sum::<usize>();
        let (n_again, n_finished, n_lost) =
            (sum(|r| r.n_again), sum(|r| r.n_finished_again), sum(|r| r.n_lost));
        println!("{:44} {n:6} {n_equal:14} {n_again:12} {n_finished:14} {n_lost:5}", fault.name());
        assert_eq!((n_equal, n_finished, n_lost), (rounds.len(), 0, 0), "{}", fault.name());
    }
}

/// Starts a run, disturbs it, and has it resumed until it ends.
fn round(desk: &Desk<'_>, fault: Fault, number: u32, digest: &str) -> Outcome {
    let out = format!("{fault:?}-{number}");
    let limit = ["--set", "slurm.time=1", "--set", "slurm.signal_s=30", "--set", "dataset.samples=8"];
    let is_limited = fault == Fault::TimeLimit;
    let more: &[&str] = if is_limited { &limit } else { &[] };
    let mut driver = desk.arrays(&out, "2", more).spawn().unwrap();
    // At another moment in every round.
    desk.wait_for("the first records", || desk.n_records(&out) > 3 * number as usize % 20);
    match fault {
        Fault::KillTask => workers(desk, &out).first().into_iter().for_each(|worker| kill("-KILL", *worker)),
        Fault::CancelTask => drop(desk.cluster.ask("scancel", &[&running_task(desk, &out)])),
        Fault::KillController => {
            // A controller saves what it knows every 5 s. Killed before that it forgets the array, uses its number for
            // another and drains the node, which only an administrator can undo.
            std::thread::sleep(Duration::from_secs(6));
            desk.cluster.manage(&["kill", "slurmctld"], &[]);
            std::thread::sleep(Duration::from_secs(2));
            desk.cluster.manage(&["revive", "slurmctld"], &[]);
        }
        Fault::KillDriver => driver.kill().unwrap(),
        Fault::Requeue => drop(desk.cluster.ask("scontrol", &["requeue", &running_task(desk, &out)])),
        Fault::KillNodeDaemon => {
            desk.cluster.manage(&["kill", "slurmd"], &[]);
            std::thread::sleep(Duration::from_secs(3));
            desk.cluster.manage(&["revive", "slurmd"], &[]);
        }
        Fault::LoseNode => {
            desk.cluster.manage(&["kill", "slurmd"], &[]);
            for worker in workers(desk, &out) {
                // The step that watches over it, then itself.
                parent(worker).into_iter().for_each(|step| kill("-KILL", step));
                kill("-KILL", worker);
            }
            desk.wait_for("the loss of the node", || {
                desk.cluster.ask("sinfo", &["--noheader", "--format=%T"]).contains("down")
            });
            desk.cluster.manage(&["revive", "slurmd"], &[]);
        }
        Fault::TimeLimit => {}
    }
    let mut last = ended(driver);
    let mut said = last.err.clone();
    if fault == Fault::KillDriver {
        last = ended(desk.arrays(&out, "2", &["--resume"]).spawn().unwrap());
        said += &last.err;
    }
    // One prompt panics: its rows say so, and everything is made.
    assert_eq!(last.code, Some(5), "{}: {said}", fault.name());
    assert!(said.contains(fault.report()), "{}: {said}", fault.name());
    let is_equal = if is_limited {
        let here = desk.run("limited", &["--set", "dataset.samples=8"]);
        assert_eq!(here.code, Some(5), "{}", here.err);
        desk.digest("limited") == desk.digest(&out)
    } else {
        desk.digest(&out) == digest
    };
    let outcome = count(desk, &out, is_equal);
    for folder in [desk.path(&out), desk.path("limited")] {
        if folder.exists() {
            fs::remove_dir_all(folder).unwrap();
        }
    }
    outcome
}

/// What the attempts of a run hold more than once, and what they lack.
fn count(desk: &Desk<'_>, out: &str, is_equal: bool) -> Outcome {
    let run = RunDir::open(desk.path(out)).unwrap();
    let plan: PlanFile = read_document(&run.plan()).unwrap();
    let mut attempts: BTreeMap<String, Vec<(u32, u32)>> = BTreeMap::new();
    for shard in run.shards().unwrap() {
        for attempt in run.attempts(shard).unwrap() {
            let path = run.attempt_records(shard, attempt);
            let rows = if path.is_file() { read_rows::<Record>(&path).unwrap().rows } else { Vec::new() };
            for row in rows.into_iter().filter(|row| row.status == Status::Ok) {
                attempts.entry(row.key.to_string()).or_default().push((shard, attempt));
            }
        }
    }
    let of = |key: &str| attempts.get(key).cloned().unwrap_or_default();
    let n_again = attempts.values().map(|places| places.len() - 1).sum();
    let poisoned = |key: &str| key.contains("/5/");
    let n_lost =
        plan.items.iter().filter(|i| of(i.key.as_str()).is_empty() && !poisoned(i.key.as_str())).count();
    let mut n_finished_again = 0;
    for block in &plan.blocks {
        let keys: Vec<&str> =
            block.items.iter().map(|key| key.as_str()).filter(|key| !poisoned(key)).collect();
        let is_timed = keys.iter().all(|key| !key.starts_with("quality"));
        let is_poisoned = block.items.iter().any(|key| poisoned(key.as_str()));
        if is_timed && !is_poisoned {
            let whole = |place: &(u32, u32)| keys.iter().all(|key| of(key).contains(place));
            let n_whole = keys.first().map_or(0, |key| of(key).iter().filter(|place| whole(place)).count());
            n_finished_again += n_whole.saturating_sub(1) * keys.len();
        } else if !is_timed {
            n_finished_again += keys.iter().map(|key| of(key).len().saturating_sub(1)).sum::<usize>();
        }
    }
    Outcome { is_equal, n_again, n_finished_again, n_lost }
}

/// A task of the run that runs, as `scancel` takes it.
fn running_task(desk: &Desk<'_>, out: &str) -> String {
    let run = RunDir::open(desk.path(out)).unwrap();
    let noted: Submissions = read_document(&run.submissions()).unwrap();
    let name = format!("--name=specimen-{}", noted.run_id);
    let mut found = String::new();
    desk.wait_for("a running task", || {
        let said =
            desk.cluster.ask("squeue", &["--noheader", "--array", "--states=RUNNING", &name, "--format=%i"]);
        found = said.lines().next().unwrap_or_default().to_owned();
        !found.is_empty()
    });
    found
}

/// Workers of the run.
fn workers(desk: &Desk<'_>, out: &str) -> Vec<u32> {
    let path = desk.path(out).to_str().unwrap().to_owned();
    processes(|line| line.contains(" shard run ") && line.contains(&path))
}

/// Processes by their command line.
fn processes(is_wanted: impl Fn(&str) -> bool) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        if is_wanted(&line) {
            found.push(id);
        }
    }
    found.sort_unstable();
    found
}

/// The process that started another, unless it was adopted.
fn parent(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok().filter(|&parent| parent > 1)
}

/// Sends a signal to a process that may be gone already.
fn kill(signal: &str, process: u32) {
    Command::new("kill").args([signal, &process.to_string()]).output().unwrap();
}
