//! Decoding with several rows of the picture under way: what a generation is asked for then, and who asks.
//!
//! The loop of [`decoder`](crate::decoder) extends one sequence. A [`Frontier`] stands in its place and fills positions in an
//! order of its own; tokens, traces, structural tokens and draws keep their meaning. There is no proposal and no test, so
//! drafters, rules and schedulers have no part in it.

use crate::{clock::Clock, dist::TokenId, generation::Generation, rng::Uniforms, trace::Decoded};

/// Where the rows of a picture lie among the tokens of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PictureRows {
    /// Tokens before the first row: structural ones.
    pub n_before: usize,
    /// Tokens of a row, its row end included where it has one; at least 1.
    pub len: usize,
    /// Rows. What comes after the last one is structural.
    pub n: usize,
}

impl PictureRows {
    /// A square picture without structural tokens.
    ///
    /// # Panics
    /// If `n_tokens` is no square.
    #[must_use]
    pub fn square(n_tokens: usize) -> Self {
        let side = n_tokens.isqrt();
        assert_eq!(side * side, n_tokens, "a square picture has a square number of tokens");
        Self { n_before: 0, len: side, n: side }
    }
}

/// A token that is run at a position of the image. It sees the prompt and what stands before its position: tokens that were
/// kept, and others of the same forward.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Position among the image's tokens.
    pub position: usize,
    /// The token.
    pub token: TokenId,
}

/// Fills an image in an order of its own.
pub trait Frontier {
    /// Generates one image, as [`decode`](crate::decoder::decode) does.
    fn decode(&mut self, generation: &mut dyn Generation, uniforms: &Uniforms, clock: &dyn Clock) -> Decoded;
}
