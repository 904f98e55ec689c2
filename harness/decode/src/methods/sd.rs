//! Speculative sampling (Leviathan et al., arXiv 2211.17192; Chen et al., arXiv 2302.01318; CASCADE Alg. 1).
//!
//! Leviathan's `p` is the target; here `q` is the target and `p` the drafter. A chain of `K` sampled tokens
//! is the static tree `[[0], [0, 0], …]`, so the drafter is [`StaticTreeDrafter`](super::eagle1) with that
//! shape. CASCADE's Algorithm 1 leaves out the bonus token of a fully accepted chain; all reference code
//! draws it, and so does the loop here.

use crate::{
    method::Works,
    methods::eagle1::StaticTree,
    tree::NodeId,
    verify::{AcceptanceRule, Level, Mass},
};

/// The works that speculative sampling is from.
pub(crate) const WORKS: Works =
    Works { method: "speculative sampling", cite: &["leviathan2023", "chen2023"] };

/// The work that the verification of trees is from.
pub(crate) const OF_TREES: Works = Works { method: "verification of trees", cite: &["miao2023specinfer"] };

/// The lossless criterion: accept `x` with probability `min(1, g[x] / d[x])`.
pub struct Lossless;

impl AcceptanceRule for Lossless {
    fn mass(&mut self, level: &Level<'_>, candidate: NodeId) -> Mass {
        let token = level.tree[candidate].token;
        Mass { target: level.q.prob(token), draft: level.draft_prob(candidate, token) }
    }
}

/// The shape of a chain of `depth` tokens.
///
/// # Panics
/// If `depth` is 0.
#[must_use]
pub fn chain(depth: usize) -> StaticTree {
    let paths: Vec<Vec<usize>> = (1..=depth).map(|len| vec![0; len]).collect();
    StaticTree::from_paths(&paths).expect("a chain lists every prefix and one child per node")
}
