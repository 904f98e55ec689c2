//! What proposes tokens: a draft head, another model, the target's own last iteration, or nothing.

use std::rc::Rc;

use crate::{
    dist::{Dist, TokenId},
    generation::Scores,
    rng::Uniforms,
    tree::{NodeId, TokenTree},
};

/// A network that predicts image tokens, for drafters that grow a tree from one.
pub trait DraftModel {
    /// Takes in what was committed since the last call and returns the distribution of the token after the root.
    ///
    /// `tokens` are all tokens sampled so far, the last one being the root. Target features the model
    /// needs it finds itself. Tree nodes of earlier steps are forgotten.
    fn begin(&mut self, tokens: &[TokenId]) -> Rc<Dist>;

    /// The distribution of the token after each of `nodes`, in their order, from one batch.
    ///
    /// Parents were expanded before; the root counts as expanded by [`begin`](Self::begin).
    fn expand(&mut self, tree: &TokenTree, nodes: &[NodeId]) -> Vec<Rc<Dist>>;

    /// [`begin`](Self::begin) for candidates that are chosen, not drawn: the `k` most probable tokens, as [`Dist::likeliest`].
    /// A model on a device can leave the rest of the distribution there.
    fn begin_choosing(&mut self, tokens: &[TokenId], k: usize) -> Vec<(TokenId, f32)> {
        self.begin(tokens).likeliest(k)
    }

    /// [`expand`](Self::expand), likewise.
    fn expand_choosing(&mut self, tree: &TokenTree, nodes: &[NodeId], k: usize) -> Vec<Vec<(TokenId, f32)>> {
        self.expand(tree, nodes).iter().map(|distribution| distribution.likeliest(k)).collect()
    }

    /// Says which features the tokens of the next [`begin`](Self::begin) are paired with, oldest token first,
    /// by age: 0 is the newest feature the target has given, that of the last slot it ran. Called only where
    /// they are not the fresh ones: after a skipped verification, or in a staleness experiment. What was taken
    /// in before stays as it is.
    ///
    /// # Panics
    /// Unless overridden: only heads under a skipping scheduler or with `features` need it.
    fn reuse_features(&mut self, ages: &[usize]) {
        panic!("features of ages {ages:?} are to be used, but this draft model has fresh ones only");
    }

    /// Whether decoding is greedy: candidates are then the most probable tokens instead of draws, and the
    /// distributions are [`Sampling::of_drafts`](crate::pipeline::Sampling::of_drafts).
    fn is_greedy(&self) -> bool {
        false
    }
}

/// A network whose distributions keep their most probable tokens only: LANTERN's `drafter_top_k`. A `top_k` at or above
/// that of the sampling changes nothing, since drafters are sampled as the target is.
pub struct FilteredDraft {
    inside: Box<dyn DraftModel>,
    top_k: usize,
}

impl FilteredDraft {
    /// Keeps the `top_k` most probable tokens of what `inside` says, with those as probable as the last of them.
    #[must_use]
    pub fn new(inside: Box<dyn DraftModel>, top_k: usize) -> Self {
        Self { inside, top_k }
    }
}

impl DraftModel for FilteredDraft {
    fn begin(&mut self, tokens: &[TokenId]) -> Rc<Dist> {
        Rc::new(self.inside.begin(tokens).filtered(self.top_k))
    }

    fn expand(&mut self, tree: &TokenTree, nodes: &[NodeId]) -> Vec<Rc<Dist>> {
        let distributions = self.inside.expand(tree, nodes);
        distributions.into_iter().map(|distribution| Rc::new(distribution.filtered(self.top_k))).collect()
    }

    fn reuse_features(&mut self, ages: &[usize]) {
        self.inside.reuse_features(ages);
    }

    fn is_greedy(&self) -> bool {
        self.inside.is_greedy()
    }
}

/// Grows the draft tree of each step.
pub trait Drafter {
    /// Called once per image, before its first draft: image tokens, size of their vocabulary, and how many of its
    /// first ids are codes of the picture ([`Generation::n_codes`](crate::generation::Generation::n_codes)).
    fn begin_image(&mut self, n_tokens: usize, n_vocab: usize, n_codes: usize) {
        let _ = (n_tokens, n_vocab, n_codes);
    }

    /// A tree below the newest token of `tokens`.
    ///
    /// `n_left` is the number of tokens the image still misses after the root (at least 1): no node is
    /// deeper. Draws use [`Purpose::Draft`](crate::rng::Purpose::Draft) or `Init`, addressed by `step`.
    fn draft(&mut self, tokens: &[TokenId], n_left: usize, step: u32, uniforms: &Uniforms) -> TokenTree;

    /// Learns what became of the last tree. `path` holds the accepted candidates top-down; `scores` is
    /// `None` when verification was skipped. A Jacobi drafter draws its next window here.
    fn observe(
        &mut self,
        tree: &TokenTree,
        path: &[NodeId],
        scores: Option<&dyn Scores>,
        step: u32,
        uniforms: &Uniforms,
    ) {
        let _ = (tree, path, scores, step, uniforms);
    }

    /// Drafter forwards since it was built: each [`DraftModel::begin`] and `expand` is one.
    fn n_forwards(&self) -> u32;
}
