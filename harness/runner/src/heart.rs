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
    sync::mpsc::{RecvTimeoutError, Sender, channel},
    time::{Duration, Instant},
};

use specimen_record::{RunDir, read_bounded};

use crate::{error::RunError, lock::Lock, room::Wait, stop::Stop};

/// The variable that changes how long a heart may stand still, in seconds.
pub(crate) const LEASE_VARIABLE: &str = "SPECIMEN_LEASE_S";
/// How long it may where nobody says otherwise, in seconds.
const LEASE_S: f64 = 60.0;
/// Beats in that time.
const BEATS: u32 = 6;
/// How long a holder that is alive may take to finish its image.
const PATIENCE: Duration = Duration::from_secs(600);
const PAUSE: Duration = Duration::from_millis(20);
/// A heartbeat is a line of 64 bytes; more than this is another file.
const MOST_BYTES: u64 = 4096;

/// What a heartbeat tells of its worker and the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Told {
    /// It can write.
    Works,
    /// It waits for room.
    Waits,
    /// It has waited for room as long as it may, and ends.
    GaveUp,
}

impl Told {
    const ALL: [Self; 3] = [Self::Works, Self::Waits, Self::GaveUp];

    fn words(self) -> &'static str {
        match self {
            Self::Works => "",
            Self::Waits => ", waits for room",
            Self::GaveUp => ", found no room",
        }
    }
}

impl From<&Wait> for Told {
    fn from(wait: &Wait) -> Self {
        match wait {
            Wait::Begins(_) => Self::Waits,
            Wait::Ends => Self::Works,
        }
    }
}

/// Beats until it is dropped or its process ends or is stopped.
#[derive(Debug)]
pub(crate) struct Heart {
    /// Closed when this and its copies are dropped, which ends the thread.
    worker: Sender<Told>,
}

impl Heart {
    /// Beats in the shard's folder from now on.
    pub(crate) fn start(run: &RunDir, shard: u32) -> Result<Self, RunError> {
        let (path, pause) = (run.heartbeat(shard), lease()? / BEATS);
        let (worker, asked) = channel();
        let mut told = Told::Works;
        beat(&path, 0, told)?;
        std::thread::spawn(move || {
            let mut n = 1_u64;
            loop {
                match asked.recv_timeout(pause) {
                    Ok(now) => told = now,
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                // A beat that cannot be written is missed; the rows tell what is wrong with the disk.
                let _ = beat(&path, n, told);
                n += 1;
            }
        });
        Ok(Self { worker })
    }

    /// Takes what its beats are to tell of the worker; one follows at once.
    pub(crate) fn worker(&self) -> Sender<Told> {
        self.worker.clone()
    }
}

/// Tells of a worker whose heart does not beat: not yet, or not any more. Nothing depends on it but what is said.
pub(crate) fn tell(run: &RunDir, shard: u32, told: Told) {
    let _ = beat(&run.heartbeat(shard), 0, told);
}

/// Makes place for the heartbeat of the worker that comes, so that it can tell of a full disk from its first write on.
///
/// # Errors
/// A file that cannot be written.
pub(crate) fn make_place(run: &RunDir, shard: u32) -> Result<(), RunError> {
    write(&run.heartbeat(shard), "no worker yet")
}

/// What the last beat of the shard's worker told.
pub(crate) fn last_told(run: &RunDir, shard: u32) -> Told {
    let said = pulse(run, shard);
    let said = String::from_utf8_lossy(&said);
    let is_said = |told: &Told| *told != Told::Works && said.contains(told.words());
    Told::ALL.into_iter().find(is_said).unwrap_or(Told::Works)
}

/// The heartbeat as it stands; nothing where there is none, or what lies there is none.
fn pulse(run: &RunDir, shard: u32) -> Vec<u8> {
    read_bounded(&run.heartbeat(shard), MOST_BYTES).unwrap_or_default()
}

/// The shard's lock, from whoever ends or has stood still for the time of a lease. The lease on disk must name this
/// worker already: a holder that wakes up finds it there before it writes anything.
///
/// # Errors
/// A request to stop; [`RunError::Locked`] by a holder that is alive and does not leave.
pub(crate) fn take_over(run: &RunDir, shard: u32, stop: &Stop) -> Result<Lock, RunError> {
    let (path, lease) = (run.shard_lock(shard), lease()?);
    let started = Instant::now();
    let pulse = || pulse(run, shard);
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

fn beat(path: &Path, n: u64, told: Told) -> Result<(), RunError> {
    write(path, &format!("{n} of process {}{}", std::process::id(), told.words()))
}

/// The same number of bytes over those of the beat before: a disk that is full has room for that.
fn write(path: &Path, said: &str) -> Result<(), RunError> {
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
        make_place(&run, 0).unwrap();
        assert_eq!(last_told(&run, 0), Told::Works);
        for (n, told) in [(0, Told::Works), (u64::MAX, Told::Waits), (8, Told::GaveUp), (7, Told::Works)] {
            beat(&path, n, told).unwrap();
            assert_eq!(last_told(&run, 0), told);
            assert!(std::fs::read_to_string(&path).unwrap().starts_with(&format!("{n} of process ")));
            lengths.push(std::fs::metadata(&path).unwrap().len());
        }
        assert_eq!(lengths, [64; 4]);
        assert_eq!(last_told(&run, 1), Told::Works);
        // Not a heartbeat at all.
        std::fs::write(&path, vec![b'x'; 5000]).unwrap();
        assert_eq!(pulse(&run, 0), b"");
    }

    #[test]
    fn what_a_worker_tells_is_in_the_next_beat_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::create(folder.path()).unwrap();
        std::fs::create_dir_all(run.shard(0)).unwrap();
        let heart = Heart::start(&run, 0).unwrap();
        heart.worker().send(Told::Waits).unwrap();
        let started = Instant::now();
        while last_told(&run, 0) != Told::Waits {
            // A beat by itself comes after ten seconds.
            assert!(started.elapsed() < Duration::from_secs(9), "it was not told");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
