//! The heartbeat of the worker that holds a shard, and how another takes over from a holder that has none. A
//! lock of the system ends with its process, but a process that is stopped, or that is on a node which cannot
//! be reached any more, keeps its lock; and on a network file system locks alone are not reliable.
//!
//! No wall clock is compared: a holder changes a small file again and again, and the worker that waits for
//! the shard measures, by its own monotonic clock, how long that file has not changed.

use std::{
    fs::OpenOptions,
    io::Write,
    path::Path,
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    time::{Duration, Instant},
};

use specimen_foundation::failure;
use specimen_record::{RunDir, open_in_place, read_bounded};

use crate::{
    error::RunError,
    process::{disk_wait::Wait, lock::Lock, remove_if_there, stop_request::StopRequest},
};

/// The variable that changes how long a heartbeat may be silent, in seconds.
pub(crate) const LEASE_VARIABLE: &str = "SPECIMEN_LEASE_S";
/// The time without that variable, in seconds.
const LEASE_S: f64 = 60.0;
/// Heartbeats in that time.
const BEATS: u32 = 6;
/// How long a holder that is alive may take to finish its image.
const PATIENCE: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_millis(20);
/// A heartbeat is a line of 64 bytes; more than this is another file.
const MOST_BYTES: u64 = 4096;

/// What a heartbeat reports of its worker and the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DiskState {
    /// It can write.
    Writes,
    /// It waits for disk space.
    Waits,
    /// It has waited for disk space as long as it may, and ends.
    GaveUp,
}

impl DiskState {
    const ALL: [Self; 3] = [Self::Writes, Self::Waits, Self::GaveUp];

    fn words(self) -> &'static str {
        match self {
            Self::Writes => "",
            Self::Waits => ", waits for disk space",
            Self::GaveUp => ", found no disk space",
        }
    }
}

impl From<&Wait> for DiskState {
    fn from(wait: &Wait) -> Self {
        match wait {
            Wait::Begins(_) => Self::Waits,
            Wait::Ends => Self::Writes,
        }
    }
}

/// Written again and again until this is dropped, or its process ends or is stopped.
#[derive(Debug)]
pub(crate) struct Heartbeat {
    /// Closed when this and its copies are dropped, which ends the thread.
    states: Sender<DiskState>,
}

impl Heartbeat {
    /// Writes a heartbeat into the shard's folder from now on.
    pub(crate) fn start(run: &RunDir, shard: u32) -> Result<Self, RunError> {
        let (path, pause) = (run.heartbeat(shard), lease()? / BEATS);
        let (states, sent) = channel();
        let mut state = DiskState::Writes;
        beat(&path, 0, state)?;
        std::thread::spawn(move || {
            let mut n = 1_u64;
            loop {
                match sent.recv_timeout(pause) {
                    Ok(now) => state = now,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                // A heartbeat that cannot be written is missed; the rows report what is wrong with the disk.
                let _ = beat(&path, n, state);
                n += 1;
            }
        });
        Ok(Self { states })
    }

    /// Where to send what the heartbeats are to report; one follows at once.
    pub(crate) fn states(&self) -> Sender<DiskState> {
        self.states.clone()
    }
}

/// Writes the state of a worker that has no heartbeat: not yet, or not any more. Only messages depend on it.
pub(crate) fn write_state(run: &RunDir, shard: u32, state: DiskState) {
    let _ = beat(&run.heartbeat(shard), 0, state);
}

/// Reserves the file for the heartbeat of the next worker, so that it can report a full disk from its first
/// write on.
pub(crate) fn reserve(run: &RunDir, shard: u32) -> Result<(), RunError> {
    write(&run.heartbeat(shard), "no worker yet")
}

/// What the last heartbeat of the shard's worker reported.
pub(crate) fn last_state(run: &RunDir, shard: u32) -> DiskState {
    let text = contents(run, shard);
    let text = String::from_utf8_lossy(&text);
    let is_reported = |state: &DiskState| *state != DiskState::Writes && text.contains(state.words());
    DiskState::ALL.into_iter().find(is_reported).unwrap_or(DiskState::Writes)
}

/// The heartbeat's file; empty where there is none, or where the file is no heartbeat.
pub(crate) fn contents(run: &RunDir, shard: u32) -> Vec<u8> {
    read_bounded(&run.heartbeat(shard), MOST_BYTES).unwrap_or_default()
}

/// The shard's lock, from a holder that ends or whose heartbeat has been silent for the time of a lease. The
/// lease on disk must name this worker already: a holder that wakes up finds it there before it writes
/// anything.
pub(crate) fn take_over(run: &RunDir, shard: u32, stop: &StopRequest) -> Result<Lock, RunError> {
    let (path, lease) = (run.shard_lock(shard), lease()?);
    let started = Instant::now();
    let contents = || contents(run, shard);
    let (mut last, mut since) = (contents(), started);
    loop {
        let locked = match Lock::take(&path) {
            Err(locked @ RunError::Locked { .. }) => locked,
            ended => return ended,
        };
        stop.check()?;
        let now = contents();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        if since.elapsed() >= lease {
            // Its lock stays on a file that has no name any more.
            remove_if_there(&path, "remove the lock")?;
            since = Instant::now();
        } else if started.elapsed() >= PATIENCE {
            return Err(locked);
        }
        std::thread::sleep(PAUSE);
    }
}

/// How long a heartbeat may be silent.
pub(crate) fn lease() -> Result<Duration, RunError> {
    let Some(text) = std::env::var_os(LEASE_VARIABLE) else { return Ok(Duration::from_secs_f64(LEASE_S)) };
    let seconds = text.to_str().and_then(|text| text.parse::<f64>().ok());
    seconds.filter(|s| (0.1..=86_400.0).contains(s)).map(Duration::from_secs_f64).ok_or_else(|| {
        failure!(Environment: "{LEASE_VARIABLE} is {text:?}, expected seconds from 0.1 to 86400").into()
    })
}

fn beat(path: &Path, n: u64, state: DiskState) -> Result<(), RunError> {
    write(path, &format!("{n} of process {}{}", std::process::id(), state.words()))
}

/// Always the same number of bytes, over those of the heartbeat before: a full disk has space for that.
fn write(path: &Path, text: &str) -> Result<(), RunError> {
    let write = || {
        let mut file = open_in_place(path, OpenOptions::new().write(true).create(true).truncate(false))?;
        file.write_all(format!("{text:<63}\n").as_bytes())
    };
    write().map_err(RunError::io(path, "write the heartbeat"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn a_heartbeat_replaces_the_one_before_and_reports_a_wait_for_disk_space() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::create(folder.path()).unwrap();
        std::fs::create_dir_all(run.shard(0)).unwrap();
        let path = run.heartbeat(0);
        let mut lengths = Vec::new();
        reserve(&run, 0).unwrap();
        assert_eq!(last_state(&run, 0), DiskState::Writes);
        for (n, state) in [
            (0, DiskState::Writes),
            (u64::MAX, DiskState::Waits),
            (8, DiskState::GaveUp),
            (7, DiskState::Writes),
        ] {
            beat(&path, n, state).unwrap();
            assert_eq!(last_state(&run, 0), state);
            assert!(std::fs::read_to_string(&path).unwrap().starts_with(&format!("{n} of process ")));
            lengths.push(std::fs::metadata(&path).unwrap().len());
        }
        assert_eq!(lengths, [64; 4]);
        assert_eq!(last_state(&run, 1), DiskState::Writes);
        // Not a heartbeat at all.
        std::fs::write(&path, vec![b'x'; 5000]).unwrap();
        assert_eq!(contents(&run, 0), b"");
    }

    #[test]
    fn what_a_worker_reports_is_in_the_next_heartbeat_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::create(folder.path()).unwrap();
        std::fs::create_dir_all(run.shard(0)).unwrap();
        let heartbeat = Heartbeat::start(&run, 0).unwrap();
        heartbeat.states().send(DiskState::Waits).unwrap();
        let started = Instant::now();
        while last_state(&run, 0) != DiskState::Waits {
            // Without it the next heartbeat comes after ten seconds.
            assert!(started.elapsed() < Duration::from_secs(9), "it was not reported");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
