//! Workers as processes of this machine. A worker that dies, in the tensor library or by the kernel's memory
//! killer, takes no other image with it: its shard is started again, and an item that keeps killing workers
//! becomes a failed row.

mod silence;
mod worker_processes;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs::OpenOptions,
    io::{Read, Seek, SeekFrom},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Command, ExitStatus, Stdio},
    time::Duration,
};

use specimen_foundation::{failure::FailureKind, failure::FailureMessage};
use specimen_record::{ItemKey, open_in_place, open_to_read};

use self::{
    silence::Silence,
    worker_processes::{End, Message, WorkerProcesses},
};
use crate::{
    driver::{
        events::DriverEvent,
        executor::{Completion, Context, Executor, Work},
    },
    error::RunError,
    plan::shard_map::ShardMap,
    process::{disk_wait::Wait, stop_request::Request},
    work::{
        failed_item::{DEATHS_OF_A_FAILED_ITEM, write_failure},
        worker_event::WorkerEvent,
    },
};

/// Deaths of a shard's workers in a row, no image made between, before they began an item and in all; the
/// next ends the run.
const MAX_DEATHS_BEFORE_AN_ITEM: u32 = 2;
const MAX_DEATHS_IN_A_ROW: u32 = 8;
/// How often requests to stop are looked at while no worker reports anything.
const STOP_CHECK: Duration = Duration::from_millis(100);
/// Bytes of a log in which its last line is looked for.
const LAST_BYTES: u64 = 1 << 16;

/// Workers of this machine.
pub struct Local<'a> {
    /// The program, which must understand `shard run`.
    pub program: &'a Path,
    /// Shards that the timed and the untimed blocks are each cut into, at least.
    pub n_shards: u32,
    /// Workers at a time for untimed blocks.
    pub n_jobs: u32,
    /// Workers at a time for timed blocks; more than one disturb each other's times.
    pub n_timed_jobs: u32,
    /// GPUs by index, one worker on each at a time; one that is named twice has two. Cells whose device is
    /// `cuda` compute on their worker's. Empty: workers are given none.
    pub gpus: Vec<u32>,
    /// Whether the first item that fails ends the run; otherwise it is a row, and the others are made.
    pub fail_fast: bool,
}

impl Executor for Local<'_> {
    fn owns_its_workers(&self) -> bool {
        true
    }

    fn cut(&self, context: &Context<'_>) -> Result<ShardMap, RunError> {
        let cut = |n_jobs: u32| self.n_shards.max(n_jobs);
        let (timed, untimed) = (cut(self.n_timed_jobs), cut(self.n_jobs));
        Ok(ShardMap::of_plan(context.file, &context.plan.spec, timed, untimed))
    }

    fn work(&self, &Work { context, map }: &Work<'_>) -> Result<Completion, RunError> {
        let local = LocalRun { settings: self, context, map };
        local.work(0..map.timed, self.n_timed_jobs as usize)?;
        local.work(map.timed..map.n_shards(), self.n_jobs as usize)?;
        Ok(Completion::Done)
    }
}

/// One run on this machine.
struct LocalRun<'a> {
    settings: &'a Local<'a>,
    context: Context<'a>,
    map: ShardMap,
}

/// The deaths of workers so far.
#[derive(Default)]
struct Deaths {
    /// Of an item.
    by_item: BTreeMap<ItemKey, u32>,
    /// By shard since it last made an image: in all, and before an item was begun.
    in_a_row: BTreeMap<u32, (u32, u32)>,
    /// Items that are not tried again.
    given_up: BTreeSet<ItemKey>,
}

impl LocalRun<'_> {
    /// Runs `shards` to their end, `n_workers` at a time.
    fn work(&self, shards: impl Iterator<Item = u32>, n_workers: usize) -> Result<(), RunError> {
        let gpus = &self.settings.gpus;
        let n_workers = if gpus.is_empty() { n_workers } else { n_workers.min(gpus.len()) };
        let mut workers = WorkerProcesses::new(gpus);
        let ended = self.drive(&mut workers, shards.collect(), n_workers);
        match &ended {
            Ok(()) => {}
            Err(RunError::Aborted) => workers.end_all(true),
            // The others finish the image under way: it costs little and nothing is lost.
            Err(_) => workers.end_all(false),
        }
        ended
    }

    fn drive(
        &self,
        workers: &mut WorkerProcesses,
        mut waiting: VecDeque<u32>,
        n_workers: usize,
    ) -> Result<(), RunError> {
        let Context { run, disk, report, .. } = self.context;
        let mut deaths = Deaths::default();
        let mut silence = Silence::of(run)?;
        let mut is_reported = false;
        loop {
            match disk.stop().now() {
                Request::Continue => {}
                Request::Finish => {
                    waiting.clear();
                    workers.ask_to_finish();
                    if !std::mem::replace(&mut is_reported, true) {
                        report(DriverEvent::Stopping { n_images: workers.n_under_way() });
                    }
                }
                Request::Abort => return Err(RunError::Aborted),
            }
            while workers.n_running() < n_workers.max(1) {
                let Some(shard) = waiting.pop_front() else { break };
                let command = disk.write(|| self.command(shard, &deaths.given_up))?;
                silence.started(shard, workers.start(shard, command, self.settings.program)?);
            }
            for what in silence.look(|shard| workers.has_full_disk(shard)) {
                report(DriverEvent::Silent { what });
            }
            if workers.n_running() == 0 {
                return disk.stop().check();
            }
            match workers.next(STOP_CHECK) {
                None => {}
                Some((shard, Message::Reported(events))) => {
                    silence.heard(shard);
                    for event in events {
                        self.take_event(shard, event, workers, &mut deaths)?;
                    }
                }
                Some((shard, Message::Closed)) => {
                    silence.ended(shard);
                    let end = workers.reap(shard)?;
                    if self.must_restart(shard, end, &mut deaths)? {
                        waiting.push_front(shard);
                    }
                }
            }
        }
    }

    /// Keeps and passes on what a worker reports.
    fn take_event(
        &self,
        shard: u32,
        event: WorkerEvent,
        workers: &mut WorkerProcesses,
        deaths: &mut Deaths,
    ) -> Result<(), RunError> {
        let Context { disk, report, .. } = self.context;
        let did_wait = workers.waits_for_disk();
        let item = workers.note(shard, &event);
        if matches!(event, WorkerEvent::Item { ok: true, .. }) {
            deaths.in_a_row.remove(&shard);
        }
        let has_failed = matches!(event, WorkerEvent::Item { ok: false, .. });
        match event {
            // Many workers wait for one disk.
            WorkerEvent::DiskFull(shortage) if !did_wait => disk.report(Wait::Begins(shortage)),
            WorkerEvent::DiskFree if did_wait && !workers.waits_for_disk() => disk.report(Wait::Ends),
            WorkerEvent::DiskFull(_) | WorkerEvent::DiskFree => {}
            event => report(DriverEvent::Worker(event)),
        }
        match item.filter(|_| has_failed && self.settings.fail_fast) {
            Some(key) => Err(crate::error::failed_fast(key)),
            None => Ok(()),
        }
    }

    /// Whether the shard must be started again after its worker ended like this.
    fn must_restart(&self, shard: u32, end: End, deaths: &mut Deaths) -> Result<bool, RunError> {
        let Context { disk, report, .. } = self.context;
        let End { status, item, why } = end;
        if status.success() {
            return Ok(false);
        }
        let kind = FailureKind::known(status.code());
        if kind == Some(FailureKind::Interrupted) && disk.stop().now() != Request::Continue {
            return Ok(false);
        }
        // The driver ends with the code of its worker.
        let failed = || {
            let why = why.clone().unwrap_or_else(|| last_line(&self.log(shard)));
            let (status_words, log) = (words(status), self.log(shard));
            let text = format!(
                "the worker of shard {shard} ended with {status_words} before its shard was done: {why}; its log: {}",
                log.display()
            );
            RunError::from(FailureMessage { kind: FailureKind::of_exit_code(status.code()), text })
        };
        // It reported what is wrong, and another attempt would end the same way.
        let is_passing =
            |kind| matches!(kind, FailureKind::Bug | FailureKind::Interrupted | FailureKind::Aborted);
        if kind.is_some_and(|kind| !is_passing(kind)) {
            return Err(failed());
        }
        report(DriverEvent::WorkerDied { shard, status: words(status), item: item.clone() });
        let (n_in_all, n_before) = deaths.in_a_row.entry(shard).or_default();
        *n_in_all += 1;
        *n_before += u32::from(item.is_none());
        if *n_in_all > MAX_DEATHS_IN_A_ROW || *n_before > MAX_DEATHS_BEFORE_AN_ITEM {
            return Err(failed());
        }
        if let Some(key) = item {
            self.count_death(shard, key, deaths)?;
        }
        Ok(true)
    }

    /// Counts a death against the image under way; with the last that it may cause it becomes a failed row.
    fn count_death(&self, shard: u32, key: ItemKey, deaths: &mut Deaths) -> Result<(), RunError> {
        let Context { run, file, disk, report, .. } = self.context;
        let n = deaths.by_item.entry(key.clone()).or_default();
        *n += 1;
        if *n < DEATHS_OF_A_FAILED_ITEM {
            return Ok(());
        }
        let item = file.items.iter().find(|item| item.key == key).expect("workers run planned items");
        disk.write(|| write_failure(run, shard, item, *n))?;
        report(DriverEvent::Worker(WorkerEvent::Item { cell: key.cell(), ok: false, decode_s: 0.0 }));
        if self.settings.fail_fast {
            return Err(crate::error::failed_fast(key));
        }
        deaths.given_up.insert(key);
        Ok(())
    }

    fn log(&self, shard: u32) -> PathBuf {
        self.context.run.worker_log(shard)
    }

    fn command(&self, shard: u32, given_up: &BTreeSet<ItemKey>) -> Result<Command, RunError> {
        let log = self.log(shard);
        std::fs::create_dir_all(self.context.run.shard(shard))
            .map_err(RunError::io(&log, "make the folder of"))?;
        let stderr = open_in_place(&log, OpenOptions::new().create(true).append(true));
        let stderr = stderr.map_err(RunError::io(&log, "open"))?;
        let mut command = Command::new(self.settings.program);
        command
            .args(["shard", "run"])
            .arg(self.context.run.root())
            .arg(shard.to_string())
            .args(["--timed-shards", &self.map.timed.to_string()])
            .args(["--untimed-shards", &self.map.untimed.to_string()])
            .arg("--stop-with-stdin")
            // One thread a worker: bytes do not depend on the load, and two OpenMP threads on a busy core
            // spin.
            .env("OMP_NUM_THREADS", "1")
            .env("MKL_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(stderr))
            // The driver passes on an interrupt that is typed at the terminal.
            .process_group(0);
        if let Some(wait) = self.context.disk.limit() {
            command.args(["--disk-wait", &wait.as_secs().to_string()]);
        }
        for key in given_up {
            command.args(["--skip", key.as_str()]);
        }
        if let Some(root) = self.context.data_root {
            command.env("SPECIMEN_DATA", root.path());
        }
        Ok(command)
    }
}

/// How a worker ended, in words.
fn words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(9)) => "signal 9 (killed, perhaps by the kernel because memory ran out)".to_owned(),
        (None, Some(6)) => "signal 6 (aborted)".to_owned(),
        (None, Some(11)) => "signal 11 (segmentation fault)".to_owned(),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown end".to_owned(),
    }
}

/// The last line of a worker's log; only the end of the file is read.
fn last_line(log: &Path) -> String {
    let end = || -> std::io::Result<Vec<u8>> {
        let mut file = open_to_read(log)?;
        file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(LAST_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(LAST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = end().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it wrote nothing").to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_log_is_found_behind_much_of_it_and_in_any_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("worker.log");
        assert_eq!(last_line(&log), "it wrote nothing");
        let mut bytes = b"word \xff\n".repeat(50_000);
        bytes.extend(b"the end \xfe of it\n \n");
        std::fs::write(&log, bytes).unwrap();
        assert_eq!(last_line(&log), "the end \u{fffd} of it");
    }
}
