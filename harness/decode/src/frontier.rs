//! Decoding with several rows of the picture under way: what a generation is asked for then, and who asks.
//!
//! The loop of [`decoder`](crate::decoder) extends one sequence. A [`Frontier`] stands in its place and fills positions in an
//! order of its own; tokens, traces, structural tokens and draws keep their meaning. Drafters, rules and schedulers have no
//! part in it: a frontier that drafts has its own guesses and its own test.
//!
//! What the rest of the program sees of it:
//! - A structural token is the only one of its row of probabilities, so it is drawn as any other; one that the format forces is
//!   known before its turn ([`Generation::forced`]).
//! - The cache holds tokens in the order in which they were kept, each with its position. Masks and rotary embeddings follow
//!   positions, never the order.
//! - A step of the trace is one forward and emits the tokens of all rows. There is no draft tree, so nothing is counted by
//!   depth.
//! - A replay makes the image again from its seed and compares digests: it need not know the order.
//!
//! What stays impossible: a drafter, a rule or a scheduler besides; several images in one batch; and a lossless method, because
//! a token is drawn before all tokens in front of it are there.

use crate::{
    clock::Clock,
    dist::{Dist, TokenId},
    generation::Generation,
    noise::Noise,
    rng::{Purpose, Uniforms, slot},
    trace::Decoded,
};

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
/// kept, and others of the same forward that are no draft of another row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// Position among the image's tokens.
    pub position: usize,
    /// The token.
    pub token: TokenId,
    /// The row whose draft it is: only drafts of that row see it. `None`: everything behind it does.
    pub draft_of: Option<usize>,
}

impl Placed {
    /// Whether `other`, of the same forward, sees this token, if it is behind it.
    #[must_use]
    pub fn is_seen_by(&self, other: &Self) -> bool {
        self.draft_of.is_none() || self.draft_of == other.draft_of
    }
}

/// Fills an image in an order of its own.
pub trait Frontier {
    /// Generates one image, as [`decode`](crate::decoder::decode) does.
    fn decode(&mut self, generation: &mut dyn Generation, uniforms: &Uniforms, clock: &dyn Clock) -> Decoded;
}

/// The token of `distribution` in `row`; `left`: tokens that the image misses from its position on, were it decoded in order.
pub(crate) fn drawn(
    distribution: &Dist,
    uniforms: &Uniforms,
    step: u32,
    (row, left): (usize, usize),
) -> TokenId {
    match uniforms.is_coupled() {
        true => Noise::default().first(distribution, uniforms, left),
        false => distribution.sample(uniforms.uniform(Purpose::Resample, step, slot(0, row))),
    }
}
