//! The heartbeat of whoever holds a shard, and how another takes over from a holder that has none. A lock of the
//! system ends with its process, but a process that is stopped, or that sits on a node which nobody reaches any more,
//! keeps its lock; and on a network file system locks are not to be trusted alone.
//!
//! Nobody's clock is read: a holder changes a small file again and again, and who waits for the shard counts, by its
//! own monotonic clock, how long that file has stood still.

use std::{
    path::Path,
    sync::mpsc::{RecvTimeoutError, Sender, channel},
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

/// Beats until it is dropped or its process ends or is stopped.
#[derive(Debug)]
pub(crate) struct Heart {
    /// Closed when this is dropped, which ends the thread.
    _alive: Sender<()>,
}

impl Heart {
    /// Beats in the shard's folder from now on.
    pub(crate) fn start(run: &RunDir, shard: u32) -> Result<Self, RunError> {
        let (path, pause) = (run.heartbeat(shard), lease()? / BEATS);
        let (alive, asked) = channel();
        beat(&path, 0)?;
        std::thread::spawn(move || {
            let mut n = 1_u64;
            while asked.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                // A beat that cannot be written, because the disk is full, is missed; the rows tell of the disk.
                let _ = beat(&path, n);
                n += 1;
            }
        });
        Ok(Self { _alive: alive })
    }
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

fn beat(path: &Path, n: u64) -> Result<(), RunError> {
    std::fs::write(path, format!("{n} of process {}\n", std::process::id()))
        .map_err(RunError::io(path, "write the heartbeat"))
}
