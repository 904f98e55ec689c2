//! Sizes of the published LlamaGen models (Sun et al., arXiv 2406.06525).

use serde::Deserialize;
use specimen_catalog::Entry;

use crate::{
    families::published::sizes_of,
    llama::{
        image_llama::StackShape,
        layer::{Activation, LayerShape},
    },
};

/// What the image is conditioned on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Condition {
    /// A class; one more row stands for none.
    Class {
        /// Classes.
        n_classes: i64,
    },
    /// Features of a caption in slots that are filled from the right.
    Caption {
        /// Slots before the image.
        n_slots: i64,
        /// Width of the features.
        d_caption: i64,
    },
}

impl Condition {
    /// Slots before the image.
    pub fn n_slots(self) -> i64 {
        match self {
            Self::Class { .. } => 1,
            Self::Caption { n_slots, .. } => n_slots,
        }
    }
}

/// Sizes of one network.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LlamaGenConfig {
    /// Layers.
    pub n_layers: i64,
    /// Attention heads; keys and values have as many.
    pub n_heads: i64,
    /// Width of the residual stream.
    pub d_model: i64,
    /// Hidden width of the feed-forward part.
    pub d_ffn: i64,
    /// Image vocabulary.
    pub n_vocab: i64,
    /// Tokens along an edge of the image.
    pub grid: i64,
    /// What comes before the image.
    pub condition: Condition,
    /// Base of the rotary frequencies.
    pub rope_base: f64,
    /// Epsilon of the norms.
    pub norm_eps: f64,
}

impl LlamaGenConfig {
    /// The sizes of `model`, as the catalog has them.
    ///
    /// # Panics
    /// As [`sizes_of`].
    pub fn of(model: &Entry) -> Self {
        sizes_of(model)
    }

    /// Tokens of an image.
    pub const fn n_tokens(&self) -> i64 {
        self.grid * self.grid
    }

    /// Width of a head.
    pub const fn d_head(&self) -> i64 {
        self.d_model / self.n_heads
    }

    /// The sizes of its stack.
    pub const fn stack(&self) -> StackShape {
        let &Self { d_model, n_heads, d_ffn, n_layers, norm_eps, .. } = self;
        let layer = LayerShape {
            d_model,
            n_heads,
            n_kv_heads: n_heads,
            d_head: self.d_head(),
            d_ffn,
            activation: Activation::Silu,
        };
        StackShape { layer, n_layers, norm_eps }
    }
}
