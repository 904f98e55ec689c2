//! What follows from how a worker ended. Its own last words count first, then what the queue says of it; a worker
//! that left neither was killed.

use specimen_record::WorkerEnd;

use crate::heart::Told;

use super::client::Task;

/// Exit code of a worker that was asked to stop.
const INTERRUPTED: i32 = 75;
/// Exit codes that another attempt may not repeat: the node's environment, a lock, a bug, a wait broken off.
const PASSING: [i32; 4] = [6, 7, 70, INTERRUPTED];

/// How a worker ended that did not finish its shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It was asked to stop and did: by the signal before the time limit, by a preemption, by somebody.
    Interrupted,
    /// The time limit ended it.
    TimeLimit,
    /// It asked for more memory than it was given.
    OutOfMemory,
    /// The cluster ended it, with its word for that.
    Lost(String),
    /// It said what is wrong, and another attempt may find it otherwise.
    Failed(WorkerEnd),
    /// It said what is wrong and would say so again.
    Refused(WorkerEnd),
    /// It was killed, or aborted, without a word.
    Killed,
    /// It waited for room on the disk and was ended, in these words, by something else.
    WhileItWaited(String),
    /// It found no room on the disk in the time it may wait, and none for its last words.
    NoRoom,
}

impl End {
    /// The end of a worker, from its last words, from what the queue last said and from what its last heartbeat told.
    pub(crate) fn of(words: Option<WorkerEnd>, task: Option<&Task>, told: Told) -> Self {
        match (Self::known(words, task), told) {
            // Neither its shard nor the image under way is to blame.
            (end @ (Self::Interrupted | Self::TimeLimit | Self::Lost(_) | Self::Killed), Told::Waits) => {
                Self::WhileItWaited(end.words())
            }
            (Self::Killed, Told::GaveUp) => Self::NoRoom,
            (end, _) => end,
        }
    }

    fn known(words: Option<WorkerEnd>, task: Option<&Task>) -> Self {
        if let Some(words) = words {
            return match words.code {
                INTERRUPTED => Self::Interrupted,
                code if PASSING.contains(&code) => Self::Failed(words),
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

    /// Whether it uses up one of the shard's attempts: not where the disk stood in the way of every attempt alike.
    pub(crate) fn is_an_attempt(&self) -> bool {
        !matches!(self, Self::WhileItWaited(_))
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
            Self::WhileItWaited(how) => {
                format!(
                    "{how} while it waited for room on the disk; it is handed in again, as no attempt of its own"
                )
            }
            Self::NoRoom => "found no room on the disk in the time of --disk-wait".to_owned(),
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
            Self::WhileItWaited(_) | Self::NoRoom => "make room on the disk, or raise --disk-wait",
            Self::Killed => "see its log and what the cluster wrote beside `slurm/submissions.json`",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(code: Option<i32>, state: Option<&str>) -> End {
        let words = code.map(|code| WorkerEnd { schema: 1, job: Some(7), code, why: "why".to_owned() });
        let task = state.map(|state| Task { state: state.to_owned(), reason: "None".to_owned() });
        End::of(words, task.as_ref(), Told::Works)
    }

    #[test]
    fn its_own_words_count_before_the_queue_and_silence_is_a_kill() {
        assert_eq!(of(Some(75), Some("CANCELLED")), End::Interrupted);
        assert!(matches!(of(Some(4), Some("FAILED")), End::Refused(_)));
        assert!(matches!(of(Some(3), None), End::Refused(_)));
        assert!(matches!(of(Some(6), Some("FAILED")), End::Failed(_)));
        assert_eq!(of(None, Some("TIMEOUT")), End::TimeLimit);
        assert_eq!(of(None, Some("OUT_OF_MEMORY")), End::OutOfMemory);
        assert_eq!(of(None, Some("NODE_FAIL")), End::Lost("NODE_FAIL".to_owned()));
        assert_eq!(of(None, Some("FAILED")), End::Killed);
        assert_eq!(of(None, None), End::Killed);
    }

    #[test]
    fn whoever_waits_for_room_when_it_ends_has_made_no_attempt() {
        let of = |code: Option<i32>, state: &str, told| {
            let words = code.map(|code| WorkerEnd { schema: 1, job: Some(7), code, why: "why".to_owned() });
            End::of(words, Some(&Task { state: state.to_owned(), reason: "None".to_owned() }), told)
        };
        for (code, state) in [
            (Some(75), "FAILED"),
            (None, "TIMEOUT"),
            (None, "CANCELLED"),
            (None, "PREEMPTED"),
            (None, "FAILED"),
        ] {
            let end = of(code, state, Told::Waits);
            assert!(!end.is_an_attempt() && !end.blames_the_image(), "{end:?}");
            assert!(end.words().contains(" while it waited for room on the disk"), "{end:?}");
            assert!(of(code, state, Told::Works).is_an_attempt());
        }
        // It says itself what is wrong, or has waited as long as it may.
        assert!(matches!(of(Some(4), "FAILED", Told::Waits), End::Refused(_)));
        assert!(matches!(of(Some(6), "FAILED", Told::GaveUp), End::Failed(_)));
        let gave_up = of(None, "FAILED", Told::GaveUp);
        assert!(gave_up == End::NoRoom && gave_up.is_an_attempt() && !gave_up.blames_the_image());
    }

    #[test]
    fn only_a_silent_death_is_held_against_the_image() {
        let blamed = [of(None, None), of(None, Some("OUT_OF_MEMORY"))];
        let not =
            [of(Some(75), None), of(Some(6), None), of(None, Some("TIMEOUT")), of(None, Some("PREEMPTED"))];
        assert!(blamed.iter().all(End::blames_the_image) && !not.iter().any(End::blames_the_image));
    }
}
