//! What a driver tells whoever watches it.

use specimen_record::ItemKey;

use crate::{room::Wait, worker::Progress};

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
    /// What lies there of a run that goes on.
    Resuming {
        /// What is there and what is made again or for the first time.
        what: String,
    },
    /// A file of a run that goes on is not as it was sealed, and is made again.
    Damage {
        /// The file, and what is wrong with it.
        what: String,
    },
    /// Something of a run that goes on is not as it was; the bytes promised for one machine and one build may
    /// differ.
    OtherMaker {
        /// In what.
        what: String,
    },
    /// Attempts of the run computed on devices of several models.
    SeveralDevices {
        /// Which, and what follows.
        what: String,
    },
    /// A task of the cluster ended before its shard was done.
    TaskEnded {
        /// The shard.
        shard: u32,
        /// How it ended, in words.
        how: String,
        /// The image that may be what ended it, which is lost.
        item: Option<ItemKey>,
    },
    /// What happens on the cluster.
    Cluster {
        /// In words.
        what: String,
    },
    /// The driver ends and its arrays go on.
    LeftAtWork {
        /// Shards that they owe.
        n_shards: u32,
        /// The name of their jobs.
        name: String,
    },
    /// The disk is full, and what cannot be written waits.
    NoRoom {
        /// Which file, how much is free, and what helps.
        what: String,
    },
    /// There is room again.
    Room,
    /// Workers were asked to finish the image under way.
    Stopping {
        /// How many of them make one.
        n_images: usize,
    },
    /// What whoever runs a model should know of its files; the run continues.
    Weights {
        /// The file, what is odd about it, and what is done.
        what: String,
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

impl From<Wait> for Stage {
    fn from(wait: Wait) -> Self {
        match wait {
            Wait::Begins(shortage) => Self::NoRoom { what: shortage.to_string() },
            Wait::Ends => Self::Room,
        }
    }
}
