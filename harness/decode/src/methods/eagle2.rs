//! EAGLE-2: a dynamic draft tree grown by confidence (Li et al., arXiv 2406.16858; reference SafeAILab/EAGLE).
//!
//! Our reading: level 0 takes the `top_k` tokens after the root; then `depth` times the `top_k` best nodes
//! by joint log-probability are run and each proposes its `top_k`; of all recorded candidates the best
//! `total_token - 1` stay, in the order they were made. Candidates are chosen, not drawn, so their proposal
//! distribution is a point mass. Ties go to the lower index, which keeps the parent of every kept node. Candidates of
//! probability 0 are dropped, so a tree may be smaller than `total_token`. The reference's `threshold` is
//! unused there, and its autotuning (`total_token = -1`) depends on timing: neither exists here.

use crate::{
    dist::TokenId,
    drafter::{DraftModel, Drafter},
    features::{FeaturedModel, FeaturesConfig},
    generation::Scores,
    method::Works,
    rng::Uniforms,
    tree::{NodeId, Proposal, TokenTree},
};

/// The work that EAGLE-2 is from.
pub(crate) const WORKS: Works = Works { method: "eagle2", cite: &["li2024eagle2"] };

/// The published parameters of the dynamic tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicTree {
    /// Proposals per node and nodes run per level. At least 1.
    pub top_k: usize,
    /// Draft forwards after the first: the tree has up to `depth + 1` levels.
    pub depth: usize,
    /// Nodes kept, the root included. At least 2.
    pub total_token: usize,
}

/// Grows a dynamic tree from a draft model.
pub struct DynamicTreeDrafter {
    model: FeaturedModel,
    shape: DynamicTree,
    n_forwards: u32,
}

/// Every candidate proposed in one step: `tree` grows a node and `scores` an entry.
struct Recorded {
    tree: TokenTree,
    /// Joint log-probability of the path to each node; 0 for the root. Never rises along a path.
    scores: Vec<f64>,
}

impl Recorded {
    /// Records the candidates after `parent`, most probable first.
    fn propose(&mut self, parent: NodeId, likeliest: &[(TokenId, f32)]) {
        for &(token, p) in likeliest {
            let p = f64::from(p);
            if p <= 0.0 {
                break;
            }
            self.tree.push(parent, token, Proposal::Chosen);
            // A distribution sums to 1 up to rounding, so a point mass may read a hair above 1.
            self.scores.push(self.scores[parent.0] + p.ln().min(0.0));
        }
    }

    /// The best `n` of `nodes`, best first, ties to the lower index.
    fn best(&self, nodes: impl Iterator<Item = NodeId>, n: usize) -> Vec<NodeId> {
        let mut ranked: Vec<NodeId> = nodes.collect();
        ranked.sort_by(|a, b| self.scores[b.0].total_cmp(&self.scores[a.0]).then(a.cmp(b)));
        ranked.truncate(n);
        ranked
    }

    /// The tree of the best `n_drafts` candidates, in the order they were made.
    fn rerank(&self, n_drafts: usize) -> TokenTree {
        let mut kept = self.best(self.tree.ids().skip(1), n_drafts);
        kept.sort_unstable();
        let mut tree = TokenTree::new(self.tree[TokenTree::ROOT].token);
        let mut new_ids = vec![None; self.tree.len()];
        new_ids[0] = Some(TokenTree::ROOT);
        for node in kept {
            let parent = self.tree[node].parent.expect("a candidate has a parent");
            let parent = new_ids[parent.0].expect("a parent scores no lower and comes first, so it is kept");
            new_ids[node.0] = Some(tree.push(parent, self.tree[node].token, Proposal::Chosen));
        }
        tree
    }
}

impl DynamicTreeDrafter {
    /// A drafter that has drafted nothing yet.
    #[must_use]
    pub fn new(model: Box<dyn DraftModel>, shape: DynamicTree) -> Self {
        Self::over(FeaturedModel::new(model, FeaturesConfig::fresh()), shape)
    }

    /// The same over a model whose features may be stale.
    #[must_use]
    pub fn over(model: FeaturedModel, shape: DynamicTree) -> Self {
        Self { model, shape, n_forwards: 0 }
    }
}

impl Drafter for DynamicTreeDrafter {
    fn draft(&mut self, tokens: &[TokenId], n_left: usize, _: u32, _: &Uniforms) -> TokenTree {
        let DynamicTree { top_k, depth, total_token } = self.shape;
        let root = *tokens.last().expect("the first token is sampled from the prefill");
        let mut recorded = Recorded { tree: TokenTree::new(root), scores: vec![0.0] };
        recorded.propose(TokenTree::ROOT, &self.model.begin_choosing(tokens, top_k));
        self.n_forwards += 1;
        let mut level_start = 1;
        for _ in 0..depth.min(n_left - 1) {
            let level = (level_start..recorded.tree.len()).map(NodeId);
            level_start = recorded.tree.len();
            let beam = recorded.best(level, top_k);
            let likeliest = self.model.expand_choosing(&recorded.tree, &beam, top_k);
            self.n_forwards += 1;
            for (&node, likeliest) in beam.iter().zip(&likeliest) {
                recorded.propose(node, likeliest);
            }
        }
        recorded.rerank(total_token - 1)
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
    use std::rc::Rc;

    use super::*;
    use crate::dist::Dist;

    /// The distribution depends on the last token only; notes what each batch holds.
    struct Markov(Vec<Rc<Dist>>, Rc<std::cell::RefCell<Vec<Vec<u32>>>>);

    impl DraftModel for Markov {
        fn begin(&mut self, tokens: &[TokenId]) -> Rc<Dist> {
            Rc::clone(&self.0[tokens[tokens.len() - 1].idx()])
        }

        fn expand(&mut self, tree: &TokenTree, nodes: &[NodeId]) -> Vec<Rc<Dist>> {
            self.1.borrow_mut().push(nodes.iter().map(|&node| tree[node].token.0).collect());
            nodes.iter().map(|&node| Rc::clone(&self.0[tree[node].token.idx()])).collect()
        }
    }

    /// Tokens of the path to each node of a draft from token 0, and the batches run for it.
    fn draft(rows: &[[f32; 4]], shape: DynamicTree, n_left: usize) -> (Vec<Vec<u32>>, Vec<Vec<u32>>) {
        let rows = rows.iter().map(|row| Rc::new(Dist::from_weights(row.to_vec()).unwrap())).collect();
        let batches = Rc::default();
        let mut drafter = DynamicTreeDrafter::new(Box::new(Markov(rows, Rc::clone(&batches))), shape);
        let tree = drafter.draft(&[TokenId(0)], n_left, 0, &Uniforms::new(0));
        assert_eq!(drafter.n_forwards() as usize, 1 + batches.borrow().len());
        let tokens = |node| tree.path_to(node).into_iter().map(|id| tree[id].token.0).collect();
        (tree.ids().skip(1).map(tokens).collect(), batches.take())
    }

    const ROWS: [[f32; 4]; 4] =
        [[0.1, 0.5, 0.3, 0.1], [0.1, 0.1, 0.2, 0.6], [0.7, 0.1, 0.1, 0.1], [0.25, 0.25, 0.25, 0.25]];

    #[test]
    fn the_best_of_all_recorded_candidates_stay_in_the_order_they_were_made() {
        // Level 1: 1 (.5), 2 (.3). Level 2: 1-3 (.30), 1-2 (.10), 2-0 (.21), 2-1 (.03).
        // Level 3 runs 1-3 and 2-0: 1-3-0, 1-3-1 (.075 each), 2-0-1 (.105), 2-0-2 (.063).
        let shape = DynamicTree { top_k: 2, depth: 2, total_token: 8 };
        let (paths, batches) = draft(&ROWS, shape, 9);
        let expected: [&[u32]; 7] = [&[1], &[2], &[1, 3], &[1, 2], &[2, 0], &[1, 3, 0], &[2, 0, 1]];
        assert_eq!(paths, expected, "of the tie 1-3-0, 1-3-1 the lower index stays");
        assert_eq!(batches, [vec![1, 2], vec![3, 0]]);
    }

    #[test]
    fn a_small_budget_keeps_only_the_likeliest_path() {
        let shape = DynamicTree { top_k: 2, depth: 2, total_token: 3 };
        assert_eq!(draft(&ROWS, shape, 9).0, [vec![1], vec![2]], "a tie of .3 goes to the lower index");
        let shape = DynamicTree { total_token: 4, ..shape };
        assert_eq!(draft(&ROWS, shape, 9).0, [vec![1], vec![2], vec![1, 3]]);
    }

    #[test]
    fn a_beam_runs_its_width_at_every_level_however_few_candidates_stay() {
        let (paths, batches) = draft(&ROWS, DynamicTree { top_k: 2, depth: 5, total_token: 3 }, 9);
        assert_eq!((paths.len(), batches.iter().map(Vec::len).sum::<usize>()), (2, 2 * 5));
    }

    #[test]
    fn no_node_is_deeper_than_the_room() {
        let shape = DynamicTree { top_k: 2, depth: 5, total_token: 60 };
        for n_left in 1..=4 {
            let (paths, batches) = draft(&ROWS, shape, n_left);
            assert_eq!(paths.iter().map(Vec::len).max(), Some(n_left));
            assert_eq!(batches.len(), n_left - 1);
        }
    }

    #[test]
    fn candidates_of_probability_zero_are_dropped() {
        let one_hot = [[0.0, 1.0, 0.0, 0.0]; 4];
        let shape = DynamicTree { top_k: 3, depth: 2, total_token: 59 };
        assert_eq!(draft(&one_hot, shape, 9).0, [vec![1], vec![1, 1], vec![1, 1, 1]]);
    }
}
