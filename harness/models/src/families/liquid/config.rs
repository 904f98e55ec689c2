//! Sizes of Liquid's transformer and of its images.

use serde::Deserialize;
use serde_json::json;
use specimen_catalog::Entry;

use crate::{
    families::{published::sizes_of, word_prompt::PromptLimits},
    heads::llama_heads::Headed,
    llama::{
        image_llama::StackShape,
        layer::{Activation, LayerShape},
        word_llama::WordShape,
    },
    picture::grammar::{Grammar, ImageForm},
};

/// Sizes of one network.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiquidConfig {
    /// Layers.
    pub n_layers: i64,
    /// Attention heads; keys and values have as many.
    pub n_heads: i64,
    /// Width of the residual stream.
    pub d_model: i64,
    /// Width of a head; all heads together are wider than the stream.
    pub d_head: i64,
    /// Hidden width of the feed-forward part.
    pub d_ffn: i64,
    /// Words of the vocabulary, the picture codes behind them included.
    pub n_words: i64,
    /// Image vocabulary: picture codes.
    pub n_vocab: i64,
    /// Codes along an edge of the image.
    pub grid: i64,
    /// Positions of prompt and image.
    pub n_positions: i64,
    /// Base of the rotary frequencies.
    pub rope_base: f64,
    /// Epsilon of the norms.
    pub norm_eps: f64,
}

impl LiquidConfig {
    /// The sizes of `model`, as the catalog has them.
    ///
    /// # Panics
    /// As [`sizes_of`].
    pub fn of(model: &Entry) -> Self {
        sizes_of(model)
    }

    /// The sequence of its images.
    pub fn form(&self) -> ImageForm {
        let [side, n_codes] =
            [self.grid, self.n_vocab].map(|n| usize::try_from(n).expect("sizes are positive"));
        ImageForm { grammar: Grammar::Plain, rows: side, columns: side, n_codes }
    }

    /// Gemma's network over its words: a gate of GELU, norms stored as differences from 1, words that enter times the root of
    /// the width, and the table of words as output head.
    pub fn shape(&self) -> WordShape {
        let &Self { n_layers, n_heads, d_model, d_head, d_ffn, norm_eps, .. } = self;
        let activation = Activation::GeluTanh;
        let layer = LayerShape { d_model, n_heads, n_kv_heads: n_heads, d_head, d_ffn, activation };
        WordShape {
            stack: StackShape { layer, n_layers, norm_eps },
            n_words: self.n_words,
            n_codes: self.n_vocab,
            n_positions: self.n_positions,
            rope_base: self.rope_base,
            offset_norms: true,
            scaled_words: true,
            prefix: "model.",
            head: None,
        }
    }

    /// The same as its heads, whose layers are LLaMA's, have to know it.
    pub fn headed(&self) -> Headed {
        let more = json!({ "rope_theta": self.rope_base });
        let WordShape { stack, n_words, n_codes, .. } = self.shape();
        Headed { stack, n_codes, vocab_size: n_words, hide_pads: true, more }
    }

    /// What its prompts may be.
    pub(super) fn limits(&self) -> PromptLimits {
        let (n_words, n_tokens) = (self.n_words - self.n_vocab, self.grid * self.grid);
        PromptLimits { n_words, n_positions: self.n_positions, n_tokens }
    }
}
