//! The processes of workers, and the pipes to them.

use std::{
    collections::{BTreeMap, VecDeque},
    io::Read,
    path::Path,
    process::{Child, ChildStdin, Command, ExitStatus},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    time::Duration,
};

use specimen_foundation::failure;
use specimen_record::ItemKey;

use crate::{error::RunError, work::worker_event::WorkerEvent};

/// How long the events of a worker may wait in its pipe, which holds those of hundreds of images.
const READING_PAUSE: Duration = Duration::from_millis(100);

/// What a reader thread passes on from its worker.
pub(super) enum Message {
    /// Events that the worker reported.
    Reported(Vec<WorkerEvent>),
    /// Its stdout is closed: it ended, or is about to.
    Closed,
}

/// A message and the shard whose worker it is from.
pub(super) type FromShard = (u32, Message);

/// A worker under way.
struct Worker {
    child: Child,
    /// Held open: the worker stops when it closes.
    stdin: Option<ChildStdin>,
    /// The image under way.
    item: Option<ItemKey>,
    /// Why it ends, if it reported that.
    why: Option<String>,
    /// Whether it waits for disk space.
    waits_for_disk: bool,
    /// The GPU it was given.
    gpu: Option<u32>,
}

/// How a worker ended.
pub(super) struct End {
    pub(super) status: ExitStatus,
    pub(super) item: Option<ItemKey>,
    pub(super) why: Option<String>,
}

/// The lines of a pipe, as many at a time as are there.
struct Lines<R> {
    from: R,
    /// What was read and not yet passed on, at most a part of a line between calls.
    bytes: Vec<u8>,
}

impl<R: Read> Lines<R> {
    /// Waits for at least one whole line; `None` at the end. A line that is no event is passed over.
    fn read(&mut self) -> Option<Vec<WorkerEvent>> {
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
                let events = whole.filter_map(|line| serde_json::from_slice(line).ok()).collect();
                self.bytes.drain(..=end);
                return Some(events);
            }
        }
    }
}

/// The workers under way and what they report.
pub(super) struct WorkerProcesses {
    running: BTreeMap<u32, Worker>,
    messages: (Sender<FromShard>, Receiver<FromShard>),
    /// GPUs without a worker, in the order in which they are given out.
    free: VecDeque<u32>,
}

impl WorkerProcesses {
    /// None yet; `gpus` are given out one by one.
    pub(super) fn new(gpus: &[u32]) -> Self {
        Self { running: BTreeMap::new(), messages: channel(), free: gpus.iter().copied().collect() }
    }

    /// How many are under way.
    pub(super) fn n_running(&self) -> usize {
        self.running.len()
    }

    /// The next message, waited for at most `patience`; `None` where none came.
    pub(super) fn next(&self, patience: Duration) -> Option<FromShard> {
        match self.messages.1.recv_timeout(patience) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => unreachable!("this holds a sender"),
        }
    }

    /// Starts the worker of `shard` on the next free GPU; gives the number of its process.
    pub(super) fn start(
        &mut self,
        shard: u32,
        mut command: Command,
        program: &Path,
    ) -> Result<u32, RunError> {
        let gpu = self.free.pop_front();
        if let Some(gpu) = gpu {
            command.args(["--gpu", &gpu.to_string()]);
        }
        let mut child = command.spawn().map_err(RunError::io(program, "start a worker of"))?;
        let (stdout, stdin) = (child.stdout.take().expect("stdout was piped"), child.stdin.take());
        let sender = self.messages.0.clone();
        std::thread::spawn(move || {
            let mut lines = Lines { from: stdout, bytes: Vec::new() };
            while let Some(events) = lines.read() {
                if sender.send((shard, Message::Reported(events))).is_err() {
                    return;
                }
                // What comes meanwhile is read in one piece: waking for each line is most of what driving
                // costs.
                std::thread::sleep(READING_PAUSE);
            }
            // When all workers were ended, nothing receives this any more.
            let _ = sender.send((shard, Message::Closed));
        });
        let process = child.id();
        self.running
            .insert(shard, Worker { child, stdin, item: None, why: None, waits_for_disk: false, gpu });
        Ok(process)
    }

    /// Keeps what a worker reported; the item that it ended, if it ended one.
    pub(super) fn note(&mut self, shard: u32, progress: &WorkerEvent) -> Option<ItemKey> {
        let worker = self.running.get_mut(&shard)?;
        match progress {
            WorkerEvent::Begin { key } => worker.item = Some(key.clone()),
            WorkerEvent::Item { .. } | WorkerEvent::Warmup { .. } => return worker.item.take(),
            WorkerEvent::DiskFull(_) => worker.waits_for_disk = true,
            WorkerEvent::DiskFree => worker.waits_for_disk = false,
            WorkerEvent::Failed { why } => worker.why = Some(why.clone()),
            WorkerEvent::Warning { .. } => {}
        }
        None
    }

    /// Whether any worker waits for disk space.
    pub(super) fn waits_for_disk(&self) -> bool {
        self.running.values().any(|worker| worker.waits_for_disk)
    }

    /// Whether the worker of `shard` waits for disk space.
    pub(super) fn has_full_disk(&self, shard: u32) -> bool {
        self.running.get(&shard).is_some_and(|worker| worker.waits_for_disk)
    }

    /// Images under way.
    pub(super) fn n_under_way(&self) -> usize {
        self.running.values().filter(|worker| worker.item.is_some()).count()
    }

    /// Asks all workers to finish the image under way, by closing their stdin.
    pub(super) fn ask_to_finish(&mut self) {
        self.running.values_mut().for_each(|worker| worker.stdin = None);
    }

    /// Waits for the end of a worker whose stdout is closed.
    pub(super) fn reap(&mut self, shard: u32) -> Result<End, RunError> {
        let mut worker = self.running.remove(&shard).expect("the stdout of a worker closes once");
        // A pipe that is still open would keep a worker waiting that closed its stdout for another reason.
        worker.stdin = None;
        self.free.extend(worker.gpu);
        let wait = worker.child.wait();
        let status = wait.map_err(|e| failure!(Environment: "cannot wait for a worker: {e}"))?;
        Ok(End { status, item: worker.item, why: worker.why })
    }

    /// Ends all workers, at once or after the image under way.
    pub(super) fn end_all(&mut self, at_once: bool) {
        self.ask_to_finish();
        for worker in self.running.values_mut() {
            // A worker that has ended already is as good.
            if at_once {
                let _ = worker.child.kill();
            }
            let _ = worker.child.wait();
        }
        self.running.clear();
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use std::process::Stdio;

    use super::*;

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
        assert_eq!(lines.read(), Some(vec![WorkerEvent::Warmup { cell: "a".to_owned() }]));
        assert_eq!(lines.read(), Some(vec![WorkerEvent::Failed { why: "x".to_owned() }]));
        assert_eq!(lines.read(), None);
    }

    #[test]
    fn a_gpu_goes_to_the_next_worker_when_its_own_has_ended() {
        let mut workers = WorkerProcesses::new(&[4, 7]);
        let given = |workers: &WorkerProcesses, shard: u32| workers.running[&shard].gpu;
        let start = |workers: &mut WorkerProcesses, shard| {
            let mut command = Command::new("true");
            command.stdin(Stdio::piped()).stdout(Stdio::piped());
            workers.start(shard, command, Path::new("true")).unwrap();
        };
        start(&mut workers, 0);
        start(&mut workers, 1);
        assert_eq!((given(&workers, 0), given(&workers, 1)), (Some(4), Some(7)));
        assert!(workers.reap(1).unwrap().status.success());
        start(&mut workers, 2);
        assert_eq!(given(&workers, 2), Some(7));
        // A machine without GPUs, or more workers than were asked for.
        start(&mut workers, 3);
        assert_eq!(given(&workers, 3), None);
        workers.end_all(false);
    }
}
