//! What every step of a driver needs.

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::plan::Plan;
use specimen_record::{PlanFile, RunDir};

use crate::{driver::events::DriverEvent, process::disk_wait::DiskWait};

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
