//! How a worker of the cluster ended, and what follows. The error that it left counts first, then its state
//! in the queue; a worker with neither was killed.

use specimen_foundation::failure::FailureKind;
use specimen_record::WorkerEnd;

use crate::work::heartbeat::DiskState;

use super::client::Task;

/// Failures that another attempt may not repeat: the node's environment, a lock, a bug.
const PASSING: [FailureKind; 3] = [FailureKind::Environment, FailureKind::Locked, FailureKind::Bug];

/// How a worker ended that did not finish its shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum TaskEnd {
    /// It was asked to stop and did: by the signal before the time limit, by a preemption, by `scancel`.
    Interrupted,
    /// The time limit ended it.
    TimeLimit,
    /// It needed more memory than its task has.
    OutOfMemory,
    /// The cluster ended it, with Slurm's state.
    Lost(String),
    /// It left an error that another attempt may not meet.
    Failed(WorkerEnd),
    /// It left an error that another attempt would meet again.
    Refused(WorkerEnd),
    /// It was killed or aborted, and left no error.
    Killed,
    /// It was ended, in these words, while it waited for disk space.
    WhileWaiting(String),
    /// It found no disk space in the time it may wait, and could not write its error.
    NoDiskSpace,
}

impl TaskEnd {
    /// The end of a worker, from the error that it left, its last state in the queue and its last heartbeat.
    pub(crate) fn of(words: Option<WorkerEnd>, task: Option<&Task>, disk: DiskState) -> Self {
        match (Self::known(words, task), disk) {
            // Neither its shard nor the image under way is to blame.
            (
                end @ (Self::Interrupted | Self::TimeLimit | Self::Lost(_) | Self::Killed),
                DiskState::Waits,
            ) => Self::WhileWaiting(end.words()),
            (Self::Killed, DiskState::GaveUp) => Self::NoDiskSpace,
            (end, _) => end,
        }
    }

    fn known(words: Option<WorkerEnd>, task: Option<&Task>) -> Self {
        if let Some(words) = words {
            return match FailureKind::known(Some(words.code)) {
                Some(FailureKind::Interrupted) => Self::Interrupted,
                Some(kind) if PASSING.contains(&kind) => Self::Failed(words),
                _ => Self::Refused(words),
            };
        }
        match task.map(|task| task.state.as_str()) {
            Some("TIMEOUT" | "DEADLINE") => Self::TimeLimit,
            Some("OUT_OF_MEMORY") => Self::OutOfMemory,
            Some(state @ ("CANCELLED" | "NODE_FAIL" | "BOOT_FAIL" | "PREEMPTED" | "REVOKED")) => {
                Self::Lost(state.to_owned())
            }
            _ => Self::Killed,
        }
    }

    /// Whether it uses up one of the shard's attempts: not where a full disk stops every attempt alike.
    pub(crate) fn is_an_attempt(&self) -> bool {
        !matches!(self, Self::WhileWaiting(_))
    }

    /// Whether the image under way may be what ended it.
    pub(crate) fn blames_the_image(&self) -> bool {
        matches!(self, Self::Killed | Self::OutOfMemory)
    }

    /// In words.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::Interrupted => "was asked to stop".to_owned(),
            Self::TimeLimit => "reached its time limit".to_owned(),
            Self::OutOfMemory => "ran out of memory".to_owned(),
            Self::Lost(state) => format!("was ended by the cluster ({state})"),
            Self::Failed(words) | Self::Refused(words) => {
                format!("ended with exit code {}: {}", words.code, words.why)
            }
            Self::Killed => "was killed or aborted".to_owned(),
            Self::WhileWaiting(how) => {
                format!(
                    "{how} while it waited for disk space; it is submitted again, and this does not count as an attempt"
                )
            }
            Self::NoDiskSpace => "found no disk space in the time of --disk-wait".to_owned(),
        }
    }

    /// What a person can do about a shard that keeps ending like this.
    pub(crate) fn remedy(&self) -> &'static str {
        match self {
            Self::Interrupted | Self::TimeLimit => {
                "no block of images fits before the signal: raise `slurm.time`, or lower `timing.blocks`"
            }
            Self::OutOfMemory => "raise `slurm.mem`",
            Self::Lost(_) => "ask the cluster's administrators, or name other nodes by `slurm.constraint`",
            Self::Failed(_) | Self::Refused(_) => "see its log",
            Self::WhileWaiting(_) | Self::NoDiskSpace => "free disk space, or raise --disk-wait",
            Self::Killed => "see its log and the files next to `slurm/submissions.json`",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: Option<i32>, state: Option<&str>) -> TaskEnd {
        let words = code.map(|code| WorkerEnd { schema: 1, job: Some(7), code, why: "why".to_owned() });
        let task = state.map(|state| Task { state: state.to_owned(), reason: "None".to_owned() });
        TaskEnd::of(words, task.as_ref(), DiskState::Writes)
    }

    #[test]
    fn the_error_it_left_counts_before_the_queue_and_neither_is_a_kill() {
        assert_eq!(of(Some(75), Some("CANCELLED")), TaskEnd::Interrupted);
        assert!(matches!(of(Some(4), Some("FAILED")), TaskEnd::Refused(_)));
        assert!(matches!(of(Some(3), None), TaskEnd::Refused(_)));
        assert!(matches!(of(Some(6), Some("FAILED")), TaskEnd::Failed(_)));
        assert_eq!(of(None, Some("TIMEOUT")), TaskEnd::TimeLimit);
        assert_eq!(of(None, Some("OUT_OF_MEMORY")), TaskEnd::OutOfMemory);
        assert_eq!(of(None, Some("NODE_FAIL")), TaskEnd::Lost("NODE_FAIL".to_owned()));
        assert_eq!(of(None, Some("FAILED")), TaskEnd::Killed);
        assert_eq!(of(None, None), TaskEnd::Killed);
    }

    #[test]
    fn an_end_during_a_wait_for_disk_space_is_no_attempt() {
        let of = |code: Option<i32>, state: &str, disk| {
            let words = code.map(|code| WorkerEnd { schema: 1, job: Some(7), code, why: "why".to_owned() });
            TaskEnd::of(words, Some(&Task { state: state.to_owned(), reason: "None".to_owned() }), disk)
        };
        for (code, state) in [
            (Some(75), "FAILED"),
            (None, "TIMEOUT"),
            (None, "CANCELLED"),
            (None, "PREEMPTED"),
            (None, "FAILED"),
        ] {
            let end = of(code, state, DiskState::Waits);
            assert!(!end.is_an_attempt() && !end.blames_the_image(), "{end:?}");
            assert!(end.words().contains(" while it waited for disk space"), "{end:?}");
            assert!(of(code, state, DiskState::Writes).is_an_attempt());
        }
        // It left an error, or has waited as long as it may.
        assert!(matches!(of(Some(4), "FAILED", DiskState::Waits), TaskEnd::Refused(_)));
        assert!(matches!(of(Some(6), "FAILED", DiskState::GaveUp), TaskEnd::Failed(_)));
        let gave_up = of(None, "FAILED", DiskState::GaveUp);
        assert!(gave_up == TaskEnd::NoDiskSpace && gave_up.is_an_attempt() && !gave_up.blames_the_image());
    }

    #[test]
    fn only_a_kill_blames_the_image() {
        let blamed = [of(None, None), of(None, Some("OUT_OF_MEMORY"))];
        let not =
            [of(Some(75), None), of(Some(6), None), of(None, Some("TIMEOUT")), of(None, Some("PREEMPTED"))];
        assert!(blamed.iter().all(TaskEnd::blames_the_image) && !not.iter().any(TaskEnd::blames_the_image));
    }
}
