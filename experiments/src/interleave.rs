//! Which items run together and in which order. Timed cells of one model share blocks of prompts and take
//! turns on each prompt, starting with another cell each time, so that none is always first and slow drift
//! of the machine hits all alike. Where images are decoded together, a turn is a batch. Untimed cells have blocks of their own.

use std::ops::Range;

use crate::spec::Cell;

/// A block before it is numbered: cells that alternate, and the prompts they share.
pub(crate) struct Group {
    /// Indices of the cells, in the order of the spec.
    pub(crate) cells: Vec<usize>,
    pub(crate) prompts: Range<usize>,
    pub(crate) timed: bool,
}

/// The blocks of a plan: all of one model before the next, timed ones first.
pub(crate) fn groups(cells: &[Cell], n_prompts: usize, prompts_per_block: usize) -> Vec<Group> {
    let mut sets: Vec<(Vec<usize>, bool)> = Vec::new();
    for (idx, cell) in cells.iter().enumerate().filter(|(_, cell)| cell.timed) {
        match sets.iter_mut().find(|(set, _)| cells[set[0]].model == cell.model) {
            Some((set, _)) => set.push(idx),
            None => sets.push((vec![idx], true)),
        }
    }
    sets.extend((0..cells.len()).filter(|&idx| !cells[idx].timed).map(|idx| (vec![idx], false)));
    let blocks = |(cells, timed): (Vec<usize>, bool)| {
        (0..n_prompts).step_by(prompts_per_block).map(move |start| Group {
            cells: cells.clone(),
            prompts: start..n_prompts.min(start + prompts_per_block),
            timed,
        })
    };
    sets.into_iter().flat_map(blocks).collect()
}

impl Group {
    /// (cell, prompt, sample) in the order in which one worker runs them. `cells` are those of the plan.
    pub(crate) fn run_order(&self, cells: &[Cell], n_samples: usize) -> Vec<(usize, usize, usize)> {
        let (n_cells, batch) = (self.cells.len(), cells[self.cells[0]].model.n_together());
        let images: Vec<(usize, usize)> = self
            .prompts
            .clone()
            .flat_map(|prompt| (0..n_samples).map(move |sample| (prompt, sample)))
            .collect();
        let mut order = Vec::with_capacity(n_cells * images.len());
        for together in images.chunks(batch) {
            let (prompt, sample) = together[0];
            // The turn counts batches of the whole plan, so that the order does not depend on the blocks.
            let turn = (prompt * n_samples + sample) / batch;
            for place in 0..n_cells {
                let cell = self.cells[(turn + place) % n_cells];
                order.extend(together.iter().map(|&(prompt, sample)| (cell, prompt, sample)));
            }
        }
        order
    }
}
