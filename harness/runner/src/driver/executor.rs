//! Where the workers of a run come from: processes of this machine, or the tasks of a cluster. Both start the
//! same program on the same shards, so the results of a run do not depend on it.

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::plan::Plan;
use specimen_record::{PlanFile, RunDir};

use crate::{
    driver::events::DriverEvent, error::RunError, plan::shard_map::ShardMap, process::disk_wait::DiskWait,
};

/// A run under way.
#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// The run, whose manifest and plan are written.
    pub run: &'a RunDir,
    /// Its plan, with the spec.
    pub plan: &'a Plan,
    /// The plan as the run stores it.
    pub file: &'a PlanFile,
    /// The folder of the data.
    pub data_root: Option<&'a DataRoot>,
    /// How writes wait for disk space; it also has the requests to stop.
    pub disk: DiskWait<'a>,
    /// Passes an event to whatever shows the progress of the run.
    pub report: &'a dyn Fn(DriverEvent),
}

/// What is to be worked on.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The run.
    pub context: Context<'a>,
    /// How its plan is cut.
    pub map: ShardMap,
}

/// How an executor ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// Every shard was worked on to its end.
    Done,
    /// Workers continue without this process.
    UnderWay {
        /// Shards that they have not finished.
        n_shards: u32,
    },
}

/// Where workers come from.
pub trait Executor {
    /// Whether no worker outlives the process that started it. Otherwise some may be at work on a run that is
    /// continued, and are not disturbed.
    fn owns_its_workers(&self) -> bool;

    /// How the plan is cut for it.
    fn cut(&self, context: &Context<'_>) -> Result<ShardMap, RunError>;

    /// Has every shard worked on.
    fn work(&self, work: &Work<'_>) -> Result<Completion, RunError>;
}
