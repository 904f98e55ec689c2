//! Sizes of Emu3-Gen's transformer and of its images.

use serde::Deserialize;
use serde_json::json;
use specimen_catalog::Entry;

use super::Emu3Names;
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
    /// As [`sizes_of`].
    pub fn of(model: &Entry) -> Self {
        sizes_of(model)
    }

    /// The sequence of its images.
    pub fn form(&self) -> ImageForm {
        let [rows, columns, n_codes] =
            [self.rows, self.columns, self.n_codes].map(|n| usize::try_from(n).expect("sizes are positive"));
        ImageForm { grammar: Grammar::Closed, rows, columns, n_codes }
    }

    /// Width of a head.
    pub const fn d_head(&self) -> i64 {
        self.d_model / self.n_heads
    }

    /// The sizes of its stack.
    pub const fn stack(&self) -> StackShape {
        let &Self { d_model, n_heads, n_kv_heads, d_ffn, n_layers, norm_eps, .. } = self;
        let layer = LayerShape {
            d_model,
            n_heads,
            n_kv_heads,
            d_head: self.d_head(),
            d_ffn,
            activation: Activation::Silu,
        };
        StackShape { layer, n_layers, norm_eps }
    }

    /// The transformer under the names of a file.
    pub const fn shape(&self, names: Emu3Names) -> WordShape {
        WordShape {
            stack: self.stack(),
            n_words: self.n_words,
            n_codes: self.n_codes,
            n_positions: self.n_positions,
            rope_base: self.rope_base,
            offset_norms: false,
            scaled_words: false,
            prefix: names.language_model(),
            head: Some(names.head()),
        }
    }

    /// The same as its heads have to know it.
    pub fn headed(&self) -> Headed {
        let more = json!({ "rope_theta": self.rope_base });
        let (stack, n_codes, vocab_size) = (self.stack(), self.n_codes, self.n_words);
        Headed { stack, n_codes, vocab_size, hide_pads: true, more }
    }

    /// What its prompts may be.
    pub(super) fn limits(&self) -> PromptLimits {
        let n_tokens = self.form().n_tokens() as i64;
        PromptLimits { n_words: self.n_words, n_positions: self.n_positions, n_tokens }
    }
}
