//! EAGLE-1: a static draft tree, sampled (Li et al., arXiv 2401.15077; reference code SafeAILab/EAGLE).
//!
//! Our reading: at every inner node the children are drawn without replacement from the drafter's distribution, the
//! i-th draw being the child the shape calls `i`; recorded are the full distribution and the conditional probability
//! of the draw, which is what the recursive rejection in [`verify`](crate::verify) needs to be lossless.
//! The reference draws ten tokens and uses the first few: the same distribution. Where the distribution runs out of
//! mass (a support smaller than the fan-out) the remaining siblings are left out. In greedy decoding the children are
//! the most probable tokens, whose proposal distribution is a point mass.

use std::{ops::Range, rc::Rc};

use crate::{
    dist::{Dist, TokenId},
    drafter::{DraftModel, Drafter},
    features::{FeaturedModel, FeaturesConfig},
    generation::Scores,
    method::{MethodError, Works},
    noise::Noise,
    rng::{Purpose, Uniforms, slot},
    tree::{NodeId, Proposal, TokenTree},
    without_replacement::WithoutReplacement,
};

/// The work that EAGLE-1 is from.
pub(crate) const WORKS: Works = Works { method: "eagle1", cite: &["li2024eagle"] };

/// The shape of a tree whose fan-outs are fixed in advance.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StaticTree {
    // Invariant: sorted by depth, then by path, so the children of a node are consecutive and in rank
    // order. Entry 0 is the root.
    nodes: Vec<ShapeNode>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct ShapeNode {
    depth: usize,
    children: Range<usize>,
}

impl StaticTree {
    /// Largest number of nodes, root excluded; far above any published tree.
    pub const MAX_NODES: usize = 1023;

    /// Reads index paths: `[0, 1]` is the second sampled child of the first sampled child of the root.
    /// Their order does not matter.
    ///
    /// # Errors
    /// If a path is empty, repeated, or lacks its prefix or an earlier sibling; if there are none or too many.
    pub fn from_paths(paths: &[Vec<usize>]) -> Result<Self, MethodError> {
        if paths.is_empty() {
            return Err(MethodError(
                "a static tree lists at least one path; use proposer = \"none\" to draft nothing".to_owned(),
            ));
        }
        if Self::MAX_NODES < paths.len() {
            return Err(MethodError(format!(
                "a static tree has {} nodes, at most {} are supported",
                paths.len(),
                Self::MAX_NODES
            )));
        }
        let mut sorted: Vec<&[usize]> = paths.iter().map(Vec::as_slice).collect();
        sorted.sort_by_key(|path| (path.len(), path.to_vec()));
        check_paths(&sorted)?;
        sorted.insert(0, &[]);
        let node_of = |parent: &&[usize]| {
            let is_child = |path: &&[usize]| path.split_last().is_some_and(|(_, prefix)| prefix == *parent);
            let start = sorted.iter().position(is_child).unwrap_or(0);
            let n_children = sorted.iter().filter(|path| is_child(path)).count();
            ShapeNode { depth: parent.len(), children: start..start + n_children }
        };
        Ok(Self { nodes: sorted.iter().map(node_of).collect() })
    }

    /// Nodes, root excluded.
    #[must_use]
    pub fn n_drafts(&self) -> usize {
        self.nodes.len() - 1
    }

    /// Depth of the deepest node.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.nodes[self.nodes.len() - 1].depth
    }
}

/// Paths sorted by length and then by entries: every prefix and earlier sibling comes first.
fn check_paths(sorted: &[&[usize]]) -> Result<(), MethodError> {
    for (idx, &path) in sorted.iter().enumerate() {
        let earlier = &sorted[..idx];
        let (&rank, prefix) = path.split_last().ok_or_else(|| {
            MethodError("a static tree has an empty path; the root is implied, leave it out".to_owned())
        })?;
        if earlier.contains(&path) {
            return Err(MethodError(format!("path {path:?} of a static tree is listed twice")));
        }
        let mut needed = Vec::new();
        if !prefix.is_empty() {
            needed.push(prefix.to_vec());
        }
        if let Some(rank_before) = rank.checked_sub(1) {
            needed.push([prefix, &[rank_before]].concat());
        }
        if let Some(missing) = needed.into_iter().find(|needed| !earlier.contains(&needed.as_slice())) {
            return Err(MethodError(format!(
                "path {path:?} of a static tree needs {missing:?}, which is not listed"
            )));
        }
    }
    Ok(())
}

/// Fills a static shape with tokens sampled from a draft model, level by level.
pub struct StaticTreeDrafter {
    model: FeaturedModel,
    shape: StaticTree,
    n_forwards: u32,
}

/// A drafted node that gets children: its place in the shape, in the tree, and the distribution after it.
struct Parent {
    shape_idx: usize,
    node: NodeId,
    distribution: Rc<Dist>,
}

impl StaticTreeDrafter {
    /// A drafter that has drafted nothing yet.
    #[must_use]
    pub fn new(model: Box<dyn DraftModel>, shape: StaticTree) -> Self {
        Self::over(FeaturedModel::new(model, FeaturesConfig::fresh()), shape)
    }

    /// The same over a model whose features may be stale.
    #[must_use]
    pub fn over(model: FeaturedModel, shape: StaticTree) -> Self {
        Self { model, shape, n_forwards: 0 }
    }

    /// Draws or, in greedy decoding, ranks the children of `parent`, from whose position on `left` tokens are missing; returns
    /// those with their places in the shape.
    fn draw_children(
        &self,
        tree: &mut TokenTree,
        parent: &Parent,
        (step, left): (u32, usize),
        uniforms: &Uniforms,
    ) -> Vec<(usize, NodeId)> {
        let children = self.shape.nodes[parent.shape_idx].children.clone();
        if self.model.is_greedy() {
            let best = parent.distribution.top_k(children.len()).into_iter();
            let push = |token| tree.push(parent.node, token, Proposal::Chosen);
            return children.zip(best.map(push)).collect();
        }
        let mut push = |shape_idx, (token, conditional)| {
            let proposal = Proposal::Sampled { distribution: Rc::clone(&parent.distribution), conditional };
            (shape_idx, tree.push(parent.node, token, proposal))
        };
        if uniforms.is_coupled() {
            let tokens = Noise::default().first_n(&parent.distribution, uniforms, left, children.len());
            let mut draws = WithoutReplacement::new(&parent.distribution);
            let drawn = tokens.into_iter().map(|token| (token, draws.draw_of(token)));
            return children.zip(drawn).map(|(at, drawn)| push(at, drawn)).collect();
        }
        let mut draws = WithoutReplacement::new(&parent.distribution);
        let draw = |(rank, shape_idx)| {
            let u = uniforms.uniform(Purpose::Draft, step, slot(parent.node.0, rank));
            Some(push(shape_idx, draws.draw(u)?))
        };
        children.enumerate().map_while(draw).collect()
    }
}

impl Drafter for StaticTreeDrafter {
    fn draft(&mut self, tokens: &[TokenId], n_left: usize, step: u32, uniforms: &Uniforms) -> TokenTree {
        let mut tree = TokenTree::new(*tokens.last().expect("the first token is sampled from the prefill"));
        let distribution = self.model.begin(tokens);
        self.n_forwards += 1;
        let mut parents = vec![Parent { shape_idx: 0, node: TokenTree::ROOT, distribution }];
        for depth in 1..=n_left {
            let mut drawn = Vec::new();
            for parent in &parents {
                let at = (step, n_left + 1 - depth);
                drawn.extend(self.draw_children(&mut tree, parent, at, uniforms));
            }
            drawn.retain(|&(shape_idx, _)| !self.shape.nodes[shape_idx].children.is_empty());
            if drawn.is_empty() || depth == n_left {
                break;
            }
            let nodes: Vec<NodeId> = drawn.iter().map(|&(_, node)| node).collect();
            let distributions = self.model.expand(&tree, &nodes);
            self.n_forwards += 1;
            let grown = drawn.into_iter().zip(distributions);
            parents = grown
                .map(|((shape_idx, node), distribution)| Parent { shape_idx, node, distribution })
                .collect();
        }
        tree
    }

    fn observe(
        &mut self,
        _: &TokenTree,
        path: &[NodeId],
        scores: Option<&dyn Scores>,
        step: u32,
        _: &Uniforms,
    ) {
        self.model.observe(path, scores.is_some(), step);
    }

    fn n_forwards(&self) -> u32 {
        self.n_forwards
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;
    use crate::trees::{NAMED_TREES, named_tree};

    /// The same distribution everywhere; notes how many nodes each batch holds.
    struct Constant(Rc<Dist>, Rc<std::cell::RefCell<Vec<usize>>>);

    impl DraftModel for Constant {
        fn begin(&mut self, _: &[TokenId]) -> Rc<Dist> {
            Rc::clone(&self.0)
        }

        fn expand(&mut self, _: &TokenTree, nodes: &[NodeId]) -> Vec<Rc<Dist>> {
            self.1.borrow_mut().push(nodes.len());
            vec![Rc::clone(&self.0); nodes.len()]
        }
    }

    /// A draft, and the sizes of the batches run for it.
    fn draft(paths: &[Vec<usize>], weights: &[f32], n_left: usize, seed: u64) -> (TokenTree, Vec<usize>) {
        let (distribution, batches) = (Rc::new(Dist::from_weights(weights.to_vec()).unwrap()), Rc::default());
        let model = Box::new(Constant(distribution, Rc::clone(&batches)));
        let mut drafter = StaticTreeDrafter::new(model, StaticTree::from_paths(paths).unwrap());
        let tree = drafter.draft(&[TokenId(0)], n_left, 0, &Uniforms::new(seed));
        assert_eq!(drafter.n_forwards() as usize, 1 + batches.borrow().len());
        (tree, batches.take())
    }

    #[test]
    fn every_named_tree_is_a_tree_as_large_as_its_name_says() {
        for named in NAMED_TREES {
            let shape = StaticTree::from_paths(&named_tree(named.name).unwrap()).unwrap();
            let suffix: usize = named.name.rsplit('_').next().unwrap().parse().unwrap();
            let n_drafts = if suffix == 63 { 25 } else { suffix }; // `mc_sim_7b_63` is named after its rows.
            assert_eq!(shape.n_drafts(), n_drafts, "{}", named.name);
        }
    }

    #[test]
    fn a_tree_may_have_as_many_nodes_as_it_says() {
        let wide = |n| StaticTree::from_paths(&(0..n).map(|sibling| vec![sibling]).collect::<Vec<_>>());
        assert_eq!(wide(StaticTree::MAX_NODES).unwrap().n_drafts(), StaticTree::MAX_NODES);
        let refused = wide(StaticTree::MAX_NODES + 1).unwrap_err().to_string();
        assert_eq!(refused, "a static tree has 1024 nodes, at most 1023 are supported");
    }

    #[test]
    fn the_order_in_which_paths_are_listed_does_not_matter() {
        let mut paths = named_tree("tiny_25").unwrap();
        let shape = StaticTree::from_paths(&paths).unwrap();
        paths.reverse();
        assert_eq!(StaticTree::from_paths(&paths), Ok(shape));
    }

    #[test]
    fn each_level_is_one_batch_of_the_nodes_that_have_children() {
        let paths = named_tree("mc_sim_7b_63").unwrap();
        assert_eq!(draft(&paths, &[1.0; 50], 9, 0).1, [4, 4, 1, 1]);
        assert_eq!(draft(&paths, &[1.0; 50], 3, 0).1, [4, 4]);
        assert_eq!(draft(&paths, &[1.0; 50], 1, 0).1, []);
    }

    #[test]
    fn siblings_differ_and_record_the_probability_they_were_drawn_with() {
        let weights = [0.4, 0.3, 0.2, 0.1];
        for seed in 0..200 {
            let (tree, _) = draft(&named_tree("tiny_13").unwrap(), &weights, 9, seed);
            for parent in tree.ids() {
                let mut left = 1.0;
                for child in tree.children(parent) {
                    let p = weights[tree[child].token.idx()];
                    let Proposal::Sampled { conditional, .. } = tree[child].proposal else {
                        panic!("a static tree is sampled");
                    };
                    assert!((conditional - p / left).abs() < 1e-6);
                    left -= p;
                }
                assert!(-1e-6 < left, "a token was drawn twice");
            }
        }
    }

    #[test]
    fn a_point_mass_leaves_one_child_per_node() {
        let (tree, batches) = draft(&named_tree("mc_sim_7b_63").unwrap(), &[0.0, 1.0, 0.0], 9, 0);
        assert_eq!((tree.n_drafts(), tree.depth()), (5, 5));
        assert_eq!(batches, [1, 1, 1, 1]);
    }
}
