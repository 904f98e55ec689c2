//! Where the workers of a run come from: processes of this machine, or the tasks of a cluster. Both start the
//! same program on the same shards, so the results of a run do not depend on it.

use crate::{driver::context::Context, error::RunError, plan::shard_map::ShardMap};

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
