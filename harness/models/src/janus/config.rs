//! Sizes of the published Janus-Pro models (Chen et al., arXiv 2501.17811; models section 3).

use crate::{image_llama::StackShape, llama::LayerShape};

/// Sizes of one network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JanusConfig {
    /// Layers.
    pub n_layers: i64,
    /// Attention heads; keys and values have as many.
    pub n_heads: i64,
    /// Width of the residual stream.
    pub d_model: i64,
    /// Hidden width of the feed-forward part.
    pub d_ffn: i64,
    /// Text vocabulary.
    pub n_words: i64,
    /// Image vocabulary.
    pub n_vocab: i64,
    /// Width of an image token before it is aligned.
    pub d_code: i64,
    /// Tokens along an edge of the image.
    pub grid: i64,
    /// Positions of prompt and image.
    pub n_positions: i64,
    /// Word id that fills an empty prompt.
    pub pad: i64,
    /// Base of the rotary frequencies.
    pub rope_base: f64,
    /// Epsilon of the norms.
    pub norm_eps: f64,
}

impl JanusConfig {
    /// Janus-Pro-7B.
    pub const PRO_7B: Self = Self {
        n_layers: 30,
        n_heads: 32,
        d_model: 4096,
        d_ffn: 11_008,
        n_words: 102_400,
        n_vocab: 16_384,
        d_code: 8,
        grid: 24,
        n_positions: 16_384,
        pad: 100_015,
        rope_base: 10_000.0,
        norm_eps: 1e-6,
    };

    /// Janus-Pro-1B.
    pub const PRO_1B: Self = Self { n_layers: 24, n_heads: 16, d_model: 2048, d_ffn: 5632, ..Self::PRO_7B };

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
