//! Which shards have something left to do.

use std::collections::{BTreeMap, BTreeSet};

use specimen_record::{ItemKey, coverage};

use crate::{
    driver::executor::{Context, Work},
    error::RunError,
    plan::shard_map::{is_timed, timed_cells},
    work::remaining::Remaining,
};

/// The shards of a plan with something left to do, and how many of their blocks have; items of `given_up` are
/// not counted. Of items whose image is not seen, those count that are in `lost`, or all where it is `None`:
/// a file that another machine has just written may not be visible yet. `lost` is then the set of those
/// items.
pub(super) fn unfinished(
    work: &Work<'_>,
    given_up: &BTreeSet<ItemKey>,
    lost: &mut Option<BTreeSet<ItemKey>>,
) -> Result<BTreeMap<u32, u64>, RunError> {
    let Context { run, plan, file, .. } = work.context;
    let mut coverage = coverage(run, file)?;
    let known = lost.get_or_insert_with(|| coverage.lost.iter().cloned().collect());
    coverage.ok.extend(coverage.lost.extract_if(.., |key| !known.contains(key)));
    let left = Remaining::new(coverage, given_up.clone());
    let timed = timed_cells(&plan.spec);
    let mut found = BTreeMap::new();
    for (block, shard) in file.blocks.iter().zip(work.map.shards(file, &plan.spec)) {
        if left.is_unfinished(block, is_timed(block, &timed)) {
            *found.entry(shard).or_default() += 1;
        }
    }
    Ok(found)
}
