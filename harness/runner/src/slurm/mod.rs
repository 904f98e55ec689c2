//! Workers as tasks of job arrays. The queue shows which tasks are alive; what was made is on disk, and a
//! shard is done when it has its marker. What is missing is submitted again, so no accounting database and no
//! dependency between jobs is needed, and any driver can continue where another stopped.
//!
//! Read in this order: `command` (one command of the cluster), `client` (the four commands), `script` (what a
//! task runs), `submission_list` (what is kept of the submissions), `task_end` (how a task ended and what
//! follows), `poll_interval` (how often the queue is asked), `array_driver` (submits, watches, submits
//! again), [`arrays`] (the state of the arrays, for `status`).

mod array_driver;
pub mod arrays;
mod client;
pub(crate) mod command;
mod poll_interval;
mod question;
mod script;
mod submission_list;
mod task_end;
mod unfinished;

use std::path::Path;

use specimen_experiments::slurm::SlurmSpec;

use crate::{
    driver::executor::{Completion, Context, Executor, Work},
    error::RunError,
    plan::shard_map::ShardMap,
    process::stop_request::StopRequest,
};

use array_driver::ArrayDriver;
use client::{Client, Seen};
use submission_list::SubmissionList;

/// A cluster under Slurm.
pub struct Slurm<'a> {
    /// What is asked for.
    pub settings: &'a SlurmSpec,
    /// The program, at a path that the nodes have too.
    pub program: &'a Path,
    /// Shards that the timed and the untimed blocks are each cut into.
    pub n_shards: u32,
    /// Whether to leave the arrays at work instead of waiting for their end.
    pub detach: bool,
}

impl Executor for Slurm<'_> {
    fn owns_its_workers(&self) -> bool {
        false
    }

    /// While an earlier array is at work its cut stays: two cuts at once would make images twice.
    fn cut(&self, context: &Context<'_>) -> Result<ShardMap, RunError> {
        let wanted = ShardMap::of_plan(context.file, &context.plan.spec, self.n_shards, self.n_shards);
        let Some(submissions) = SubmissionList::open(context.run)? else { return Ok(wanted) };
        if submissions.n_owed() == 0 || submissions.map() == wanted {
            return Ok(wanted);
        }
        let (stop, name) = (StopRequest::never(), submissions.job_name());
        let client = Client { name: &name, stop: &stop };
        let is_over = |job| match client.array(job) {
            Seen::Tasks(tasks) => !tasks.are_alive(),
            Seen::Unknown => false,
        };
        let are_over = submissions.list.arrays.iter().all(|array| is_over(array.job));
        Ok(if are_over { wanted } else { submissions.map() })
    }

    fn work(&self, work: &Work<'_>) -> Result<Completion, RunError> {
        ArrayDriver::open(self, work)?.work()
    }
}
