//! The right to write to a shard. An earlier worker of the shard may still be alive, orphaned by a driver
//! that was killed. The lease tells it to stop before its next row, and the shard's lock makes the new one
//! wait until it has, so that two never compute at once, unless the earlier one is stopped or out of reach
//! (`heartbeat`).

use std::{path::Path, sync::mpsc::Sender};

use specimen_record::{
    LAST_NUMBER, Lease, RecordError, RunDir, SCHEMA, read_document, sweep_unfinished, write_document,
};

use crate::{
    error::RunError,
    process::{
        disk_wait::{DiskWait, Wait},
        lock::{Lock, holder},
    },
    work::heartbeat::{DiskState, Heartbeat, take_over, write_state},
};

/// The right to write to a shard.
pub(crate) struct Claim {
    /// Number of the shard.
    pub(crate) shard: u32,
    /// The attempt that may write to it.
    pub(crate) number: u32,
    holder: String,
    _lock: Lock,
    heartbeat: Heartbeat,
}

impl Claim {
    /// Takes the shard over: tells whoever has it to stop before its next row, and waits until it has, or
    /// until its heartbeat has stopped. Each write waits for disk space on its own, so that nothing is taken
    /// twice, and the shard's heartbeat reports the wait.
    pub(crate) fn take(run: &RunDir, shard: u32, disk: DiskWait<'_>) -> Result<Self, RunError> {
        let path = run.lease(shard);
        let holder = holder();
        let report = |wait: Wait| {
            write_state(run, shard, DiskState::from(&wait));
            disk.report(wait);
        };
        let disk = disk.reported_to(&report);
        let number = disk.write(|| {
            // A lease that could not be written has taken no number.
            let leased = if path.exists() { leased(&path)? } else { None };
            let attempt = run.attempts(shard)?.last().copied().max(leased).map_or(0, |last| last + 1);
            write_document(&path, &Lease { schema: SCHEMA, shard, attempt, holder: holder.clone() })?;
            Ok(attempt)
        })?;
        let lock = disk.write(|| take_over(run, shard, disk.stop()))?;
        let heartbeat = disk.write(|| Heartbeat::start(run, shard))?;
        let claim = Self { shard, number, holder, _lock: lock, heartbeat };
        claim.check(run)?;
        // What a worker before was writing when it died.
        sweep_unfinished(&run.shard(shard))?;
        Ok(claim)
    }

    /// Where to send the state of the disk that the shard's heartbeat is to report.
    pub(crate) fn heartbeat(&self) -> Sender<DiskState> {
        self.heartbeat.states()
    }

    /// Stops a worker whose shard was given to another.
    pub(crate) fn check(&self, run: &RunDir) -> Result<(), RunError> {
        let path = run.lease(self.shard);
        let lease: Lease = read_document(&path)?;
        if (lease.attempt, &lease.holder) == (self.number, &self.holder) {
            return Ok(());
        }
        Err(RunError::Superseded { path, holder: lease.holder })
    }
}

/// The attempt that a lease names; `None` for a file that is no lease. Nothing is lost with that: the folders of the
/// attempts have their numbers, and a worker that is still at work stops when it reads the lease that takes its place.
fn leased(path: &Path) -> Result<Option<u32>, RecordError> {
    let attempt = match read_document::<Lease>(path) {
        Ok(lease) => lease.attempt,
        Err(RecordError::Syntax { .. } | RecordError::Inconsistent { .. }) => return Ok(None),
        Err(error) => return Err(error),
    };
    if attempt <= LAST_NUMBER {
        return Ok(Some(attempt));
    }
    let reason =
        format!("it names attempt {attempt}, and none has a number above {LAST_NUMBER}; remove the file");
    Err(RecordError::Inconsistent { path: path.to_owned(), line: 1, kind: "lease", reason })
}
