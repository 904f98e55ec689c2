//! Additive attention masks: 0 where a row may look, minus infinity elsewhere. Built in f32 on the host.

use specimen_decode::tree::{NodeId, TokenTree};
use tch::Tensor;

/// Mask `[n, n_cached + n]` of `n_chain` slots in sequence and a whole tree behind them, `n` together, after
/// `n_cached` entries: a slot of the chain sees the cache and the chain up to itself, a node the cache, the
/// chain, its ancestors and itself. `None` for a lone root, which sees everything.
pub(crate) fn tree_mask(tree: &TokenTree, n_cached: i64, n_chain: i64) -> Option<Tensor> {
    if tree.len() == 1 {
        return causal_behind(n_cached, n_chain + 1);
    }
    let nodes: Vec<NodeId> = tree.ids().collect();
    let root = n_cached + n_chain;
    let width = root + nodes.len() as i64;
    let of_tree = ancestor_mask(tree, &nodes, root, width, |node| Some(root + node.0 as i64));
    if n_chain == 0 {
        return Some(of_tree);
    }
    let chain = Tensor::full([n_chain, width], f64::NEG_INFINITY, (tch::Kind::Float, tch::Device::Cpu));
    Some(Tensor::cat(&[chain.triu(n_cached + 1), of_tree], 0))
}

/// Mask `[nodes.len(), width]` by which each of `nodes` sees the first `n_seen` entries and, from itself
/// upwards, every ancestor that `place` gives a column; the walk ends at the first without one.
pub(crate) fn ancestor_mask(
    tree: &TokenTree,
    nodes: &[NodeId],
    n_seen: i64,
    width: i64,
    place: impl Fn(NodeId) -> Option<i64>,
) -> Tensor {
    let mut mask = vec![f32::NEG_INFINITY; nodes.len() * width as usize];
    for (row, &node) in mask.chunks_exact_mut(width as usize).zip(nodes) {
        row[..n_seen as usize].fill(0.0);
        let mut at = Some(node);
        while let Some((parent, column)) = at.and_then(|node| Some((tree[node].parent, place(node)?))) {
            row[column as usize] = 0.0;
            at = parent;
        }
    }
    Tensor::from_slice(&mask).view([nodes.len() as i64, width])
}

/// Mask `[n, n_seen + n]` of `n` slots in sequence behind `n_seen` entries; `None` for a single slot.
pub(crate) fn causal_behind(n_seen: i64, n: i64) -> Option<Tensor> {
    let whole = || Tensor::full([n, n_seen + n], f64::NEG_INFINITY, (tch::Kind::Float, tch::Device::Cpu));
    (n > 1).then(|| whole().triu(n_seen + 1))
}
