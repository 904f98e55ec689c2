//! The four commands of a cluster that are used: `sbatch`, `squeue`, `scancel` and `scontrol`. The queue
//! shows which tasks are alive; from a command that fails or does not answer nothing follows, least of all
//! that a job has failed.

use std::{collections::BTreeMap, time::Duration};

use specimen_experiments::array_shape::max_array_size;
use specimen_foundation::failure;

use crate::{error::RunError, process::stop_request::StopRequest};

use super::command::ask;

/// How long a command may take to answer. A controller that restarts lets its clients wait.
const PATIENCE: Duration = Duration::from_secs(30);

/// One task in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Task {
    /// Its state in Slurm's long form.
    pub(crate) state: String,
    /// Why it waits, or why it ended.
    pub(crate) reason: String,
}

/// States in which a task runs or may still come to run.
const ALIVE: [&str; 11] = [
    "PENDING",
    "RUNNING",
    "SUSPENDED",
    "COMPLETING",
    "CONFIGURING",
    "REQUEUED",
    "REQUEUE_FED",
    "REQUEUE_HOLD",
    "RESIZING",
    "SIGNALING",
    "STAGE_OUT",
];

impl Task {
    /// Whether it runs, or may still.
    pub(crate) fn is_alive(&self) -> bool {
        ALIVE.contains(&self.state.as_str()) || self.state == "STOPPED" || self.state == "RESV_DEL_HOLD"
    }
}

/// The tasks of an array.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tasks {
    /// By number.
    numbered: BTreeMap<u32, Task>,
    /// All others, in one row without a number: of an array that ended before they started.
    others: Option<Task>,
}

impl Tasks {
    /// The task of this number.
    pub(crate) fn get(&self, number: u32) -> Option<&Task> {
        self.numbered.get(&number).or(self.others.as_ref())
    }

    /// Whether any runs, or may still.
    pub(crate) fn are_alive(&self) -> bool {
        self.numbered.values().any(Task::is_alive)
    }
}

/// An array in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Those of its tasks that it knows.
    Tasks(Tasks),
    /// The queue does not answer.
    Unknown,
}

/// The commands, for one run.
pub(crate) struct Client<'a> {
    /// The name of the run's jobs.
    pub(crate) name: &'a str,
    pub(crate) stop: &'a StopRequest,
}

impl Client<'_> {
    /// The tasks of an array. Job numbers are used again: rows of another name are not ours.
    pub(crate) fn array(&self, job: u64) -> Seen {
        let job = job.to_string();
        match self
            .ask("squeue", &["--noheader", "--array", "--states=all", "--jobs", &job, "--format=%K|%T|%r|%j"])
        {
            Ok(text) => Seen::Tasks(tasks(&text, self.name)),
            // Of a job that ended long ago the controller says this, and is sure of it.
            Err(why) if why.contains("Invalid job id") => Seen::Tasks(Tasks::default()),
            Err(_) => Seen::Unknown,
        }
    }

    /// The numbers of all arrays of the run that the queue knows to be alive; `None` when it does not answer.
    pub(crate) fn arrays(&self) -> Option<Vec<u64>> {
        let name = format!("--name={}", self.name);
        let text = self.ask("squeue", &["--noheader", "--me", &name, "--format=%F"]).ok()?;
        let mut found: Vec<u64> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
        found.sort_unstable();
        found.dedup();
        Some(found)
    }

    /// Ends an array.
    pub(crate) fn cancel(&self, job: u64) -> Result<(), RunError> {
        let said = self.ask("scancel", &[&job.to_string()]);
        said.map(drop).map_err(|why| failure!(Environment: "cannot cancel job {job}: {why}").into())
    }

    /// Submits an array; its job number, or the error of `sbatch`.
    pub(crate) fn submit(&self, arguments: &[String]) -> Result<u64, String> {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let said = self.ask("sbatch", &arguments)?;
        let number = said.trim().split(';').next().and_then(|number| number.parse().ok());
        number.ok_or_else(|| format!("it answered {:?} instead of a job's number", said.trim()))
    }

    /// The first number that no task of an array may have.
    pub(crate) fn max_array_size(&self) -> Result<u32, String> {
        let said = self.ask("scontrol", &["show", "config"])?;
        max_array_size(&said).ok_or_else(|| "`scontrol show config` names no MaxArraySize above 1".to_owned())
    }

    fn ask(&self, program: &str, arguments: &[&str]) -> Result<String, String> {
        ask(program, arguments, PATIENCE, self.stop)
    }
}

/// Whether a failure of `sbatch` is the controller's absence, which passes, and not a request that it
/// refuses.
pub(crate) fn passes(why: &str) -> bool {
    let signs = [
        "contact",
        "did not answer",
        "onnection",
        "timed out",
        "imeout",
        "try again",
        "emporar",
        "backup controller",
        "transmission failed",
    ];
    signs.iter().any(|sign| why.contains(sign))
}

/// Rows `task|state|reason|name`.
fn tasks(text: &str, name: &str) -> Tasks {
    let mut found = Tasks::default();
    for line in text.lines() {
        let fields: Vec<&str> = line.splitn(4, '|').map(str::trim).collect();
        let [number, state, reason, its] = fields[..] else { continue };
        if its != name {
            continue;
        }
        let task = Task { state: state.to_owned(), reason: reason.to_owned() };
        match number.parse() {
            Ok(number) => drop(found.numbered.insert(number, task)),
            Err(_) if !task.is_alive() => found.others = Some(task),
            Err(_) => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_other_jobs_are_passed_over() {
        let text = "0|RUNNING|None|specimen-0a\n1|OUT_OF_MEMORY|OutOfMemory|specimen-0a\n2|PENDING|Priority|other\n\
                    N/A|RUNNING|None|specimen-0a\n\n";
        let found = tasks(text, "specimen-0a");
        let alive = [0, 1, 2].map(|number| found.get(number).map(Task::is_alive));
        assert_eq!((alive, found.are_alive()), ([Some(true), Some(false), None], true));
    }

    #[test]
    fn tasks_that_were_cancelled_before_they_started_share_a_row_without_number() {
        let found = tasks("3|FAILED|None|specimen-0a\nN/A|CANCELLED|Priority|specimen-0a\n", "specimen-0a");
        let states = [3, 4].map(|number| found.get(number).map(|task| task.state.as_str()));
        assert_eq!((states, found.are_alive()), ([Some("FAILED"), Some("CANCELLED")], false));
    }

    #[test]
    fn a_controller_that_is_away_passes_and_a_refusal_does_not() {
        assert!(passes(
            "`sbatch`: Batch job submission failed: Unable to contact slurm controller (connect failure)"
        ));
        assert!(!passes("`sbatch`: error: invalid partition specified: gpus"));
    }
}
