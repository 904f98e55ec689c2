//! Which worker's share of the plan a block belongs to. Timed and untimed blocks have shards of their own:
//! the first are run by one worker at a time, the others by as many as there are cores. The cut is a matter
//! of scheduling only; a run may be resumed with another one.

use std::collections::BTreeSet;

use specimen_experiments::spec::Spec;
use specimen_record::{Block, ItemKey, PlanFile, RunProgress};

/// How a plan is cut: shards `0..timed` hold the timed blocks, the next `untimed` the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardMap {
    /// Shards of timed blocks.
    pub timed: u32,
    /// Shards of blocks that are not timed.
    pub untimed: u32,
}

impl ShardMap {
    /// At most `timed` and `untimed` shards, and none where there is no block for it.
    pub fn of_plan(plan: &PlanFile, spec: &Spec, timed: u32, untimed: u32) -> Self {
        let cells = timed_cells(spec);
        let n_timed = plan.blocks.iter().filter(|block| is_timed(block, &cells)).count();
        let n_untimed = plan.blocks.len() - n_timed;
        let at_most = |asked: u32, n: usize| asked.min(u32::try_from(n).unwrap_or(u32::MAX));
        Self { timed: at_most(timed, n_timed), untimed: at_most(untimed, n_untimed) }
    }

    /// Shards in all.
    pub fn n_shards(self) -> u32 {
        self.timed + self.untimed
    }

    /// The blocks of shard `k`, in plan order.
    pub fn blocks<'p>(self, k: u32, plan: &'p PlanFile, spec: &Spec) -> Vec<&'p Block> {
        let cells = timed_cells(spec);
        let wanted = k < self.timed;
        let (place, n) = if wanted { (k, self.timed) } else { (k - self.timed, self.untimed) };
        let of_kind = plan.blocks.iter().filter(|block| is_timed(block, &cells) == wanted);
        of_kind.skip(place as usize).step_by(n.max(1) as usize).collect()
    }

    /// The shard of each block, in plan order.
    pub fn shards(self, plan: &PlanFile, spec: &Spec) -> Vec<u32> {
        let cells = timed_cells(spec);
        let (mut n_timed, mut n_untimed) = (0_u32, 0_u32);
        let shard = |block: &Block| {
            let (n, first, all) = match is_timed(block, &cells) {
                true => (&mut n_timed, 0, self.timed),
                false => (&mut n_untimed, self.timed, self.untimed),
            };
            *n += 1;
            first + (*n - 1) % all.max(1)
        };
        plan.blocks.iter().map(shard).collect()
    }
}

/// The cells whose times count.
pub(crate) fn timed_cells(spec: &Spec) -> BTreeSet<&str> {
    spec.cells.iter().filter(|cell| cell.timed).map(|cell| cell.name.as_str()).collect()
}

/// The timed blocks that have some of their images and not all: a run that is continued makes and times all of them again.
pub fn timed_again<'p>(plan: &'p PlanFile, spec: &Spec, progress: &RunProgress) -> Vec<&'p Block> {
    let cells = timed_cells(spec);
    let is_again = |block: &&Block| progress.begun.contains(&block.index) && is_timed(block, &cells);
    plan.blocks.iter().filter(is_again).collect()
}

/// The images that a run that is continued makes again although they are there: those of [`timed_again`].
pub fn made_again<'p>(plan: &'p PlanFile, spec: &Spec, progress: &RunProgress) -> Vec<&'p ItemKey> {
    let blocks = timed_again(plan, spec, progress);
    let keys = blocks.into_iter().flat_map(|block| &block.items);
    keys.filter(|key| !progress.unmade.contains(*key)).collect()
}

/// Blocks hold either timed cells only or a single untimed one.
pub(crate) fn is_timed(block: &Block, timed: &BTreeSet<&str>) -> bool {
    block.items.first().is_some_and(|key| timed.contains(key.cell().as_str()))
}
