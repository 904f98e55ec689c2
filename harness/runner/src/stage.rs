//! What a driver tells whoever watches it.

use specimen_record::ItemKey;

use crate::worker::Progress;

/// What the driver is doing.
#[derive(Clone, Debug, PartialEq)]
pub enum Stage {
    /// Workers are about to run.
    Generating {
        /// Items of the plan.
        n_items: u64,
    },
    /// A worker reports.
    Worker(Progress),
    /// A worker died; its shard is started again.
    WorkerDied {
        /// The shard.
        shard: u32,
        /// How it ended.
        status: String,
        /// The image under way, which is lost.
        item: Option<ItemKey>,
    },
    /// A row was begun and never finished; its item was made again or is made now.
    Torn {
        /// The file, the line and what is lost.
        what: String,
    },
    /// A metric of a cell is computed.
    Scoring {
        /// The metric.
        metric: String,
        /// The cell.
        cell: String,
    },
}
