//! The blocks of one shard, item by item, in this process. Each attempt writes its own files; a later
//! attempt continues from what earlier ones left.
//!
//! A block interrupted halfway is timed again from its start: ratios are formed within one attempt only.

use std::{cell::RefCell, sync::mpsc::Sender};

use specimen_experiments::spec::Spec;
use specimen_record::{
    Block, Done, ItemKey, Manifest, PlanFile, RecordError, RunDir, coverage, disk_full, read_document,
    restore_images, verify_plan, write_document,
};

use crate::{
    error::RunError,
    images::load::ANY_GPU,
    plan::{
        batches::batches,
        shard_map::{is_timed, timed_cells},
        stored_plan::spec_of,
    },
    process::{
        disk_wait::{DiskWait, Wait},
        stop_request::StopRequest,
    },
    work::{
        attempt::Attempt,
        claim::Claim,
        heartbeat::{DiskState, write_state},
        remaining::Remaining,
        shard_work::{ShardWork, Share},
        worker_event::WorkerEvent,
    },
};

/// Runs a shard to its end.
pub fn run_shard(
    run: &RunDir,
    share: &Share,
    stop: &StopRequest,
    report: &mut dyn FnMut(WorkerEvent),
) -> Result<(), RunError> {
    let orders = Orders::read(run, share.gpu)?;
    let report = RefCell::new(report);
    let report = |event: WorkerEvent| report.borrow_mut()(event);
    let on_wait = |wait: Wait| report(wait.into());
    // Before anything is counted: an orphan may still be adding to it.
    let claim = Claim::take(run, share.shard, DiskWait::new(stop, share.disk_wait, &on_wait));
    let heartbeat: Option<Sender<DiskState>> = claim.as_ref().ok().map(Claim::heartbeat);
    let note = |state: DiskState| {
        // The heartbeat ends with the work, and nothing depends on what it says.
        let _ = heartbeat.as_ref().map(|heartbeat| heartbeat.send(state));
    };
    let on_wait = |wait: Wait| {
        note(DiskState::from(&wait));
        report(wait.into());
    };
    let Orders { plan, manifest, spec } = &orders;
    let disk = DiskWait::new(stop, share.disk_wait, &on_wait);
    let work = ShardWork { run, plan, manifest, spec, share, disk, report: &report };
    let ended = claim.and_then(|claim| run_claimed(&work, claim));
    if ended.as_ref().is_err_and(|error| disk_full(error).is_some()) {
        // The error may find no disk space either. The heartbeat may come once more.
        note(DiskState::GaveUp);
        write_state(run, share.shard, DiskState::GaveUp);
    }
    ended
}

/// What the run's folder says is to be made.
struct Orders {
    plan: PlanFile,
    manifest: Manifest,
    /// With its cells on the worker's GPU.
    spec: Spec,
}

impl Orders {
    fn read(run: &RunDir, gpu: Option<u32>) -> Result<Self, RunError> {
        // Nothing is made of a plan that was changed.
        let plan = verify_plan(run)?;
        let manifest: Manifest = read_document(&run.manifest())?;
        let mut spec = spec_of(run, &manifest)?;
        place(&mut spec, gpu);
        Ok(Self { plan, manifest, spec })
    }
}

/// The blocks of the shard that is claimed.
fn run_claimed(work: &ShardWork<'_>, claim: Claim) -> Result<(), RunError> {
    let &ShardWork { run, plan, manifest, spec, share, disk, .. } = work;
    // Of all shards: a run may be resumed with another number of them.
    let remaining = Remaining::new(coverage(run, plan)?, share.skip.clone());
    let mut blocks = share.map.blocks(share.shard, plan, spec);
    let timed = timed_cells(spec);
    blocks.retain(|block| remaining.is_unfinished(block, is_timed(block, &timed)));
    if blocks.is_empty() {
        return disk.write(|| mark_done(run, share.shard, &claim));
    }
    let is_any_timed = blocks.iter().any(|block| is_timed(block, &timed));
    let mut attempt = Attempt::open(*work, claim, is_any_timed)?;
    attempt.load(&blocks, manifest)?;
    let ended = run_blocks(&mut attempt, &blocks, plan, &remaining, disk.stop());
    // The shard is another worker's, and its run may be sealed already: not a byte is added.
    if matches!(ended, Err(RunError::Superseded { .. })) {
        return ended;
    }
    // What was made is whole and stays, however the loop ended.
    let closed = attempt.close();
    ended?;
    let claim = closed?;
    disk.write(|| mark_done(run, share.shard, &claim))
}

/// Writes the marker, unless a later worker has the shard. An image that was lost may be made again in
/// another shard of this cut: where that is not done yet, the driver writes the marker.
fn mark_done(run: &RunDir, shard: u32, claim: &Claim) -> Result<(), RunError> {
    let is_absent = |error: &RecordError| match error {
        RecordError::Io { source, .. } => source.kind() == std::io::ErrorKind::NotFound,
        _ => false,
    };
    let mut done = Done::of_shard(run, shard);
    if done.as_ref().is_err_and(is_absent) {
        restore_images(run, shard)?;
        done = Done::of_shard(run, shard);
    }
    let done = match done {
        Err(error) if is_absent(&error) => return Ok(()),
        done => done?,
    };
    claim.check(run)?;
    Ok(write_document(&run.done(shard), &done)?)
}

/// Puts the cells whose device is any GPU on the one that the worker was given.
fn place(spec: &mut Spec, gpu: Option<u32>) {
    let Some(gpu) = gpu else { return };
    for cell in spec.cells.iter_mut().filter(|cell| cell.model.device == ANY_GPU) {
        cell.model.device = format!("{ANY_GPU}:{gpu}");
    }
}

fn run_blocks(
    attempt: &mut Attempt<'_>,
    blocks: &[&Block],
    plan: &PlanFile,
    remaining: &Remaining,
    stop: &StopRequest,
) -> Result<(), RunError> {
    let items = plan.by_key();
    for block in blocks {
        let timed = block.items.iter().any(|key| attempt.cell(key).timed);
        let wanted = |key: &&ItemKey| match timed {
            true => !remaining.given_up.contains(*key),
            false => remaining.is_missing(key),
        };
        let n_lanes = |cell: &str| attempt.n_together(cell);
        let batches = batches(block, n_lanes, |key| wanted(&key).then(|| items[key.as_str()].1));
        if timed {
            attempt.warm_up(&batches, stop)?;
        }
        let mut order = 0;
        for batch in &batches {
            stop.check()?;
            attempt.make(batch, order)?;
            order += batch.images.len() as u32;
        }
        attempt.end_block(block.index)?;
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use specimen_experiments::parse::SpecText;

    use super::*;

    #[test]
    fn only_cells_that_leave_the_gpu_to_the_run_are_put_on_the_workers() {
        let text = r#"
            schema = 1
            name = "devices"
            seed = 1
            analysis = "where cells compute"
            [dataset]
            name = "scenes-val"
            limit = 1
            [[model]]
            name = "stub"
            dtype = "f32"
            device = "cuda"
            [[model]]
            name = "stub"
            dtype = "f32"
            device = "cuda:1"
            [[model]]
            name = "stub"
            dtype = "f32"
            [sampling]
            temperature = 1.0
            top_k = 0
            top_p = 1.0
            guidance = 2.0
            [timing]
            warmup = 1
            blocks = 1
            [[cell]]
            name = "ar"
        "#;
        let mut spec = SpecText::parse("devices.toml", text).unwrap().resolve().unwrap();
        let devices =
            |spec: &Spec| spec.cells.iter().map(|cell| cell.model.device.clone()).collect::<Vec<_>>();
        place(&mut spec, None);
        assert_eq!(devices(&spec), ["cuda", "cuda:1", "cpu"]);
        place(&mut spec, Some(3));
        assert_eq!(devices(&spec), ["cuda:3", "cuda:1", "cpu"]);
    }
}
