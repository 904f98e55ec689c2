//! Sizes of an Image-GPT.

use serde::Deserialize;
use specimen_catalog::Entry;

/// The sizes; the feed-forward part is four times as wide as the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IgptConfig {
    /// Width of the residual stream; a multiple of `n_heads`.
    pub d_model: i64,
    /// Layers.
    pub n_layers: i64,
    /// Attention heads.
    pub n_heads: i64,
    /// Grey levels.
    pub n_vocab: i64,
    /// Pixels along an edge.
    pub side: i64,
}

impl IgptConfig {
    /// The sizes of `model`, as the catalog has them.
    ///
    /// # Panics
    /// If `model` has no sizes of this family, which the tests of the catalog's files exclude.
    pub fn of(model: &Entry) -> Self {
        let target = model.target.as_ref().expect("an Image-GPT draws images");
        target.sizes().unwrap_or_else(|error| panic!("{}: [target.sizes]: {error}", model.name))
    }

    /// Tokens of an image.
    pub fn n_tokens(&self) -> i64 {
        self.side * self.side
    }

    /// Width of a head.
    pub fn d_head(&self) -> i64 {
        self.d_model / self.n_heads
    }
}
