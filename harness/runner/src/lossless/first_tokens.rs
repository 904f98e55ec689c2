//! The beginning of an image as an image of its own: decoding stops after a few tokens.

use std::rc::Rc;

use specimen_decode::{
    dist::{Dist, TokenId},
    frontier::{PictureRows, Placed},
    generation::{Generation, Scores},
    tree::{NodeId, TokenTree},
};

/// A generation that ends after `n_tokens`.
pub struct FirstTokens<'a> {
    /// The whole image.
    pub generation: &'a mut dyn Generation,
    /// At most those of the whole image.
    pub n_tokens: usize,
}

impl Generation for FirstTokens<'_> {
    fn n_tokens(&self) -> usize {
        self.n_tokens
    }

    fn n_vocab(&self) -> usize {
        self.generation.n_vocab()
    }

    fn n_codes(&self) -> usize {
        self.generation.n_codes()
    }

    fn prefill(&mut self) -> Rc<Dist> {
        self.generation.prefill()
    }

    fn score(&mut self, tree: &TokenTree) -> Box<dyn Scores> {
        self.generation.score(tree)
    }

    fn commit(&mut self, path: &[NodeId]) {
        self.generation.commit(path);
    }

    fn queue(&mut self, tokens: &[TokenId]) {
        self.generation.queue(tokens);
    }

    /// Those that begin before the end; the last of them is cut there.
    fn rows(&self) -> PictureRows {
        let PictureRows { n_before, len, n } = self.generation.rows();
        let n_before = n_before.min(self.n_tokens);
        let n_begun = (self.n_tokens - n_before).div_ceil(len);
        PictureRows { n_before, len, n: n_begun.clamp(1, n) }
    }

    fn score_placed(&mut self, tokens: &[Placed]) -> Box<dyn Scores> {
        self.generation.score_placed(tokens)
    }

    fn keep_placed(&mut self, kept: &[NodeId]) {
        self.generation.keep_placed(kept);
    }

    fn forced(&self, position: usize) -> Option<TokenId> {
        self.generation.forced(position)
    }
}
