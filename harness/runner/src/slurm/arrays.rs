//! The state of a run's arrays, for `status`: the submissions on disk and one question to the queue.

use serde::Serialize;
use specimen_record::RunDir;

use crate::{
    error::RunError,
    process::stop_request::StopRequest,
    work::heartbeat::{DiskState, last_state},
};

use super::{
    client::{Client, Seen},
    submission_list::SubmissionList,
};

/// The arrays of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Arrays {
    /// The name of the run's jobs.
    pub name: String,
    /// Arrays that owe a shard.
    pub arrays: Vec<Array>,
    /// Shards that are not submitted again, with the reason.
    pub given_up: Vec<(u32, String)>,
}

/// One array.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Array {
    /// Number of its job.
    pub job: u64,
    /// When it was submitted.
    pub submitted: String,
    /// Shards that it owes.
    pub n_owed: usize,
    /// Those of them that run; null when the queue does not answer.
    pub n_running: Option<usize>,
    /// Those of them that run and wait for disk space; null likewise.
    pub n_without_room: Option<usize>,
    /// Those of them that wait; null likewise.
    pub n_waiting: Option<usize>,
    /// Why they wait, each reason once.
    pub reasons: Vec<String>,
}

/// The arrays of a run, with one question to the queue for each; `None` where nothing was submitted.
pub fn arrays(run: &RunDir) -> Result<Option<Arrays>, RunError> {
    let Some(submissions) = SubmissionList::open(run)? else { return Ok(None) };
    let (stop, name) = (StopRequest::never(), submissions.job_name());
    let client = Client { name: &name, stop: &stop };
    let mut arrays = Vec::new();
    for array in &submissions.list.arrays {
        let n_owed = array.owed.keys().filter(|&&shard| !run.done(shard).is_file()).count();
        let mut found = Array {
            job: array.job,
            submitted: array.submitted.to_string(),
            n_owed,
            n_running: None,
            n_without_room: None,
            n_waiting: None,
            reasons: Vec::new(),
        };
        if n_owed > 0
            && let Seen::Tasks(tasks) = client.array(array.job)
        {
            let task = |shard: &u32| Some((*shard, tasks.get(shard - array.first_shard)?));
            let alive = array.owed.keys().filter_map(task).filter(|(_, task)| task.is_alive());
            let (waiting, running): (Vec<_>, Vec<_>) = alive.partition(|(_, task)| task.state == "PENDING");
            found.n_waiting = Some(waiting.len());
            found.n_running = Some(running.len());
            found.n_without_room =
                Some(running.iter().filter(|(shard, _)| last_state(run, *shard) == DiskState::Waits).count());
            found.reasons = waiting.into_iter().map(|(_, task)| task.reason.clone()).collect();
            found.reasons.sort();
            found.reasons.dedup();
        }
        arrays.push(found);
    }
    let given_up = submissions.list.given_up.clone().into_iter().collect();
    Ok(Some(Arrays { name, arrays, given_up }))
}
