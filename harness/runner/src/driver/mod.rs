//! A whole run: plan, workers, merge, scores, summary, seal.

pub mod events;
pub mod executor;
pub mod finish;
pub mod import_scores;
pub mod kept_metrics;
pub mod local;
pub(crate) mod open_run;
mod renewal;
mod repair;
pub mod rescore;
mod weights;

use std::{cell::RefCell, path::Path, time::Duration};

use specimen_datasets::{PromptSet, data_root::DataRoot};
use specimen_experiments::plan::Plan;
use specimen_record::{CellProgress, Git, Lease, RecordError, read_document, run_progress, sweep_unfinished};

use self::{
    events::DriverEvent,
    executor::{Completion, Context, Executor, Work},
    finish::{Outcome, finish},
    kept_metrics::{keep_metrics, uncomputed},
    open_run::Opening,
    repair::remove_markers_of_lost,
    weights::weights_of,
};
use crate::{
    error::RunError,
    images::load::Models,
    machine::provenance,
    plan::{shard_map::timed_again, stored_plan::plan_file},
    process::{
        disk_wait::{DiskWait, Wait},
        stop_request::StopRequest,
    },
    protocol_scores,
    work::claim::Claim,
};

/// How to run a plan.
pub struct Options<'a> {
    /// The run's folder.
    pub out: &'a Path,
    /// Whether to continue a run that is there.
    pub resume: bool,
    /// Where workers come from.
    pub executor: &'a dyn Executor,
    /// The command line as typed, for the manifest.
    pub argv: Vec<String>,
    /// Which sources the program was built from, for the manifest.
    pub git: Git,
    /// The folder of the data.
    pub data_root: Option<DataRoot>,
    /// How long any one write may wait for disk space; `None`: until the run is asked to stop.
    pub disk_wait: Option<Duration>,
}

/// How far a run came.
pub enum Ending {
    /// Everything was made, merged, scored and summarised.
    Finished(Box<Outcome>),
    /// Workers continue without this process.
    UnderWay {
        /// Shards that they have not finished.
        n_shards: u32,
    },
}

impl Ending {
    /// The outcome of a run that is finished.
    pub fn finished(self) -> Option<Outcome> {
        match self {
            Self::Finished(outcome) => Some(*outcome),
            Self::UnderWay { .. } => None,
        }
    }
}

/// Runs `plan` to its end, or until the executor leaves the rest to workers that continue alone.
pub fn run(
    plan: &Plan,
    prompts: &PromptSet,
    options: &Options<'_>,
    stop: &StopRequest,
    report: &mut dyn FnMut(DriverEvent),
) -> Result<Ending, RunError> {
    let report = RefCell::new(report);
    let report = |event: DriverEvent| report.borrow_mut()(event);
    let on_wait = |wait: Wait| report(wait.into());
    let disk = DiskWait::new(stop, options.disk_wait, &on_wait);
    let file = plan_file(plan)?;
    let data_root = options.data_root.as_ref();
    let mut with_kept = plan.clone();
    let kept = keep_metrics(options.out, &mut with_kept)?;
    let (asked, plan) = (plan, &with_kept);
    let mut models = Models::of(&plan.spec, options.data_root.clone());
    let is_here = options.executor.owns_its_workers();
    // Loading here finds absent weights before anything is written.
    let weights = weights_of(plan, &mut models, is_here, &report)?;
    protocol_scores::check(&asked.spec, data_root)?;
    // Workers load their own; until the images are scored this process needs none.
    drop(models);
    let (run, _lock) =
        Opening { plan, file: &file, options, disk, report: &report }.open(prompts, weights)?;
    let context = Context { run: &run, plan, file: &file, data_root, disk, report: &report };
    let n_swept = sweep_unfinished(run.root())?;
    // Where workers outlive their driver, a worker of this run is no orphan.
    if is_here {
        fence(&context)?;
    }
    let map = options.executor.cut(&context)?;
    take_stock(&context, is_here, n_swept)?;
    let uncomputed = uncomputed(&kept, run.root(), data_root, &report)?;
    report(DriverEvent::Generating { n_items: file.items.len() as u64 });
    if let Completion::UnderWay { n_shards } = options.executor.work(&Work { context, map })? {
        return Ok(Ending::UnderWay { n_shards });
    }
    sweep(&context)?;
    let mut models = Models::of(&plan.spec, options.data_root.clone());
    finish(&context, &mut models, &uncomputed).map(|outcome| Ending::Finished(Box::new(outcome)))
}

/// Removes files that killed workers left half written.
fn sweep(context: &Context<'_>) -> Result<(), RunError> {
    let n_swept = sweep_unfinished(context.run.root())?;
    if n_swept > 0 {
        let what = format!("{n_swept} files were never finished and are removed");
        (context.report)(DriverEvent::Torn { what });
    }
    Ok(())
}

/// Takes every shard from whatever orphan of an earlier driver still works on it, also those that the new cut
/// does not use.
fn fence(context: &Context<'_>) -> Result<(), RunError> {
    for shard in context.run.shards()? {
        let lease = context.run.lease(shard);
        if lease.exists()
            && let Err(error @ (RecordError::Syntax { .. } | RecordError::Inconsistent { .. })) =
                read_document::<Lease>(&lease)
        {
            (context.report)(DriverEvent::Damage { what: format!("{error}; it is made again") });
        }
        Claim::take(context.run, shard, context.disk)?;
    }
    Ok(())
}

/// Reports what is there of a run that is continued; `n_swept` files were never finished. Where it
/// `is_still`, no worker outlived an earlier driver.
fn take_stock(context: &Context<'_>, is_still: bool, n_swept: u64) -> Result<(), RunError> {
    let &Context { run, file, report, .. } = context;
    if run.shards()?.is_empty() {
        return Ok(());
    }
    // A driver on a cluster's login node makes no images: only the workers' machines can differ.
    for what in if is_still { provenance::differences(run)? } else { Vec::new() } {
        report(DriverEvent::OtherProvenance { what });
    }
    let progress = run_progress(run, file)?;
    remove_markers_of_lost(run, &progress)?;
    let sum = |of: fn(&CellProgress) -> u64| progress.cells.iter().map(of).sum::<u64>();
    let n_items = file.items.len();
    let mut what = format!("{} of {n_items} images are there", sum(|cell| cell.n_ok));
    for (n, rest) in [
        (sum(|cell| cell.n_missing), "missing"),
        (sum(|cell| cell.n_failed), "failed and tried again"),
        (n_swept, "files were never finished and are removed"),
    ] {
        if n > 0 {
            what += &format!(", {n} {rest}");
        }
    }
    let again = timed_again(file, &context.plan.spec, &progress).len();
    if again > 0 {
        what += &format!("; {again} timed block(s) have some of their images and are timed again");
    }
    if let Some(first) = progress.lost.first() {
        let n = progress.lost.len();
        what += &format!("; {n} image(s) were made and are gone, the first is {}", first.display());
    }
    report(DriverEvent::Resuming { what });
    Ok(())
}
