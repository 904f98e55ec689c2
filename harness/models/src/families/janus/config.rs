//! Sizes of the published Janus-Pro models (Chen et al., arXiv 2501.17811).

use serde::Deserialize;
use serde_json::json;
use specimen_catalog::Entry;

use crate::{
    families::{published::sizes_of, word_prompt::PromptLimits},
    heads::llama_heads::Headed,
    llama::{
        image_llama::StackShape,
        layer::{Activation, LayerShape},
    },
};

/// Sizes of one network.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
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

    /// The same as its heads have to know it: the pads of the empty prompt are words, which a head sees too.
    pub fn headed(&self) -> Headed {
        let n_codes = self.n_vocab;
        Headed { stack: self.stack(), n_codes, vocab_size: n_codes, hide_pads: false, more: json!({}) }
    }

    /// What its prompts may be.
    pub(super) const fn limits(&self) -> PromptLimits {
        PromptLimits { n_words: self.n_words, n_positions: self.n_positions, n_tokens: self.n_tokens() }
    }
}
