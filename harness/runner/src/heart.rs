//! The heartbeat of whoever holds a shard, and how another takes over from a holder that has none. A lock of the
//! system ends with its process, but a process that is stopped, or that sits on a node which nobody reaches any more,
//! keeps its lock; and on a network file system locks are not to be trusted alone.
//!
//! Nobody's clock is read: a holder changes a small file again and again, and who waits for the shard counts, by its
//! own monotonic clock, how long that file has stood still.

use std::{
    fs::OpenOptions,
    io::Write,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{RecvTimeoutError, Sender, channel},
    },
    time::{Duration, Instant},
};

use specimen_record::RunDir;

use crate::{error::RunError, lock::Lock, stop::Stop};

/// The variable that changes how long a heart may stand still, in seconds.
pub(crate) const LEASE_VARIABLE: &str = "SPECIMEN_LEASE_S";
/// How long it may where nobody says otherwise, in seconds.
const LEASE_S: f64 = 60.0;
/// Beats in that time.
const BEATS: u32 = 6;
/// How long a holder that is alive may take to finish its image.
const PATIENCE: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_millis(20);
/// What a beat says of a worker that waits for room on the disk.
const SHORT: &str = ", waits for room";

/// Beats until it is dropped or its process ends or is stopped.
#[derive(Debug)]
pub(crate) struct Heart {
    /// Closed when this is dropped, which ends the thread.
    _alive: Sender<()>,
    /// Whether its worker waits for room on the disk.
    is_short: Arc<AtomicBool>,
}

impl Heart {
    /// Beats in the shard's folder from now on.
    pub(crate) fn start(run: &RunDir, shard: u32) -> Result<Self, RunError> {
        let (path, pause) = (run.heartbeat(shard), lease()? / BEATS);
        let (alive, asked) = channel();
        let is_short = Arc::new(AtomicBool::new(false));
        beat(&path, 0, false)?;
        let of_worker = Arc::clone(&is_short);
        std::thread::spawn(move || {
            let mut n = 1_u64;
            while asked.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                // A beat that cannot be written is missed; the rows tell what is wrong with the disk.
                let _ = beat(&path, n, of_worker.load(Ordering::Relaxed));
                n += 1;
            }
        });
        Ok(Self { _alive: alive, is_short })
    }

    /// What its beats tell of the worker's wait for room, to be set by the worker.
    pub(crate) fn is_short(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.is_short)
    }
}

/// Whether the last beat of the shard's worker told that it waits for room.
pub(crate) fn waits_for_room(run: &RunDir, shard: u32) -> bool {
    std::fs::read_to_string(run.heartbeat(shard)).is_ok_and(|said| said.contains(SHORT))
}

/// The shard's lock, from whoever ends or has stood still for the time of a lease. The lease on disk must name this
/// worker already: a holder that wakes up finds it there before it writes anything.
///
/// # Errors
/// A request to stop; [`RunError::Locked`] by a holder that is alive and does not leave.
pub(crate) fn take_over(run: &RunDir, shard: u32, stop: &Stop) -> Result<Lock, RunError> {
    let (path, lease) = (run.shard_lock(shard), lease()?);
    let started = Instant::now();
    let pulse = || std::fs::read(run.heartbeat(shard)).unwrap_or_default();
    let (mut last, mut since) = (pulse(), started);
    loop {
        let locked = match Lock::take(&path) {
            Err(locked @ RunError::Locked { .. }) => locked,
            ended => return ended,
        };
        stop.check()?;
        let now = pulse();
        if now != last {
            (last, since) = (now, Instant::now());
        }
        if since.elapsed() >= lease {
            // Its lock stays on a file that has no name any more.
            match std::fs::remove_file(&path) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    return Err(RunError::io(&path, "remove the lock")(e));
                }
                _ => since = Instant::now(),
            }
        } else if started.elapsed() >= PATIENCE {
            return Err(locked);
        }
        std::thread::sleep(PAUSE);
    }
}

/// How long a heart may stand still.
fn lease() -> Result<Duration, RunError> {
    let Some(text) = std::env::var_os(LEASE_VARIABLE) else { return Ok(Duration::from_secs_f64(LEASE_S)) };
    let seconds = text.to_str().and_then(|text| text.parse::<f64>().ok());
    seconds.filter(|s| (0.1..=86_400.0).contains(s)).map(Duration::from_secs_f64).ok_or_else(|| {
        RunError::Environment(format!("{LEASE_VARIABLE} is {text:?}, expected seconds from 0.1 to 86400"))
    })
}

/// The same number of bytes over those of the beat before: a disk that is full has room for that.
fn beat(path: &Path, n: u64, is_short: bool) -> Result<(), RunError> {
    let said = format!("{n} of process {}{}", std::process::id(), if is_short { SHORT } else { "" });
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
        file.write_all(format!("{said:<63}\n").as_bytes())
    };
    write().map_err(RunError::io(path, "write the heartbeat"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn a_beat_takes_the_place_of_the_one_before_and_tells_of_a_wait_for_room() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::create(folder.path()).unwrap();
        std::fs::create_dir_all(run.shard(0)).unwrap();
        let path = run.heartbeat(0);
        let mut lengths = Vec::new();
        for (n, is_short) in [(0, false), (u64::MAX, true), (7, false)] {
            beat(&path, n, is_short).unwrap();
            assert_eq!(waits_for_room(&run, 0), is_short);
            assert!(std::fs::read_to_string(&path).unwrap().starts_with(&format!("{n} of process ")));
            lengths.push(std::fs::metadata(&path).unwrap().len());
        }
        assert_eq!(lengths, [64, 64, 64]);
        assert!(!waits_for_room(&run, 1));
    }
}
