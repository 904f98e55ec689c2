//! What can befall a run.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

/// A disturbance of a run under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disturbance {
    KillWorker,
    KillDriver,
    KillBoth,
    KillDriverAtTheEnd,
    StopAndContinueWorker,
    TerminateDriver,
    TerminateWorker,
    InterruptOnce,
    InterruptTwice,
    SecondDriver,
    TornTail,
}

impl Disturbance {
    pub(crate) const ALL: [Self; 11] = [
        Self::KillWorker,
        Self::KillDriver,
        Self::KillBoth,
        Self::KillDriverAtTheEnd,
        Self::StopAndContinueWorker,
        Self::TerminateDriver,
        Self::TerminateWorker,
        Self::InterruptOnce,
        Self::InterruptTwice,
        Self::SecondDriver,
        Self::TornTail,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::KillWorker => "kill -9 of a worker",
            Self::KillDriver => "kill -9 of the driver",
            Self::KillBoth => "kill -9 of driver and workers",
            Self::KillDriverAtTheEnd => "kill -9 in merge, score, seal",
            Self::StopAndContinueWorker => "SIGSTOP, SIGCONT of a worker",
            Self::TerminateDriver => "SIGTERM to the driver",
            Self::TerminateWorker => "SIGTERM to a worker",
            Self::InterruptOnce => "SIGINT to the driver",
            Self::InterruptTwice => "two SIGINT to the driver",
            Self::SecondDriver => "a second driver",
            Self::TornTail => "kill -9 and a torn record",
        }
    }

    pub(crate) fn is_kill(self) -> bool {
        matches!(self, Self::KillWorker | Self::KillDriver | Self::KillBoth)
    }
}

/// Sends a signal to a process that may be gone already.
pub(crate) fn signal(name: &str, process: u32) {
    Command::new("kill").args([&format!("-{name}"), &process.to_string()]).output().unwrap();
}

/// Processes that `parent` started and that are still there.
pub(crate) fn children(parent: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(id) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let status = fs::read_to_string(entry.path().join("status")).unwrap_or_default();
        let is_child = status.lines().any(|line| line == format!("PPid:\t{parent}"));
        let is_dead = status.lines().any(|line| line.starts_with("State:\tZ"));
        if is_child && !is_dead {
            found.push(id);
        }
    }
    found.sort_unstable();
    found
}

/// Appends half a record to the last attempt's rows of some shard; whether there was one.
pub(crate) fn tear(run: &Path) -> bool {
    let shards = run.join("shards");
    let mut files: Vec<PathBuf> = Vec::new();
    for shard in fs::read_dir(shards).into_iter().flatten().flatten() {
        let attempts = fs::read_dir(shard.path().join("attempts"));
        files.extend(attempts.into_iter().flatten().flatten().map(|a| a.path().join("records.jsonl")));
    }
    files.retain(|file| file.is_file());
    files.sort();
    let Some(file) = files.pop() else { return false };
    let mut file = fs::OpenOptions::new().append(true).open(file).unwrap();
    file.write_all(br#"{"schema":1,"key":"ar/0/0","ce"#).unwrap();
    true
}
