//! One shard of a run as its worker sees it.

use std::{collections::BTreeSet, time::Duration};

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::spec::Spec;
use specimen_record::{ItemKey, Manifest, PlanFile, RunDir};

use crate::{plan::shard_map::ShardMap, process::disk_wait::DiskWait, work::worker_event::WorkerEvent};

/// The part of a run that one worker does.
#[derive(Clone, Debug)]
pub struct Share {
    /// Number of its shard.
    pub shard: u32,
    /// How the plan is cut.
    pub map: ShardMap,
    /// Items that are not made: they have killed too many workers.
    pub skip: BTreeSet<ItemKey>,
    /// The GPU that `cuda` without an index means.
    pub gpu: Option<u32>,
    /// Whether no driver reads the worker's reports: the image under way is then noted on disk.
    pub is_unattended: bool,
    /// How long a write may wait for disk space; `None`: until the worker is asked to stop.
    pub disk_wait: Option<Duration>,
    /// The folder of the data.
    pub data_root: Option<DataRoot>,
}

/// What every step of a worker needs.
#[derive(Clone, Copy)]
pub(crate) struct ShardWork<'a> {
    /// The run.
    pub(crate) run: &'a RunDir,
    /// Its plan.
    pub(crate) plan: &'a PlanFile,
    /// What the run began with.
    pub(crate) manifest: &'a Manifest,
    /// Its spec, with the cells on the worker's GPU.
    pub(crate) spec: &'a Spec,
    /// The worker's part.
    pub(crate) share: &'a Share,
    /// How writes wait for disk space.
    pub(crate) disk: DiskWait<'a>,
    /// Passes an event to the driver.
    pub(crate) report: &'a dyn Fn(WorkerEvent),
}
