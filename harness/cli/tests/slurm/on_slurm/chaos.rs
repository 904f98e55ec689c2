//! A real cluster disturbed in every way that a night can bring: after each the merged digest is that of an undisturbed
//! run of this machine, no item is lost, nothing that was finished is made again, and every loss is told.

use std::{
    collections::BTreeMap,
    fs,
    process::Child,
    time::{Duration, SystemTime},
};

use specimen_record::{PlanFile, Record, RunDir, Status, read_document, read_rows};

use crate::on_slurm::{
    cluster::Cluster,
    desk::{Desk, ended},
    processes::{Worker, is_standing, is_there, kill, parent},
    tmpfs::Tmpfs,
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    KillTask,
    CancelTask,
    KillDriver,
    Poison,
    FullDisk,
    KillController,
    Requeue,
    KillNodeDaemon,
    LoseNode,
    StopPastLease,
    TimeLimit,
}

/// The prompt that is made to fail; its rows are all that may.
const POISONED: u32 = 5;

impl Fault {
    const ALL: [Self; 11] = [
        Self::KillTask,
        Self::CancelTask,
        Self::KillDriver,
        Self::Poison,
        Self::FullDisk,
        Self::KillController,
        Self::Requeue,
        Self::KillNodeDaemon,
        Self::LoseNode,
        Self::StopPastLease,
        Self::TimeLimit,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::KillTask => "kill -9 of a task",
            Self::CancelTask => "scancel of a task",
            Self::KillDriver => "kill -9 of the driver, then `--resume`",
            Self::Poison => "a prompt that kills every worker",
            Self::FullDisk => "a full disk (tmpfs of 300 kB), then room",
            Self::KillController => "kill -9 of slurmctld, back 2 s later",
            Self::Requeue => "scontrol requeue of a task",
            Self::KillNodeDaemon => "kill -9 of slurmd, back 3 s later",
            Self::LoseNode => "kill -9 of slurmd, steps and tasks, slurmd back when the node is down",
            Self::StopPastLease => "the same, but a worker is stopped and wakes up after its shard is done",
            Self::TimeLimit => "the time limit",
        }
    }

    /// Whether it takes half a minute or more.
    fn is_long(self) -> bool {
        !matches!(self, Self::KillTask | Self::CancelTask | Self::KillDriver | Self::Poison | Self::FullDisk)
    }

    /// Images of a prompt in each cell: enough for the fault to come before the end.
    fn samples(self) -> u32 {
        match self {
            Self::KillTask | Self::CancelTask | Self::KillDriver | Self::Poison => 1,
            Self::FullDisk | Self::Requeue | Self::KillNodeDaemon | Self::LoseNode | Self::StopPastLease => 4,
            Self::KillController => 8,
            // Half a minute in a timed task: the signal comes at most that long after the start.
            Self::TimeLimit => 12,
        }
    }

    /// Sixteen prompts whose images last long enough to be disturbed; one of them panics, or takes its worker with it.
    fn prompts(self) -> String {
        let word = if self == Self::Poison { "abort" } else { "panic" };
        let line = |i: u32| match i {
            POISONED => format!("please {word} here\n"),
            i => format!("shape {i} wait 150\n"),
        };
        (0..16).map(line).collect()
    }

    /// One of these the driver must have said; none where nothing may be lost.
    fn reports(self) -> &'static [&'static str] {
        match self {
            Self::KillTask => &["was killed or aborted while it made"],
            // A task that has no worker yet, or whose worker is given no time, has no last words.
            Self::CancelTask => &["was asked to stop", "was ended by the cluster (CANCELLED)"],
            Self::KillDriver => &["images are there"],
            Self::Poison => &[
                "while it made the image of ar for prompt 5",
                "while it made the image of sd-chain2 for prompt 5",
            ],
            Self::FullDisk => &[": disk full (", "wait for disk space"],
            Self::TimeLimit => &["was asked to stop", "reached its time limit"],
            Self::Requeue | Self::LoseNode | Self::StopPastLease => {
                &["the cluster has restarted the task of shard"]
            }
            Self::KillController | Self::KillNodeDaemon => &[],
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
    /// Whether the driver said what was lost, or nothing was.
    is_told: bool,
}

/// The digests of undisturbed runs of this machine, by prompts and samples.
type Undisturbed = BTreeMap<(String, u32), String>;

#[test]
fn no_disturbance_of_a_cluster_changes_a_digest_or_loses_an_item() {
    let test = "no_disturbance_of_a_cluster_changes_a_digest_or_loses_an_item";
    let Some(cluster) = Cluster::real(test) else { return };
    let n_rounds: u32 = std::env::var("CHAOS_ROUNDS").map_or(1, |n| n.parse().unwrap());
    let only = std::env::var("CHAOS_ONLY").unwrap_or_default();
    let mut undisturbed = Undisturbed::new();
    let mut table = vec![
        "| fault | rounds | digest of the undisturbed run | items made again | of them finished | items lost | and \
         said so |"
            .to_owned(),
        "|---|---|---|---|---|---|---|".to_owned(),
    ];
    for fault in Fault::ALL.into_iter().filter(|fault| format!("{fault:?}").contains(&only)) {
        let n = match (n_rounds, fault.is_long()) {
            (1, true) if only.is_empty() => continue,
            (n, true) => n.div_ceil(5),
            (n, false) => n,
        };
        let disk = if fault == Fault::FullDisk {
            let Some(disk) = Tmpfs::mount(test) else { continue };
            Some(disk)
        } else {
            None
        };
        let desk = Desk::new(&cluster, &fault.prompts());
        let digest = undisturbed.entry((fault.prompts(), fault.samples())).or_insert_with(|| {
            let here = desk.run("here", &settings(fault).each_ref().map(String::as_str));
            assert_eq!(here.code, Some(5), "{}", here.err);
            desk.digest("here")
        });
        let round = |number| round(&desk, fault, number, disk.as_ref(), digest);
        let rounds: Vec<Outcome> = (0..n).map(round).collect();
        let sum = |of: fn(&Outcome) -> usize| rounds.iter().map(of).sum::<usize>();
        let n_equal = sum(|round| usize::from(round.is_equal));
        let (n_again, n_finished, n_lost) =
            (sum(|r| r.n_again), sum(|r| r.n_finished_again), sum(|r| r.n_lost));
        let n_told = sum(|round| usize::from(round.is_told));
        let reported =
            if fault.reports().is_empty() { "nothing lost".to_owned() } else { n_told.to_string() };
        let name = fault.name();
        table
            .push(format!("| {name} | {n} | {n_equal} | {n_again} | {n_finished} | {n_lost} | {reported} |"));
        println!("{}", table[table.len() - 1]);
        let all = rounds.len();
        assert_eq!((n_equal, n_finished, n_lost, n_told), (all, 0, 0, all), "{name}");
    }
    println!("\n{}", table.join("\n"));
}

/// What it sets in the spec: blocks of one prompt, so that one fits into the time before a signal.
fn settings(fault: Fault) -> [String; 4] {
    let samples = format!("dataset.samples={}", fault.samples());
    ["--set".to_owned(), samples, "--set".to_owned(), "timing.blocks=1".to_owned()]
}

/// Starts a run, disturbs it, and has it resumed until it ends.
fn round(desk: &Desk<'_>, fault: Fault, number: u32, disk: Option<&Tmpfs>, digest: &str) -> Outcome {
    let name = format!("{fault:?}-{number}");
    // The round before made room.
    disk.iter().for_each(|disk| disk.remount("size=300k"));
    let out = disk.map_or_else(|| desk.path(&name), |disk| disk.path().join(&name));
    let out = out.to_str().unwrap();
    let settings = settings(fault);
    let mut more: Vec<&str> = settings.iter().map(String::as_str).collect();
    if fault == Fault::TimeLimit {
        more.extend(["--set", "slurm.time=1", "--set", "slurm.signal_s=30"]);
    }
    let said = desk.path("said");
    let log = fs::File::create(&said).unwrap();
    let mut driver = desk.arrays(out, "2", &more).stderr(log).spawn().unwrap();
    // At another moment in every round.
    desk.wait_for("the first records", || desk.n_records(out) > 3 * number as usize % 20);
    let stopped = disturb(desk, fault, out, disk, &mut driver);
    let mut last = driver.wait().unwrap().code();
    let mut said = fs::read_to_string(said).unwrap();
    if fault == Fault::KillDriver {
        let again = ended(desk.arrays(out, "2", &[&["--resume"][..], &more].concat()).spawn().unwrap());
        last = again.code;
        said += &again.err;
    }
    // One prompt fails: its rows say so, and everything else is made.
    assert_eq!(last, Some(5), "{}: {said}", fault.name());
    if let Some(worker) = stopped {
        wakes_up(desk, out, worker);
    }
    let mut outcome = count(desk, out, desk.digest(out) == digest);
    outcome.is_told = match fault.reports() {
        // Nothing is lost, so nothing needs to be said.
        [] => outcome.n_again == 0 && n_attempts(desk, out) == 4,
        reports => reports.iter().any(|report| said.contains(report)),
    };
    assert!(outcome.is_told, "{}: {said}", fault.name());
    fs::remove_dir_all(out).unwrap();
    outcome
}

/// Does it; the worker that was stopped, if one was.
fn disturb(
    desk: &Desk<'_>,
    fault: Fault,
    out: &str,
    disk: Option<&Tmpfs>,
    driver: &mut Child,
) -> Option<Worker> {
    let (cluster, mut stopped) = (desk.cluster, None);
    let is_at_work = |driver: &mut Child| {
        assert_eq!(driver.try_wait().unwrap(), None, "the run ended before it was disturbed");
    };
    match fault {
        Fault::KillTask => kill("-KILL", Worker::held_at_work(desk, out).process),
        // The cluster wakes the worker before it asks it to stop.
        Fault::CancelTask => drop(cluster.ask("scancel", &[&Worker::held_at_work(desk, out).task])),
        Fault::Requeue => {
            drop(cluster.ask("scontrol", &["requeue", &Worker::held_at_work(desk, out).task]));
            is_at_work(driver);
        }
        Fault::KillDriver => driver.kill().unwrap(),
        Fault::KillController => {
            // A controller saves what it knows every few seconds. Killed before that it forgets the array, uses its
            // number for another and drains the node, which only an administrator can undo.
            let (now, state) = (SystemTime::now(), cluster.file("controller/job_state"));
            desk.wait_for("the controller's notes", || {
                fs::metadata(&state).and_then(|file| file.modified()).is_ok_and(|written| written > now)
            });
            is_at_work(driver);
            cluster.manage(&["kill", "slurmctld"], &[]);
            std::thread::sleep(Duration::from_secs(2));
            cluster.manage(&["revive", "slurmctld"], &[]);
        }
        Fault::KillNodeDaemon => {
            is_at_work(driver);
            cluster.manage(&["kill", "slurmd"], &[]);
            std::thread::sleep(Duration::from_secs(3));
            cluster.manage(&["revive", "slurmd"], &[]);
        }
        Fault::LoseNode | Fault::StopPastLease => {
            let first = Worker::at_work(desk, out);
            is_at_work(driver);
            cluster.manage(&["kill", "slurmd"], &[]);
            let is_stopped = fault == Fault::StopPastLease;
            for worker in Worker::all(desk, out) {
                // The step that watches over it, then itself.
                let step = parent(worker.process);
                step.into_iter().for_each(|step| kill("-KILL", step));
                if is_stopped && worker.process == first.process {
                    // Only once it is an orphan: the system wakes, and hangs up on, whoever is stopped when it becomes
                    // one.
                    desk.wait_for("the end of its step", || parent(first.process) != step);
                    kill("-STOP", first.process);
                    desk.wait_for("its standstill", || is_standing(first.process));
                    stopped = Some(first.clone());
                } else {
                    kill("-KILL", worker.process);
                }
            }
            assert_eq!(stopped.is_some(), is_stopped, "the worker to be stopped was gone");
            desk.wait_for("the loss of the node", || {
                cluster.ask("sinfo", &["--noheader", "--format=%T"]).contains("down")
            });
            cluster.manage(&["revive", "slurmd"], &[]);
        }
        Fault::FullDisk => {
            desk.wait_for("a worker without room", || {
                let status = ended(desk.command(&["status", out]).spawn().unwrap());
                status.out.contains("wait for disk space")
            });
            is_at_work(driver);
            let seen = || fs::read_to_string(desk.path("said")).unwrap();
            desk.wait_for("a word of the driver", || {
                fault.reports().iter().any(|report| seen().contains(report))
            });
            disk.unwrap().remount("size=64m");
        }
        Fault::Poison | Fault::TimeLimit => {}
    }
    stopped
}

/// A worker that sleeps since before its shard was given to another wakes up, adds nothing and ends.
fn wakes_up(desk: &Desk<'_>, out: &str, worker: Worker) {
    let run = RunDir::open(desk.path(out)).unwrap();
    let rows = || {
        let attempts = run.attempts(worker.shard).unwrap().into_iter();
        let files = attempts.map(|attempt| run.attempt_records(worker.shard, attempt));
        files.map(|file| fs::read_to_string(file).unwrap_or_default().lines().count()).collect::<Vec<_>>()
    };
    let before = rows();
    assert!(is_there(worker.process), "the worker that was stopped is still there");
    kill("-CONT", worker.process);
    desk.wait_for("the end of the worker that woke up", || !is_there(worker.process));
    assert_eq!(rows(), before);
    assert_eq!(ended(desk.command(&["verify", out]).spawn().unwrap()).code, Some(0));
}

/// Attempts at all shards of a run.
fn n_attempts(desk: &Desk<'_>, out: &str) -> usize {
    let run = RunDir::open(desk.path(out)).unwrap();
    run.shards().unwrap().into_iter().map(|shard| run.attempts(shard).unwrap().len()).sum()
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
    let poisoned = |key: &str| key.contains(&format!("/{POISONED}/"));
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
    Outcome { is_equal, n_again, n_finished_again, n_lost, is_told: false }
}
