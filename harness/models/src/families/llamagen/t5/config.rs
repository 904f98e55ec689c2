//! Sizes of a T5 encoder (Raffel et al., arXiv 1910.10683).

/// Sizes of one encoder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct T5Config {
    /// Layers.
    pub n_layers: i64,
    /// Attention heads.
    pub n_heads: i64,
    /// Width of the residual stream.
    pub d_model: i64,
    /// Width of a head; not a share of the stream.
    pub d_head: i64,
    /// Hidden width of the gated feed-forward part.
    pub d_ffn: i64,
    /// Vocabulary.
    pub n_words: i64,
    /// Buckets of relative distances, both directions together.
    pub n_buckets: i64,
    /// Distance from which on all share a bucket.
    pub max_distance: i64,
    /// Epsilon of the norms.
    pub norm_eps: f64,
}

impl T5Config {
    /// flan-t5-xl.
    pub const FLAN_XL: Self = Self {
        n_layers: 24,
        n_heads: 32,
        d_model: 2048,
        d_head: 64,
        d_ffn: 5120,
        n_words: 32_128,
        n_buckets: 32,
        max_distance: 128,
        norm_eps: 1e-6,
    };
}
