//! What a target model offers to the decoder: one image under way, behind three verbs.

use std::rc::Rc;

use crate::{
    dist::{Dist, TokenId},
    frontier::{PictureRows, Placed},
    tree::{NodeId, TokenTree},
};

/// Result of one target forward over a tree: a lazy view, a row crosses to the host when it is first read.
pub trait Scores {
    /// The target's distribution of the token *after* `node`, given the path to it. `[n_vocab]`.
    fn dist(&self, node: NodeId) -> Rc<Dist>;

    /// `F(node)`: the target's last hidden state at `node`, conditional row, after the final norm. `[d_model]`.
    fn feature(&self, node: NodeId) -> Rc<[f32]>;
}

/// One image being generated: weights, prompt, guidance and KV cache.
///
/// It hides classifier-free guidance (two streams), positions, tree mask, dtype, device and the
/// probability pipeline (temperature, top-k). The distributions it returns are final.
pub trait Generation {
    /// Image tokens of a full image.
    fn n_tokens(&self) -> usize;

    /// Size of the image vocabulary.
    fn n_vocab(&self) -> usize;

    /// Ids below it are codes of the picture, those from it on structural tokens (line break, image end).
    fn n_codes(&self) -> usize {
        self.n_vocab()
    }

    /// Runs the prompt; returns the distribution of the first image token. Counts one NFE.
    fn prefill(&mut self) -> Rc<Dist>;

    /// Scores every node of `tree` in one forward: one NFE.
    ///
    /// The root is the newest sampled token, not yet in the KV cache. A node at the image's last position
    /// gets an arbitrary distribution, which is never read.
    fn score(&mut self, tree: &TokenTree) -> Box<dyn Scores>;

    /// Keeps `path` of the last scored tree, root first, then accepted candidates top-down; every other
    /// scored node is forgotten.
    fn commit(&mut self, path: &[NodeId]);

    /// Takes in tokens that were accepted without a forward, oldest first: the old root, then all skipped
    /// candidates but the last, which is the new root. Their keys and values join the next forward.
    ///
    /// # Panics
    /// Unless overridden: only generations under a skipping scheduler need it.
    fn queue(&mut self, tokens: &[TokenId]) {
        panic!(
            "{} tokens were accepted without a forward, but this generation cannot take unscored tokens",
            tokens.len()
        );
    }

    /// Where the rows of the picture lie.
    ///
    /// # Panics
    /// Unless overridden: if the image's tokens are no square picture.
    fn rows(&self) -> PictureRows {
        PictureRows::square(self.n_tokens())
    }

    /// Scores tokens at positions of their own, by rising position, in one forward: one NFE. Node `i` of the scores is the
    /// `i`-th of them.
    ///
    /// # Panics
    /// Unless overridden: only generations under a [`Frontier`](crate::frontier::Frontier) need it.
    fn score_placed(&mut self, tokens: &[Placed]) -> Box<dyn Scores> {
        panic!("{} tokens stand at positions of their own, which this generation cannot take", tokens.len());
    }

    /// Keeps these of the tokens that were placed last; the others are forgotten.
    ///
    /// # Panics
    /// As [`Generation::score_placed`].
    fn keep_placed(&mut self, kept: &[NodeId]) {
        panic!("{} tokens stand at positions of their own, which this generation cannot take", kept.len());
    }

    /// The structural token (line break, image end) required at this 0-based image position, if any.
    fn forced(&self, position: usize) -> Option<TokenId> {
        let _ = position;
        None
    }
}
