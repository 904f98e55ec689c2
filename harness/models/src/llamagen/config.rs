//! Sizes of the published LlamaGen models (Sun et al., arXiv 2406.06525; models section 1.1).

use crate::{image_llama::StackShape, llama::LayerShape};

/// What the image is conditioned on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    #[must_use]
    pub fn n_slots(self) -> i64 {
        match self {
            Self::Class { .. } => 1,
            Self::Caption { n_slots, .. } => n_slots,
        }
    }
}

/// Sizes of one network.
#[derive(Clone, Copy, Debug, PartialEq)]
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
    const XL: Self = Self {
        n_layers: 36,
        n_heads: 20,
        d_model: 1280,
        d_ffn: 3584,
        n_vocab: 16_384,
        grid: 16,
        condition: Condition::Class { n_classes: 1000 },
        rope_base: 10_000.0,
        norm_eps: 1e-5,
    };

    /// GPT-B for classes; `grid` is 16 (256 pixels) or 24 (384 pixels).
    #[must_use]
    pub const fn class_b(grid: i64) -> Self {
        Self { n_layers: 12, n_heads: 12, d_model: 768, d_ffn: 2048, grid, ..Self::XL }
    }

    /// GPT-L for classes.
    #[must_use]
    pub const fn class_l(grid: i64) -> Self {
        Self { n_layers: 24, n_heads: 16, d_model: 1024, d_ffn: 2816, grid, ..Self::XL }
    }

    /// GPT-XL for classes.
    #[must_use]
    pub const fn class_xl(grid: i64) -> Self {
        Self { grid, ..Self::XL }
    }

    /// GPT-XL for captions; `grid` is 16 (stage 1, 256 pixels) or 32 (stage 2, 512 pixels).
    #[must_use]
    pub const fn caption_xl(grid: i64) -> Self {
        Self { grid, condition: Condition::Caption { n_slots: 120, d_caption: 2048 }, ..Self::XL }
    }

    /// Tokens of an image.
    #[must_use]
    pub const fn n_tokens(&self) -> i64 {
        self.grid * self.grid
    }

    /// Width of a head.
    #[must_use]
    pub const fn d_head(&self) -> i64 {
        self.d_model / self.n_heads
    }

    /// The sizes of its stack.
    #[must_use]
    pub const fn stack(&self) -> StackShape {
        let &Self { d_model, n_heads, d_ffn, n_layers, norm_eps, .. } = self;
        let layer = LayerShape { d_model, n_heads, d_head: self.d_head(), d_ffn };
        StackShape { layer, n_layers, norm_eps }
    }
}
