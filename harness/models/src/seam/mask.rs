//! Additive attention masks: 0 where a row may look, minus infinity elsewhere. Built in f32 on the host.

use specimen_decode::{
    frontier::Placed,
    tree::{NodeId, TokenTree},
};

/// Rows of a mask begin at multiples of so many entries: the attention kernels of a GPU copy any other mask first.
const ALIGNED: usize = 8;

/// A mask `[n, width]` on the host.
pub(crate) struct Mask {
    n: usize,
    width: usize,
    /// `[n, stride]`; what is behind `width` is no part of it.
    values: Vec<f32>,
}

impl Mask {
    /// Nothing is seen.
    fn new(n: i64, width: i64) -> Self {
        let (n, width) = (n as usize, width as usize);
        Self { n, width, values: vec![f32::NEG_INFINITY; n * width.next_multiple_of(ALIGNED)] }
    }

    /// Rows, entries of a row, and entries from one row to the next.
    pub(crate) fn shape(&self) -> [i64; 3] {
        [self.n, self.width, self.stride()].map(|size| size as i64)
    }

    /// `[n, stride]`
    pub(crate) fn values(&self) -> &[f32] {
        &self.values
    }

    fn stride(&self) -> usize {
        self.width.next_multiple_of(ALIGNED)
    }

    fn row(&mut self, at: usize) -> &mut [f32] {
        let (from, width) = (at * self.stride(), self.width);
        &mut self.values[from..from + width]
    }
}

/// Mask `[n, n_cached + n]` of `n_chain` slots in sequence and a whole tree behind them, `n` together, after
/// `n_cached` entries: a slot of the chain sees the cache and the chain up to itself, a node the cache, the
/// chain, its ancestors and itself. `None` for a lone root, which sees everything.
pub(crate) fn tree_mask(tree: &TokenTree, n_cached: i64, n_chain: i64) -> Option<Mask> {
    if tree.len() == 1 {
        return causal_behind(n_cached, n_chain + 1);
    }
    let nodes: Vec<NodeId> = tree.ids().collect();
    let root = n_cached + n_chain;
    let mut mask = Mask::new(n_chain + nodes.len() as i64, root + nodes.len() as i64);
    see_in_sequence(&mut mask, n_cached, n_chain);
    let place = |node: NodeId| Some(root + node.0 as i64);
    see_ancestors(&mut mask, n_chain as usize, tree, &nodes, root, place);
    Some(mask)
}

/// Mask `[nodes.len(), width]` by which each of `nodes` sees the first `n_seen` entries and, from itself
/// upwards, every ancestor that `place` gives a column; the walk ends at the first without one.
pub(crate) fn ancestor_mask(
    tree: &TokenTree,
    nodes: &[NodeId],
    n_seen: i64,
    width: i64,
    place: impl Fn(NodeId) -> Option<i64>,
) -> Mask {
    let mut mask = Mask::new(nodes.len() as i64, width);
    see_ancestors(&mut mask, 0, tree, nodes, n_seen, place);
    mask
}

/// Mask `[n, n_seen + n]` of `n` slots in sequence behind `n_seen` entries; `None` for a single slot.
pub(crate) fn causal_behind(n_seen: i64, n: i64) -> Option<Mask> {
    (n > 1).then(|| {
        let mut mask = Mask::new(n, n_seen + n);
        see_in_sequence(&mut mask, n_seen, n);
        mask
    })
}

/// Mask `[placed.len(), n_seen + kept.len() + placed.len()]` of slots for tokens at positions of their own, behind `n_seen`
/// entries that all see and entries of the image positions `kept`: a slot sees what stands before its position, but no drafts of
/// other rows, and itself.
pub(crate) fn placed_mask(n_seen: i64, kept: &[usize], placed: &[Placed]) -> Mask {
    let (n_seen, n) = (n_seen as usize, placed.len());
    let mut mask = Mask::new(n as i64, (n_seen + kept.len() + n) as i64);
    for (slot, token) in placed.iter().enumerate() {
        let row = mask.row(slot);
        row[..n_seen].fill(0.0);
        let of_kept = kept.iter().map(|&other| other < token.position);
        let of_placed = placed.iter().map(|other| other.position < token.position && other.is_seen_by(token));
        for (entry, is_seen) in row[n_seen..].iter_mut().zip(of_kept.chain(of_placed)) {
            if is_seen {
                *entry = 0.0;
            }
        }
        row[n_seen + kept.len() + slot] = 0.0;
    }
    mask
}

/// What the slots of one image see.
#[derive(Clone, Copy)]
pub(crate) struct Sight<'a> {
    /// Absent for one slot that sees the first `n_seen` entries.
    pub(crate) mask: Option<&'a Mask>,
    pub(crate) n_seen: i64,
}

/// The masks of several images, one below the other, `n` rows an image, over `width` entries; nothing behind the old ones is
/// seen. Rows without a slot see all entries, so that what they compute is a number wherever a guidance row has pads.
pub(crate) fn stacked(images: &[Option<Sight<'_>>], n: usize, width: i64) -> Mask {
    let mut all = Mask::new((images.len() * n) as i64, width);
    for (image, sight) in images.iter().enumerate() {
        let rows = image * n..(image + 1) * n;
        let n_slots = match *sight {
            None => 0,
            Some(Sight { mask: None, n_seen }) => {
                all.row(rows.start)[..n_seen as usize].fill(0.0);
                1
            }
            Some(Sight { mask: Some(mask), .. }) => {
                for at in 0..mask.n {
                    let seen = &mask.values[at * mask.stride()..][..mask.width];
                    all.row(rows.start + at)[..mask.width].copy_from_slice(seen);
                }
                mask.n
            }
        };
        for row in rows.skip(n_slots) {
            all.row(row).fill(0.0);
        }
    }
    all
}

/// The first `n` rows see `n_seen` entries and, behind them, the rows up to themselves.
fn see_in_sequence(mask: &mut Mask, n_seen: i64, n: i64) {
    for at in 0..n as usize {
        mask.row(at)[..=n_seen as usize + at].fill(0.0);
    }
}

/// The rows from `first` on are those of `nodes`.
fn see_ancestors(
    mask: &mut Mask,
    first: usize,
    tree: &TokenTree,
    nodes: &[NodeId],
    n_seen: i64,
    place: impl Fn(NodeId) -> Option<i64>,
) {
    for (at, &node) in nodes.iter().enumerate() {
        let row = mask.row(first + at);
        row[..n_seen as usize].fill(0.0);
        let mut at = Some(node);
        while let Some((parent, column)) = at.and_then(|node| Some((tree[node].parent, place(node)?))) {
            row[column as usize] = 0.0;
            at = parent;
        }
    }
}
