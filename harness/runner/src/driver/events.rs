//! What a driver reports while a run is made.

use specimen_record::ItemKey;

use crate::{process::disk_wait::Wait, work::worker_event::WorkerEvent};

/// What the driver is doing.
#[derive(Clone, Debug, PartialEq)]
pub enum DriverEvent {
    /// Workers are about to run.
    Generating {
        /// Items of the plan.
        n_items: u64,
    },
    /// A worker reports.
    Worker(WorkerEvent),
    /// A worker died; its shard is started again.
    WorkerDied {
        /// Number of the shard.
        shard: u32,
        /// How it ended.
        status: String,
        /// The image under way, which is lost.
        item: Option<ItemKey>,
    },
    /// A worker of this machine from which nothing has come for too long.
    Silent {
        /// Its shard, its process, since when, and what a person can do.
        what: String,
    },
    /// What is there of a run that is continued.
    Resuming {
        /// What is there and what is made again or for the first time.
        what: String,
    },
    /// A metric stays in a run that is continued with a spec that does not name it.
    KeptMetric {
        /// The names of its values, and what happens to them.
        what: String,
        /// Whether it can be computed here.
        is_here: bool,
    },
    /// A file of a run that is continued is not as it was sealed, and is made again.
    Damage {
        /// The file, and what is wrong with it.
        what: String,
    },
    /// The program or machine of a run that is continued is another one; the bytes promised for one machine
    /// and one build may differ.
    OtherProvenance {
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
        /// Number of the shard.
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
    /// The driver ends and its arrays continue.
    ArraysLeftRunning {
        /// Shards that they have not finished.
        n_shards: u32,
        /// The name of their jobs.
        name: String,
    },
    /// The disk is full, and writes wait.
    DiskFull {
        /// Which file, how much is free, and what helps.
        what: String,
    },
    /// The disk has space again.
    DiskFree,
    /// Workers were asked to finish the image under way.
    Stopping {
        /// How many of them make one.
        n_images: usize,
    },
    /// Something odd about the files of a model; the run continues.
    Weights {
        /// The file, what is odd about it, and what follows.
        what: String,
    },
    /// A cell that is imported does not have as many images of every prompt.
    UnevenPrompts {
        /// The table, the cell and the prompts.
        what: String,
    },
    /// A row was begun and never finished; its item was made again or is made now.
    Torn {
        /// The file, the line and what is lost.
        what: String,
    },
    /// A metric of a cell is computed.
    Scoring {
        /// Name of the metric.
        metric: String,
        /// Name of the cell.
        cell: String,
    },
}

impl From<Wait> for DriverEvent {
    fn from(wait: Wait) -> Self {
        match wait {
            Wait::Begins(shortage) => Self::DiskFull { what: shortage.to_string() },
            Wait::Ends => Self::DiskFree,
        }
    }
}
