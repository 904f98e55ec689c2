//! Processes of this machine, and the workers of a run among them.

use std::{fs, process::Command};

use specimen_record::{Record, RunDir, Submissions, read_document, read_rows};

use crate::on_slurm::desk::Desk;

/// A worker of a run.
#[derive(Clone, Debug)]
pub(crate) struct Worker {
    pub(crate) process: u32,
    pub(crate) shard: u32,
    /// Its task, as `scancel` takes it.
    pub(crate) task: String,
}

impl Worker {
    /// Those of the run that are there.
    pub(crate) fn all(desk: &Desk<'_>, out: &str) -> Vec<Self> {
        let run = RunDir::open(desk.path(out)).unwrap();
        let noted: Submissions = read_document(&run.submissions()).unwrap();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Some(process) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
                continue;
            };
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let words: Vec<String> = line
                .split(|&byte| byte == 0)
                .map(|word| String::from_utf8_lossy(word).into_owned())
                .collect();
            let [_, shard, run, folder, k, ..] = words.as_slice() else { continue };
            if (shard.as_str(), run.as_str()) != ("shard", "run") || desk.path(out) != desk.path(folder) {
                continue;
            }
            let shard: u32 = k.parse().unwrap();
            // A worker of an array that is settled has nothing left to do.
            let Some(array) = noted.arrays.iter().find(|array| array.owed.contains_key(&shard)) else {
                continue;
            };
            let task = format!("{}_{}", array.job, shard - array.first_shard);
            found.push(Self { process, shard, task });
        }
        found.sort_by_key(|worker| worker.process);
        found
    }

    /// One that makes an image now, waited for.
    pub(crate) fn at_work(desk: &Desk<'_>, out: &str) -> Self {
        let run = RunDir::open(desk.path(out)).unwrap();
        let mut found = None;
        desk.wait_for("a worker at work", || {
            found = Self::all(desk, out).into_iter().find(|worker| {
                let last = run.attempts(worker.shard).unwrap().last().copied();
                last.is_some_and(|attempt| run.attempt_begun(worker.shard, attempt).is_file())
            });
            found.is_some()
        });
        found.unwrap()
    }

    /// One that makes an image now, waited for and stopped by a signal: it cannot finish the image, or its shard,
    /// before the test does something to it.
    pub(crate) fn held_at_work(desk: &Desk<'_>, out: &str) -> Self {
        let run = RunDir::open(desk.path(out)).unwrap();
        let mut found = None;
        desk.wait_for("a worker in the midst of an image", || {
            found = Self::all(desk, out).into_iter().find(|worker| worker.hold(desk, &run));
            found.is_some()
        });
        found.unwrap()
    }

    /// Stops the worker if it is in the midst of an image; otherwise it continues.
    fn hold(&self, desk: &Desk<'_>, run: &RunDir) -> bool {
        if !self.is_under_way(run) {
            return false;
        }
        kill("-STOP", self.process);
        desk.wait_for("its standstill", || is_standing(self.process) || !is_there(self.process));
        let is_held = is_standing(self.process) && self.is_under_way(run);
        if !is_held {
            kill("-CONT", self.process);
        }
        is_held
    }

    /// Whether the worker has noted an image that has no record yet.
    fn is_under_way(&self, run: &RunDir) -> bool {
        let Some(&last) = run.attempts(self.shard).unwrap().last() else { return false };
        let note = fs::read_to_string(run.attempt_begun(self.shard, last)).unwrap_or_default();
        let Some(key) = note.strip_suffix('\n') else { return false };
        let records = read_rows::<Record>(&run.attempt_records(self.shard, last)).unwrap().rows;
        records.iter().all(|record| record.key.as_str() != key)
    }
}

/// The process that started another, unless it was adopted.
pub(crate) fn parent(process: u32) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"))?;
    line.trim().parse().ok().filter(|&parent| parent > 1)
}

/// Whether a process runs, or is stopped.
pub(crate) fn is_there(process: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

/// Whether a process is stopped by a signal.
pub(crate) fn is_standing(process: u32) -> bool {
    fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|stat| stat.contains(") T "))
}

/// Sends a signal to a process that may be gone already.
pub(crate) fn kill(signal: &str, process: u32) {
    Command::new("kill").args([signal, &process.to_string()]).output().unwrap();
}
