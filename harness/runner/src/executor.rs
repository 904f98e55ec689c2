//! Where the workers of a run come from: processes of this machine, or the tasks of a cluster. Both start the same
//! program on the same shards, so what comes of a run does not depend on which it was.

use std::time::Duration;

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::spec::Spec;
use specimen_record::{PlanFile, RunDir};

use crate::{error::RunError, shard_map::ShardMap, stage::Stage, stop::Stop};

/// What is to be worked on.
#[derive(Clone, Copy)]
pub struct Work<'a> {
    /// The run, whose manifest and plan are written.
    pub run: &'a RunDir,
    /// Its plan.
    pub plan: &'a PlanFile,
    /// Its spec.
    pub spec: &'a Spec,
    /// How the plan is cut.
    pub map: ShardMap,
    /// Where data lies.
    pub data_root: Option<&'a DataRoot>,
    /// How long any one write, the driver's or a worker's, may wait for room on the disk; `None`: until asked to stop.
    pub disk_wait: Option<Duration>,
}

/// How far an executor came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Every shard was worked on to its end.
    Worked,
    /// Workers go on without this process.
    UnderWay {
        /// Shards that they still owe.
        n_shards: u32,
    },
}

/// Where workers come from.
pub trait Executor {
    /// Whether no worker outlives the process that started it. Otherwise some may be at work on a run that is taken
    /// up again, and are left to it.
    fn owns_its_workers(&self) -> bool;

    /// How the plan is cut for it.
    ///
    /// # Errors
    /// A run directory that cannot be read.
    fn cut(&self, run: &RunDir, plan: &PlanFile, spec: &Spec) -> Result<ShardMap, RunError>;

    /// Has every shard worked on.
    ///
    /// # Errors
    /// Workers that cannot be had, or that end with a failure which another attempt would repeat;
    /// [`RunError::Interrupted`] or [`RunError::Aborted`] as `stop` asks.
    fn work(&self, work: &Work<'_>, stop: &Stop, report: &mut dyn FnMut(Stage))
    -> Result<Standing, RunError>;
}
