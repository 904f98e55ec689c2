//! Sizes of the tiny model, as stored beside its weights.

use serde::{Deserialize, Serialize};

/// The VQ tokenizer: own-patch encoder, convolutional decoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct VqConfig {
    /// Pixels along an edge of the image.
    pub side: i64,
    /// Pixels along an edge of a token's patch.
    pub patch: i64,
    /// Codebook entries.
    pub n_codes: i64,
    /// Width of a code; codes are L2-normalised.
    pub d_code: i64,
    /// Width of the encoder's 1x1 convolutions.
    pub d_encoder: i64,
    /// Channels of the decoder at token resolution and at twice that.
    pub d_decoder: [i64; 2],
}

/// The target transformer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetConfig {
    /// Width of the residual stream.
    pub d_model: i64,
    /// Layers.
    pub n_layers: i64,
    /// Attention heads.
    pub n_heads: i64,
    /// Width of a head.
    pub d_head: i64,
    /// Hidden width of the feed-forward part.
    pub d_ffn: i64,
    /// Image vocabulary: the tokenizer's codebook.
    pub n_vocab: i64,
    /// Tokens along an edge of the image.
    pub grid: i64,
    /// Caption slots before the image.
    pub caption_len: i64,
    /// Caption vocabulary, padding and null word included.
    pub n_words: i64,
    /// Base of the rotary frequencies.
    pub rope_base: f64,
    /// Epsilon of the norms.
    pub norm_eps: f64,
}

impl TargetConfig {
    /// Tokens of an image.
    pub fn n_tokens(&self) -> i64 {
        self.grid * self.grid
    }
}
