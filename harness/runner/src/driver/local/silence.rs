//! Workers from which nothing comes any more: stopped by a signal, or waiting for a device that does not answer. They hold
//! their shard, so the driver names them; it ends none, because nobody knows how long an image may take.

use std::{
    collections::BTreeMap,
    time::{Duration, Instant, SystemTime},
};

use specimen_record::{RunDir, Timestamp};

use crate::{
    error::RunError,
    work::heartbeat::{contents, lease},
};

/// How long a worker may report no image before any took its time; it loads its models first.
const FIRST: Duration = Duration::from_secs(600);
/// How much longer than the longest image so far one may take.
const TIMES_LONGER: u32 = 10;
/// How often the heartbeats are read.
const PAUSE: Duration = Duration::from_millis(500);

/// What was seen of one worker.
struct Seen {
    process: u32,
    beat: Vec<u8>,
    /// When its heartbeat changed last, and when it reported last.
    alive: Instant,
    heard: Instant,
    is_named: bool,
}

/// The watch over the workers of a driver.
pub(super) struct Silence<'r> {
    run: &'r RunDir,
    lease: Duration,
    /// The longest time between two reports of a worker.
    longest: Option<Duration>,
    looked: Instant,
    workers: BTreeMap<u32, Seen>,
}

impl<'r> Silence<'r> {
    /// Over none yet.
    pub(super) fn of(run: &'r RunDir) -> Result<Self, RunError> {
        Ok(Self { run, lease: lease()?, longest: None, looked: Instant::now(), workers: BTreeMap::new() })
    }

    /// The worker of a shard was started.
    pub(super) fn started(&mut self, shard: u32, process: u32) {
        let (beat, now) = (contents(self.run, shard), Instant::now());
        self.workers.insert(shard, Seen { process, beat, alive: now, heard: now, is_named: false });
    }

    /// It reported something.
    pub(super) fn heard(&mut self, shard: u32) {
        if let Some(seen) = self.workers.get_mut(&shard) {
            self.longest = self.longest.max(Some(seen.heard.elapsed()));
            (seen.heard, seen.is_named) = (Instant::now(), false);
        }
    }

    /// It ended.
    pub(super) fn ended(&mut self, shard: u32) {
        self.workers.remove(&shard);
    }

    /// The workers that have been silent for too long since the last look, in words; each is named once, and again after it was
    /// heard. Those that `wait` for disk space say so themselves.
    pub(super) fn look(&mut self, wait: impl Fn(u32) -> bool) -> Vec<String> {
        if self.looked.elapsed() < PAUSE {
            return Vec::new();
        }
        self.looked = Instant::now();
        let patience = self.longest.map_or(FIRST, |longest| longest * TIMES_LONGER).max(self.lease);
        let mut named = Vec::new();
        for (&shard, seen) in &mut self.workers {
            let beat = contents(self.run, shard);
            if beat != seen.beat {
                (seen.beat, seen.alive) = (beat, Instant::now());
            }
            let (is_stopped, is_late) =
                (seen.alive.elapsed() >= self.lease, seen.heard.elapsed() >= patience);
            if seen.is_named || wait(shard) || !(is_stopped || is_late) {
                continue;
            }
            seen.is_named = true;
            let silent = if is_stopped { seen.alive.elapsed() } else { seen.heard.elapsed() };
            let since =
                Timestamp::from(SystemTime::now().checked_sub(silent).unwrap_or(SystemTime::UNIX_EPOCH));
            let (pid, what) =
                (seen.process, if is_stopped { "shows no sign of life" } else { "has made no image" });
            named.push(format!(
                "the worker of shard {shard}, process {pid}, {what} since {since}, for {} s: it is stopped, or waits for a \
                 device; `kill -CONT {pid}` continues one that is stopped, and after `kill -KILL {pid}` the shard is started \
                 again",
                silent.as_secs()
            ));
        }
        named
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    /// A watch over shard 0, whose worker has been silent for `seconds` by its heartbeat and by its reports.
    fn watch(run: &RunDir, seconds: [u64; 2]) -> Silence<'_> {
        let before = |seconds| Instant::now().checked_sub(Duration::from_secs(seconds)).unwrap();
        let mut silence = Silence::of(run).unwrap();
        silence.started(0, 4711);
        let seen = silence.workers.get_mut(&0).unwrap();
        (seen.alive, seen.heard) = (before(seconds[0]), before(seconds[1]));
        silence.looked = before(1);
        silence
    }

    #[test]
    fn a_worker_is_named_once_it_has_no_heartbeat_for_a_lease_or_no_image_for_very_long() {
        let folder = tempfile::tempdir().unwrap();
        let run = RunDir::create(folder.path()).unwrap();
        let never = |_| false;
        assert_eq!(watch(&run, [50, 590]).look(never), [""; 0]);
        let named = watch(&run, [70, 1]).look(never);
        assert!(named[0].contains("shard 0, process 4711, shows no sign of life since 20"), "{named:?}");
        assert!(named[0].contains("for 70 s") && named[0].contains("`kill -CONT 4711`"), "{named:?}");
        let named = watch(&run, [1, 610]).look(never);
        assert!(named[0].contains("process 4711, has made no image since 20"), "{named:?}");
        assert_eq!(watch(&run, [70, 610]).look(|_| true), [""; 0]);
        // After images of 20 s, one may take 200 s; the lease is the least.
        for (longest, silent, n_named) in [(20, 190, 0), (20, 210, 1), (1, 55, 0), (1, 65, 1)] {
            let mut silence = watch(&run, [1, silent]);
            silence.longest = Some(Duration::from_secs(longest));
            assert_eq!(silence.look(never).len(), n_named, "{longest} {silent}");
        }
        // Once, and again after it was heard.
        let mut silence = watch(&run, [70, 1]);
        assert_eq!(silence.look(never).len(), 1);
        silence.looked = Instant::now().checked_sub(PAUSE).unwrap();
        assert_eq!(silence.look(never).len(), 0);
        silence.heard(0);
        silence.looked = Instant::now().checked_sub(PAUSE).unwrap();
        assert_eq!(silence.look(never).len(), 1);
        silence.ended(0);
        silence.looked = Instant::now().checked_sub(PAUSE).unwrap();
        assert_eq!(silence.look(never).len(), 0);
    }
}
