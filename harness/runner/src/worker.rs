//! The blocks of one shard, item by item, in this process. Each attempt writes its own files; a later
//! attempt takes up what earlier ones left.
//!
//! A block interrupted halfway is timed again from its start: ratios are formed within one attempt only.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use specimen_datasets::data_root::DataRoot;
use specimen_experiments::spec::Spec;
use specimen_record::{
    Block, Coverage, Done, Item, ItemKey, Manifest, PlanFile, RecordError, RunDir, coverage, read_document,
    restore_images, verify_plan, want_of_room, write_document,
};

use crate::{
    attempt::Attempt,
    claim::Claim,
    error::RunError,
    executor::Work,
    heart::{Told, tell},
    room::{Room, Shortage, Wait},
    shard_map::{ShardMap, is_timed, timed_cells},
    stop::Stop,
};

/// The device of a spec that leaves the choice of the GPU to the run.
pub const ANY_GPU: &str = "cuda";

/// What a worker tells its driver, one JSON line each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// An image is begun; a worker that dies died of it.
    Begin {
        /// The item.
        key: ItemKey,
    },
    /// An item has its row.
    Item {
        /// Its cell.
        cell: String,
        /// Whether it gave an image.
        ok: bool,
        /// Seconds of decoding.
        decode_s: f64,
    },
    /// A warm-up image was made.
    Warmup {
        /// Its cell.
        cell: String,
    },
    /// The disk is full, and what cannot be written waits.
    NoRoom(Shortage),
    /// There is room again.
    Room,
    /// The worker's last words. Its log has them too, unless the disk is full.
    Failed {
        /// What stopped it.
        why: String,
    },
}

impl From<Wait> for Progress {
    fn from(wait: Wait) -> Self {
        match wait {
            Wait::Begins(shortage) => Self::NoRoom(shortage),
            Wait::Ends => Self::Room,
        }
    }
}

/// Which part of a run a worker does, and for whom.
#[derive(Clone, Debug)]
pub struct Share {
    /// Its shard.
    pub shard: u32,
    /// How the plan is cut.
    pub map: ShardMap,
    /// Items that are left alone: they have killed too many workers.
    pub skip: BTreeSet<ItemKey>,
    /// The GPU that `cuda` without an index means.
    pub gpu: Option<u32>,
    /// Whether no driver listens: the image under way is then named on disk.
    pub is_unattended: bool,
    /// How long a write may wait for room on the disk; `None`: until it is asked to stop.
    pub disk_wait: Option<Duration>,
    /// Where data lies.
    pub data_root: Option<DataRoot>,
}

/// Runs a shard to its end.
///
/// # Errors
/// A run directory that cannot be read or written, or models that cannot be loaded; [`RunError::Interrupted`]
/// when `stop` asks for it, [`RunError::Superseded`] when a later worker took the shard over. An item that
/// fails is a row, not an error. A disk that is full is waited for.
pub fn run_shard(
    run: &RunDir,
    share: &Share,
    stop: &Stop,
    report: &mut dyn FnMut(Progress),
) -> Result<(), RunError> {
    let orders = Orders::read(run, share.gpu)?;
    let room = Room::new(stop, share.disk_wait);
    // Before anything is counted: an orphan may still be adding to it.
    let taken = Claim::take(run, share.shard, room, report);
    let heart = taken.as_ref().ok().map(Claim::worker);
    let told = |told| {
        // The heart ends with the work, and nothing depends on what it tells.
        let _ = heart.as_ref().map(|heart| heart.send(told));
    };
    let report: &mut dyn FnMut(Progress) = &mut |progress| {
        match progress {
            Progress::NoRoom(_) => told(Told::Waits),
            Progress::Room => told(Told::Works),
            _ => {}
        }
        report(progress);
    };
    let ended = taken.and_then(|claim| work(run, claim, &orders, share, room, report));
    if ended.as_ref().is_err_and(|error| want_of_room(error).is_some()) {
        // Its last words may find no room either. The heart may beat once more.
        told(Told::GaveUp);
        tell(run, share.shard, Told::GaveUp);
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
        // Nothing is made of a plan that somebody changed.
        let plan = verify_plan(run)?;
        let manifest: Manifest = read_document(&run.manifest())?;
        let mut spec: Spec = serde_json::from_value(manifest.spec.clone())
            .map_err(|e| RunError::Spec(format!("{}: `spec`: {e}", run.manifest().display())))?;
        place(&mut spec, gpu);
        Ok(Self { plan, manifest, spec })
    }
}

/// The blocks of the shard that is claimed.
fn work(
    run: &RunDir,
    claim: Claim,
    orders: &Orders,
    share: &Share,
    room: Room<'_>,
    report: &mut dyn FnMut(Progress),
) -> Result<(), RunError> {
    let Orders { plan, manifest, spec } = orders;
    // Of all shards: a run may be resumed with another number of them.
    let left = Left::new(coverage(run, plan)?, share.skip.clone());
    let mut blocks = share.map.blocks(share.shard, plan, spec);
    let timed = timed_cells(spec);
    blocks.retain(|block| left.is_unfinished(block, is_timed(block, &timed)));
    if blocks.is_empty() {
        return room.write(report, || mark_done(run, share.shard, &claim));
    }
    let is_any_timed = blocks.iter().any(|block| is_timed(block, &timed));
    let mut attempt = Attempt::open(run, claim, spec, share, is_any_timed, room, report)?;
    attempt.load(&blocks, manifest)?;
    let ended = run_blocks(&mut attempt, &blocks, plan, &left, room.stop(), report);
    // The shard is another's, and its run may be sealed already: not a byte is added.
    if matches!(ended, Err(RunError::Superseded { .. })) {
        return ended;
    }
    // What was made is whole and stays, however the loop ended.
    let closed = attempt.close(report);
    ended?;
    let claim = closed?;
    room.write(report, || mark_done(run, share.shard, &claim))
}

/// Writes the marker, unless a later worker has the shard. An image that was lost may be made again in another shard
/// of this cut: where that is not done yet, the driver writes the marker.
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

/// The shards of a plan with something left to do, and how many of their blocks have; items of `given_up` are not
/// counted. Of items whose image is not seen, those count that are in `lost`, or all where it is `None`: what another
/// machine has just written may not be seen yet. `lost` is then what was not seen.
///
/// # Errors
/// Records that cannot be read.
pub(crate) fn unfinished(
    work: &Work<'_>,
    given_up: &BTreeSet<ItemKey>,
    lost: &mut Option<BTreeSet<ItemKey>>,
) -> Result<BTreeMap<u32, u64>, RunError> {
    let mut coverage = coverage(work.run, work.plan)?;
    let known = lost.get_or_insert_with(|| coverage.lost.iter().cloned().collect());
    coverage.ok.extend(coverage.lost.extract_if(.., |key| !known.contains(key)));
    let left = Left::new(coverage, given_up.clone());
    let timed = timed_cells(work.spec);
    let mut found = BTreeMap::new();
    for (block, shard) in work.plan.blocks.iter().zip(work.map.shards(work.plan, work.spec)) {
        if left.is_unfinished(block, is_timed(block, &timed)) {
            *found.entry(shard).or_default() += 1;
        }
    }
    Ok(found)
}

/// Puts the cells whose device is any GPU on the one that the worker was given.
fn place(spec: &mut Spec, gpu: Option<u32>) {
    let Some(gpu) = gpu else { return };
    for cell in spec.cells.iter_mut().filter(|cell| cell.model.device == ANY_GPU) {
        cell.model.device = format!("{ANY_GPU}:{gpu}");
    }
}

/// What earlier attempts left to do.
struct Left {
    /// What they made.
    coverage: Coverage,
    /// Items with an image.
    made: BTreeSet<ItemKey>,
    /// Items that are not tried again.
    given_up: BTreeSet<ItemKey>,
}

impl Left {
    fn new(coverage: Coverage, given_up: BTreeSet<ItemKey>) -> Self {
        Self { made: coverage.ok.iter().cloned().collect(), given_up, coverage }
    }

    /// Whether an item of the block has no image, or the images of a timed block come from several attempts and
    /// so cannot be compared.
    fn is_unfinished(&self, block: &Block, is_timed: bool) -> bool {
        let tried = || block.items.iter().filter(|key| !self.given_up.contains(*key));
        tried().any(|key| !self.made.contains(key)) || (is_timed && !self.coverage.in_one_attempt(tried()))
    }

    fn is_missing(&self, key: &ItemKey) -> bool {
        !self.made.contains(key) && !self.given_up.contains(key)
    }
}

fn run_blocks(
    attempt: &mut Attempt<'_>,
    blocks: &[&Block],
    plan: &PlanFile,
    left: &Left,
    stop: &Stop,
    report: &mut dyn FnMut(Progress),
) -> Result<(), RunError> {
    let items = plan.by_key();
    for block in blocks {
        let timed = block.items.iter().any(|key| attempt.cell(key).timed);
        let wanted =
            |key: &&ItemKey| if timed { !left.given_up.contains(*key) } else { left.is_missing(key) };
        let rows: Vec<&Item> = block.items.iter().filter(wanted).map(|key| items[key.as_str()].1).collect();
        if timed {
            attempt.warm_up(&rows, stop, report)?;
        }
        for (order, item) in rows.iter().enumerate() {
            stop.check()?;
            attempt.make(item, order as u32, report)?;
        }
        attempt.end_block(block.index, report)?;
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
