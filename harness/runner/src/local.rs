//! Workers as processes of this machine. A worker that dies, of the tensor library or of the kernel's memory
//! killer, takes no other image with it: its shard is started again, and an item that keeps killing workers
//! becomes a row that says so.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    time::Duration,
};

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::spec::Spec;
use specimen_record::{ItemKey, PlanFile, RunDir};

use crate::{
    attempt::write_failure,
    error::RunError,
    executor::{Executor, Standing, Work},
    room::{Room, Wait},
    shard_map::ShardMap,
    stage::Stage,
    stop::{Request, Stop},
    worker::Progress,
};

/// Deaths of workers that one item is forgiven; the next makes it a failed row.
const MAX_DEATHS_OF_AN_ITEM: u32 = 2;
/// Deaths of a shard's workers in a row, no image made between, before they began an item and in all; the next
/// ends the run.
const MAX_DEATHS_BEFORE_AN_ITEM: u32 = 2;
const MAX_DEATHS_IN_A_ROW: u32 = 8;
/// How often requests to stop are looked at while no worker says anything.
const PULSE: Duration = Duration::from_millis(100);
/// How long a worker's words may wait in its pipe, which holds hundreds of images' worth.
const LISTENING_PAUSE: Duration = Duration::from_millis(100);
/// Exit code of a worker that was asked to stop.
const INTERRUPTED: i32 = 75;

/// Workers of this machine.
pub struct Local<'a> {
    /// The program, which must understand `shard run`.
    pub program: &'a Path,
    /// Shards that the timed and the untimed blocks are each cut into, at least.
    pub n_shards: u32,
    /// Workers at a time for blocks that are not timed.
    pub n_jobs: u32,
    /// Workers at a time for timed blocks; more than one disturb each other's times.
    pub n_timed_jobs: u32,
    /// GPUs by index, one worker on each at a time; one that is named twice has two. Cells whose device is `cuda`
    /// compute on their worker's. Empty: workers are given none.
    pub gpus: Vec<u32>,
    /// Whether the first item that fails ends the run; otherwise it is a row, and the others are made.
    pub fail_fast: bool,
}

impl Executor for Local<'_> {
    fn owns_its_workers(&self) -> bool {
        true
    }

    fn cut(&self, _run: &RunDir, plan: &PlanFile, spec: &Spec) -> Result<ShardMap, RunError> {
        let cut = |n_jobs: u32| self.n_shards.max(n_jobs);
        Ok(ShardMap::of_plan(plan, spec, cut(self.n_timed_jobs), cut(self.n_jobs)))
    }

    fn work(
        &self,
        work: &Work<'_>,
        stop: &Stop,
        report: &mut dyn FnMut(Stage),
    ) -> Result<Standing, RunError> {
        let Work { run, plan, map, data_root, disk_wait, .. } = *work;
        let (program, gpus, fail_fast) = (self.program, &self.gpus, self.fail_fast);
        let yard = Yard { program, data_root, disk_wait, run, plan, map, gpus, fail_fast };
        yard.work(0..map.timed, self.n_timed_jobs as usize, stop, report)?;
        yard.work(map.timed..map.n_shards(), self.n_jobs as usize, stop, report)?;
        Ok(Standing::Worked)
    }
}

/// One run on this machine.
struct Yard<'a> {
    program: &'a Path,
    data_root: Option<&'a DataRoot>,
    disk_wait: Option<Duration>,
    run: &'a RunDir,
    plan: &'a PlanFile,
    map: ShardMap,
    gpus: &'a [u32],
    fail_fast: bool,
}

/// What a reader thread says of its worker.
enum Message {
    Said(Vec<Progress>),
    /// Its stdout is closed: it ended, or is about to.
    Silent,
}

/// A message and the shard whose worker it is from.
type FromShard = (u32, Message);

/// A worker under way.
struct Worker {
    child: Child,
    /// Held open: the worker stops when it closes.
    leash: Option<ChildStdin>,
    /// The image under way.
    item: Option<ItemKey>,
    /// Why it ends, if it said so.
    why: Option<String>,
    /// Whether it waits for room on the disk.
    is_short: bool,
    /// The GPU it was given.
    gpu: Option<u32>,
}

/// How a worker ended.
struct End {
    status: ExitStatus,
    item: Option<ItemKey>,
    why: Option<String>,
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

impl Yard<'_> {
    /// Runs `shards` to their end, `n_workers` at a time.
    ///
    /// # Errors
    /// A worker that cannot start, or that ends with a failure which another attempt would repeat;
    /// [`RunError::Interrupted`] or [`RunError::Aborted`] as `stop` asks. No worker is left behind.
    fn work(
        &self,
        shards: impl Iterator<Item = u32>,
        n_workers: usize,
        stop: &Stop,
        report: &mut dyn FnMut(Stage),
    ) -> Result<(), RunError> {
        let free = self.gpus.iter().copied().collect();
        let n_workers = if self.gpus.is_empty() { n_workers } else { n_workers.min(self.gpus.len()) };
        let mut crew = Crew { running: BTreeMap::new(), messages: channel(), free };
        let ended = self.drive(&mut crew, shards.collect(), n_workers, stop, report);
        match &ended {
            Ok(()) => {}
            Err(RunError::Aborted) => crew.dismiss(true),
            // The others finish the image under way: it costs little and nothing is lost.
            Err(_) => crew.dismiss(false),
        }
        ended
    }

    fn drive(
        &self,
        crew: &mut Crew,
        mut waiting: VecDeque<u32>,
        n_workers: usize,
        stop: &Stop,
        report: &mut dyn FnMut(Stage),
    ) -> Result<(), RunError> {
        let mut deaths = Deaths::default();
        let mut is_told = false;
        loop {
            match stop.now() {
                Request::Go => {}
                Request::Finish => {
                    waiting.clear();
                    crew.slip_leashes();
                    if !std::mem::replace(&mut is_told, true) {
                        report(Stage::Stopping { n_images: crew.n_under_way() });
                    }
                }
                Request::Abort => return Err(RunError::Aborted),
            }
            while crew.running.len() < n_workers.max(1) {
                let Some(shard) = waiting.pop_front() else { break };
                let room = Room::new(stop, self.disk_wait);
                let command = room.write(report, || self.command(shard, &deaths.given_up))?;
                crew.start(shard, command, self.program)?;
            }
            if crew.running.is_empty() {
                return stop.check();
            }
            let (shard, message) = match crew.messages.1.recv_timeout(PULSE) {
                Ok(said) => said,
                Err(RecvTimeoutError::Timeout) => continue,
                Err(RecvTimeoutError::Disconnected) => unreachable!("the crew holds a sender"),
            };
            match message {
                Message::Said(said) => {
                    for progress in said {
                        self.hear(shard, progress, crew, &mut deaths, report)?;
                    }
                }
                Message::Silent => {
                    let end = crew.bury(shard)?;
                    if self.is_lost(shard, end, &mut deaths, stop, report)? {
                        waiting.push_front(shard);
                    }
                }
            }
        }
    }

    /// Takes in what a worker says.
    fn hear(
        &self,
        shard: u32,
        progress: Progress,
        crew: &mut Crew,
        deaths: &mut Deaths,
        report: &mut dyn FnMut(Stage),
    ) -> Result<(), RunError> {
        let was_short = crew.is_short();
        let item = crew.note(shard, &progress);
        if matches!(progress, Progress::Item { ok: true, .. }) {
            deaths.in_a_row.remove(&shard);
        }
        let has_failed = matches!(progress, Progress::Item { ok: false, .. });
        match progress {
            // Many workers wait for one disk.
            Progress::NoRoom(shortage) if !was_short => report(Wait::Begins(shortage).into()),
            Progress::Room if was_short && !crew.is_short() => report(Stage::Room),
            Progress::NoRoom(_) | Progress::Room => {}
            progress => report(Stage::Worker(progress)),
        }
        match item.filter(|_| has_failed && self.fail_fast) {
            Some(key) => Err(RunError::FailedFast { key: key.to_string() }),
            None => Ok(()),
        }
    }

    /// Whether the shard must be started again after its worker ended like this.
    fn is_lost(
        &self,
        shard: u32,
        end: End,
        deaths: &mut Deaths,
        stop: &Stop,
        report: &mut dyn FnMut(Stage),
    ) -> Result<bool, RunError> {
        let End { status, item, why } = end;
        if status.success() {
            return Ok(false);
        }
        if status.code() == Some(INTERRUPTED) && stop.now() != Request::Go {
            return Ok(false);
        }
        let failed = || RunError::Worker {
            shard,
            status: words(status),
            why: why.clone().unwrap_or_else(|| last_line(&self.log(shard))),
            log: self.log(shard),
            code: status.code(),
        };
        // It said what is wrong, and would say so again.
        if status.code().is_some_and(|code| (1..INTERRUPTED).contains(&code) && code != 70) {
            return Err(failed());
        }
        report(Stage::WorkerDied { shard, status: words(status), item: item.clone() });
        let (n_in_all, n_before) = deaths.in_a_row.entry(shard).or_default();
        *n_in_all += 1;
        *n_before += u32::from(item.is_none());
        if *n_in_all > MAX_DEATHS_IN_A_ROW || *n_before > MAX_DEATHS_BEFORE_AN_ITEM {
            return Err(failed());
        }
        if let Some(key) = item {
            let n = deaths.by_item.entry(key.clone()).or_default();
            *n += 1;
            if *n > MAX_DEATHS_OF_AN_ITEM {
                let item =
                    self.plan.items.iter().find(|item| item.key == key).expect("workers run planned items");
                let room = Room::new(stop, self.disk_wait);
                room.write(report, || write_failure(self.run, shard, item, *n))?;
                report(Stage::Worker(Progress::Item { cell: key.cell(), ok: false, decode_s: 0.0 }));
                if self.fail_fast {
                    return Err(RunError::FailedFast { key: key.to_string() });
                }
                deaths.given_up.insert(key);
            }
        }
        Ok(true)
    }

    fn log(&self, shard: u32) -> PathBuf {
        self.run.worker_log(shard)
    }

    fn command(&self, shard: u32, given_up: &BTreeSet<ItemKey>) -> Result<Command, RunError> {
        let log = self.log(shard);
        std::fs::create_dir_all(self.run.shard(shard)).map_err(RunError::io(&log, "make the folder of"))?;
        let stderr = OpenOptions::new().create(true).append(true).open(&log);
        let stderr = stderr.map_err(RunError::io(&log, "open"))?;
        let mut command = Command::new(self.program);
        command
            .args(["shard", "run"])
            .arg(self.run.root())
            .arg(shard.to_string())
            .args(["--timed-shards", &self.map.timed.to_string()])
            .args(["--untimed-shards", &self.map.untimed.to_string()])
            .arg("--leash")
            // One thread a worker: bytes do not depend on the load, and two OpenMP threads on a busy core spin.
            .env("OMP_NUM_THREADS", "1")
            .env("MKL_NUM_THREADS", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::from(stderr))
            // An interrupt typed at the terminal is the driver's to pass on.
            .process_group(0);
        if let Some(wait) = self.disk_wait {
            command.args(["--disk-wait", &wait.as_secs().to_string()]);
        }
        for key in given_up {
            command.args(["--skip", key.as_str()]);
        }
        if let Some(root) = self.data_root {
            command.env("SPECIMEN_DATA", root.path());
        }
        Ok(command)
    }
}

/// The lines of a pipe, as many at a time as are there.
struct Lines<R> {
    from: R,
    /// What was read and not yet passed on, at most a part of a line between calls.
    bytes: Vec<u8>,
}

impl<R: Read> Lines<R> {
    /// Waits for at least one whole line; `None` at the end. What is no report is passed over.
    fn read(&mut self) -> Option<Vec<Progress>> {
        let mut chunk = [0_u8; 1 << 16];
        loop {
            match self.from.read(&mut chunk) {
                Ok(0) => return None,
                Ok(n) => self.bytes.extend_from_slice(&chunk[..n]),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            }
            if let Some(end) = self.bytes.iter().rposition(|&byte| byte == b'\n') {
                let whole = self.bytes[..end].split(|&byte| byte == b'\n');
                let said = whole.filter_map(|line| serde_json::from_slice(line).ok()).collect();
                self.bytes.drain(..=end);
                return Some(said);
            }
        }
    }
}

/// The workers under way and what they say.
struct Crew {
    running: BTreeMap<u32, Worker>,
    messages: (Sender<FromShard>, Receiver<FromShard>),
    /// GPUs without a worker, in the order in which they are given out.
    free: VecDeque<u32>,
}

impl Crew {
    fn start(&mut self, shard: u32, mut command: Command, program: &Path) -> Result<(), RunError> {
        let gpu = self.free.pop_front();
        if let Some(gpu) = gpu {
            command.args(["--gpu", &gpu.to_string()]);
        }
        let mut child = command.spawn().map_err(RunError::io(program, "start a worker of"))?;
        let (stdout, leash) = (child.stdout.take().expect("stdout was piped"), child.stdin.take());
        let say = self.messages.0.clone();
        std::thread::spawn(move || {
            let mut lines = Lines { from: stdout, bytes: Vec::new() };
            while let Some(said) = lines.read() {
                if say.send((shard, Message::Said(said))).is_err() {
                    return;
                }
                // What comes meanwhile is read in one piece: waking for each line is most of what driving costs.
                std::thread::sleep(LISTENING_PAUSE);
            }
            // Nobody listens any more when the crew was dismissed.
            let _ = say.send((shard, Message::Silent));
        });
        self.running.insert(shard, Worker { child, leash, item: None, why: None, is_short: false, gpu });
        Ok(())
    }

    /// Keeps what a worker said; the item that it ended, if it ended one.
    fn note(&mut self, shard: u32, progress: &Progress) -> Option<ItemKey> {
        let worker = self.running.get_mut(&shard)?;
        match progress {
            Progress::Begin { key } => worker.item = Some(key.clone()),
            Progress::Item { .. } | Progress::Warmup { .. } => return worker.item.take(),
            Progress::NoRoom(_) => worker.is_short = true,
            Progress::Room => worker.is_short = false,
            Progress::Failed { why } => worker.why = Some(why.clone()),
        }
        None
    }

    /// Whether any worker waits for room on the disk.
    fn is_short(&self) -> bool {
        self.running.values().any(|worker| worker.is_short)
    }

    /// Images under way.
    fn n_under_way(&self) -> usize {
        self.running.values().filter(|worker| worker.item.is_some()).count()
    }

    /// Asks all workers to finish the image under way.
    fn slip_leashes(&mut self) {
        self.running.values_mut().for_each(|worker| worker.leash = None);
    }

    fn bury(&mut self, shard: u32) -> Result<End, RunError> {
        let mut worker = self.running.remove(&shard).expect("a worker falls silent once");
        // A pipe that is still open would keep a worker waiting that closed its stdout for another reason.
        worker.leash = None;
        self.free.extend(worker.gpu);
        let wait = worker.child.wait();
        let status = wait.map_err(|e| RunError::Environment(format!("cannot wait for a worker: {e}")))?;
        Ok(End { status, item: worker.item, why: worker.why })
    }

    /// Ends all workers, at once or after the image under way.
    fn dismiss(&mut self, at_once: bool) {
        self.slip_leashes();
        for worker in self.running.values_mut() {
            // A worker that has ended by itself is as good.
            if at_once {
                let _ = worker.child.kill();
            }
            let _ = worker.child.wait();
        }
        self.running.clear();
    }
}

/// Bytes of a log in which its last line is looked for.
const LAST_BYTES: u64 = 1 << 16;

fn words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(9)) => "signal 9 (killed, perhaps by the kernel for want of memory)".to_owned(),
        (None, Some(6)) => "signal 6 (aborted)".to_owned(),
        (None, Some(11)) => "signal 11 (segmentation fault)".to_owned(),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown end".to_owned(),
    }
}

/// The last line of a worker's log, which other processes may have filled: only its end is read.
fn last_line(log: &Path) -> String {
    let end = || -> std::io::Result<Vec<u8>> {
        let mut file = File::open(log)?;
        file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(LAST_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(LAST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = end().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it said nothing").to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_log_is_found_behind_much_of_it_and_in_any_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("worker.log");
        assert_eq!(last_line(&log), "it said nothing");
        let mut bytes = b"word \xff\n".repeat(50_000);
        bytes.extend(b"the end \xfe of it\n \n");
        std::fs::write(&log, bytes).unwrap();
        assert_eq!(last_line(&log), "the end \u{fffd} of it");
    }

    #[test]
    fn lines_are_whole_whatever_the_pieces_they_come_in() {
        /// Hands out its pieces one by one.
        struct Pieces(Vec<&'static str>);
        impl Read for Pieces {
            fn read(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
                if self.0.is_empty() {
                    return Ok(0);
                }
                let piece = self.0.remove(0);
                to[..piece.len()].copy_from_slice(piece.as_bytes());
                Ok(piece.len())
            }
        }
        let pieces = ["{\"warmup\":{\"ce", "ll\":\"a\"}}\nnoise\n{\"fai", "led\":{\"why\":\"x\"}}\n{\"cut"];
        let mut lines = Lines { from: Pieces(pieces.to_vec()), bytes: Vec::new() };
        assert_eq!(lines.read(), Some(vec![Progress::Warmup { cell: "a".to_owned() }]));
        assert_eq!(lines.read(), Some(vec![Progress::Failed { why: "x".to_owned() }]));
        assert_eq!(lines.read(), None);
    }

    #[test]
    fn a_gpu_goes_to_the_next_worker_when_its_own_has_ended() {
        let mut crew = Crew { running: BTreeMap::new(), messages: channel(), free: VecDeque::from([4, 7]) };
        let given = |crew: &Crew, shard: u32| crew.running[&shard].gpu;
        let start = |crew: &mut Crew, shard| {
            let mut command = Command::new("true");
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            crew.start(shard, command, Path::new("true")).unwrap();
        };
        start(&mut crew, 0);
        start(&mut crew, 1);
        assert_eq!((given(&crew, 0), given(&crew, 1)), (Some(4), Some(7)));
        assert!(crew.bury(1).unwrap().status.success());
        start(&mut crew, 2);
        assert_eq!(given(&crew, 2), Some(7));
        // A machine without GPUs, or more workers than were asked for.
        start(&mut crew, 3);
        assert_eq!(given(&crew, 3), None);
        crew.dismiss(false);
    }
}
