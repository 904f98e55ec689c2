//! Sizes of Emu3-Gen's transformer and of its images.

use serde::Deserialize;
use specimen_catalog::Entry;

use crate::{
    llama::{image_llama::StackShape, layer::LayerShape},
    picture::grammar::{Grammar, ImageForm},
};

/// Sizes of one network.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Emu3Config {
    /// Layers.
    pub n_layers: i64,
    /// Attention heads.
    pub n_heads: i64,
    /// Heads of keys and values.
    pub n_kv_heads: i64,
    /// Width of the residual stream.
    pub d_model: i64,
    /// Hidden width of the feed-forward part.
    pub d_ffn: i64,
    /// Words of the vocabulary, picture codes among them.
    pub n_words: i64,
    /// Picture codes.
    pub n_codes: i64,
    /// Rows of codes of an image.
    pub rows: i64,
    /// Codes of a row.
    pub columns: i64,
    /// Positions of prompt and image.
    pub n_positions: i64,
    /// Base of the rotary frequencies.
    pub rope_base: f64,
    /// Epsilon of the norms.
    pub norm_eps: f64,
}

impl Emu3Config {
    /// The sizes of `model`, as the catalog has them.
    ///
    /// # Panics
    /// If `model` has no sizes of this family, which the tests of the catalog's files exclude.
    #[must_use]
    pub fn of(model: &Entry) -> Self {
        let target = model.target.as_ref().expect("an Emu3 draws images");
        target.sizes().unwrap_or_else(|error| panic!("{}: [target.sizes]: {error}", model.name))
    }

    /// The sequence of its images.
    #[must_use]
    pub fn form(&self) -> ImageForm {
        let [rows, columns, n_codes] =
            [self.rows, self.columns, self.n_codes].map(|n| usize::try_from(n).expect("sizes are positive"));
        ImageForm { grammar: Grammar::Closed, rows, columns, n_codes }
    }

    /// Width of a head.
    #[must_use]
    pub const fn d_head(&self) -> i64 {
        self.d_model / self.n_heads
    }

    /// The sizes of its stack.
    #[must_use]
    pub const fn stack(&self) -> StackShape {
        let &Self { d_model, n_heads, n_kv_heads, d_ffn, n_layers, norm_eps, .. } = self;
        let layer = LayerShape { d_model, n_heads, n_kv_heads, d_head: self.d_head(), d_ffn };
        StackShape { layer, n_layers, norm_eps }
    }
}
