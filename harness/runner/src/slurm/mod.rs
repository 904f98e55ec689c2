//! Workers as tasks of job arrays. The queue says who is alive; what was made is on disk, and a shard is done when its
//! marker lies there. What is missing is handed in again, so no accounting database and no dependency between jobs
//! is needed, and any driver can go on where another stopped.
//!
//! Read in this order: `command` (one question), `client` (the four programs), `script` (what a task runs), `ledger`
//! (what is written down), `ends` (what follows from how a task ended), `pace` (how often the queue is asked), `site`
//! (one driver at work), [`standing`] (where the arrays are, for `status`).

mod client;
pub(crate) mod command;
mod ends;
mod ledger;
mod pace;
mod question;
mod script;
mod site;
pub mod standing;

use std::path::Path;

use specimen_experiments::{slurm::SlurmSpec, spec::Spec};
use specimen_record::{PlanFile, RunDir};

use crate::{
    error::RunError,
    executor::{Executor, Standing, Work},
    shard_map::ShardMap,
    stage::Stage,
    stop::Stop,
};

use client::{Client, Seen};
use ledger::Ledger;
use site::Site;

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
    fn cut(&self, run: &RunDir, plan: &PlanFile, spec: &Spec) -> Result<ShardMap, RunError> {
        let wanted = ShardMap::of_plan(plan, spec, self.n_shards, self.n_shards);
        let Some(ledger) = Ledger::open(run)? else { return Ok(wanted) };
        if ledger.n_owed() == 0 || ledger.map() == wanted {
            return Ok(wanted);
        }
        let (stop, name) = (Stop::never(), ledger.job_name());
        let client = Client { name: &name, stop: &stop };
        let is_over = |job| match client.array(job) {
            Seen::Tasks(tasks) => !tasks.are_alive(),
            Seen::Unknown => false,
        };
        let are_over = ledger.list.arrays.iter().all(|array| is_over(array.job));
        Ok(if are_over { wanted } else { ledger.map() })
    }

    fn work(
        &self,
        work: &Work<'_>,
        stop: &Stop,
        report: &mut dyn FnMut(Stage),
    ) -> Result<Standing, RunError> {
        Site::open(self, work, stop)?.work(report)
    }
}
