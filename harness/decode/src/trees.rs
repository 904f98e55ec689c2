//! Named shapes of static draft trees.
//!
//! A path entry `j` means "the j-th sampled child"; the root is implied. Three tables are those of the
//! reference code of EAGLE and LANTERN, three small ones are ours.

/// Name and paths of one tree.
pub struct NamedTree {
    /// As written in a spec: `tree = "mc_sim_7b_63"`.
    pub name: &'static str,
    /// Index paths, shortest first.
    pub paths: &'static [&'static [usize]],
}

/// All named trees.
pub const NAMED_TREES: &[NamedTree] = &[
    NamedTree { name: "mc_sim_7b_63", paths: MC_SIM_7B_63 },
    NamedTree { name: "naive_extend_57", paths: NAIVE_EXTEND_57 },
    NamedTree { name: "reverse_balanced_25", paths: REVERSE_BALANCED_25 },
    NamedTree { name: "tiny_7", paths: TINY_7 },
    NamedTree { name: "tiny_13", paths: TINY_13 },
    NamedTree { name: "tiny_25", paths: TINY_25 },
];

/// The paths of the tree called `name`.
#[must_use]
pub fn named_tree(name: &str) -> Option<Vec<Vec<usize>>> {
    let tree = NAMED_TREES.iter().find(|tree| tree.name == name)?;
    Some(tree.paths.iter().map(|path| path.to_vec()).collect())
}

/// 25 nodes, depth 5: the default of EAGLE-1 and of LANTERN's command line.
#[rustfmt::skip]
const MC_SIM_7B_63: &[&[usize]] = &[
    &[0], &[1], &[2], &[3],
    &[0, 0], &[0, 1], &[0, 2], &[1, 0], &[1, 1], &[2, 0], &[2, 1], &[3, 0],
    &[0, 0, 0], &[0, 0, 1], &[0, 0, 2], &[0, 1, 0], &[0, 1, 1], &[0, 2, 0], &[0, 2, 1], &[1, 0, 0],
    &[0, 0, 0, 0], &[0, 0, 0, 1], &[0, 0, 0, 2],
    &[0, 0, 0, 0, 0], &[0, 0, 0, 0, 1],
];

/// 57 nodes, depth 5: the default argument of LANTERN's LlamaGen `generate`.
#[rustfmt::skip]
const NAIVE_EXTEND_57: &[&[usize]] = &[
    &[0], &[1], &[2], &[3], &[4],
    &[0, 0], &[0, 1], &[0, 2], &[0, 3], &[1, 0], &[1, 1], &[1, 2], &[2, 0], &[2, 1], &[2, 2], &[3, 0],
    &[3, 1], &[4, 0],
    &[0, 0, 0], &[0, 0, 1], &[0, 0, 2], &[0, 0, 3], &[0, 1, 0], &[0, 1, 1], &[0, 1, 2], &[0, 2, 0],
    &[0, 2, 1], &[0, 2, 2], &[0, 3, 0], &[0, 3, 1], &[1, 0, 0], &[1, 0, 1], &[1, 1, 0], &[2, 0, 0],
    &[0, 0, 0, 0], &[0, 0, 0, 1], &[0, 0, 0, 2], &[0, 0, 0, 3], &[0, 0, 1, 0], &[0, 0, 1, 1], &[0, 0, 1, 2],
    &[0, 0, 2, 0], &[0, 0, 2, 1], &[0, 0, 3, 0], &[0, 1, 0, 0], &[0, 1, 0, 1], &[0, 1, 1, 0], &[0, 2, 0, 0],
    &[0, 0, 0, 0, 0], &[0, 0, 0, 0, 1], &[0, 0, 0, 0, 2], &[0, 0, 0, 1, 0], &[0, 0, 0, 1, 1],
    &[0, 0, 1, 0, 0], &[0, 0, 1, 0, 1], &[0, 0, 1, 1, 0], &[0, 0, 2, 0, 0],
];

/// 25 nodes, depth 5, wide at the bottom (reference code).
#[rustfmt::skip]
const REVERSE_BALANCED_25: &[&[usize]] = &[
    &[0], &[1], &[2],
    &[0, 0], &[0, 1], &[1, 0], &[2, 0],
    &[0, 0, 0], &[0, 0, 1], &[0, 0, 2], &[0, 1, 0], &[0, 1, 1], &[1, 0, 0],
    &[0, 0, 0, 0], &[0, 0, 0, 1], &[0, 0, 0, 2], &[0, 0, 1, 0], &[0, 0, 1, 1],
    &[0, 0, 0, 0, 0], &[0, 0, 0, 0, 1], &[0, 0, 0, 0, 2], &[0, 0, 0, 0, 3], &[0, 0, 0, 1, 0],
    &[0, 0, 0, 1, 1], &[0, 0, 0, 1, 2],
];

/// 7 nodes, depth 4: ours, for the tiny model on a CPU.
#[rustfmt::skip]
const TINY_7: &[&[usize]] = &[
    &[0], &[1],
    &[0, 0], &[0, 1], &[1, 0],
    &[0, 0, 0],
    &[0, 0, 0, 0],
];

/// 13 nodes, depth 5: ours, for the tiny model on a CPU.
#[rustfmt::skip]
const TINY_13: &[&[usize]] = &[
    &[0], &[1], &[2],
    &[0, 0], &[0, 1], &[1, 0],
    &[0, 0, 0], &[0, 0, 1], &[0, 1, 0], &[1, 0, 0],
    &[0, 0, 0, 0], &[0, 0, 0, 1],
    &[0, 0, 0, 0, 0],
];

/// 25 nodes, depth 6: ours, for the tiny model on a CPU.
#[rustfmt::skip]
const TINY_25: &[&[usize]] = &[
    &[0], &[1], &[2], &[3],
    &[0, 0], &[0, 1], &[0, 2], &[1, 0], &[1, 1], &[2, 0],
    &[0, 0, 0], &[0, 0, 1], &[0, 0, 2], &[0, 1, 0], &[1, 0, 0],
    &[0, 0, 0, 0], &[0, 0, 0, 1], &[0, 0, 1, 0], &[0, 1, 0, 0], &[1, 0, 0, 0],
    &[0, 0, 0, 0, 0], &[0, 0, 0, 0, 1], &[0, 0, 0, 1, 0],
    &[0, 0, 0, 0, 0, 0], &[0, 0, 0, 0, 0, 1],
];
