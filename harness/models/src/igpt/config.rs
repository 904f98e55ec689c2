//! Sizes of an Image-GPT.

/// The sizes; the feed-forward part is four times as wide as the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// The size of the published MNIST and Fashion-MNIST weights.
    pub const XXS: Self = Self { d_model: 16, n_layers: 8, n_heads: 2, n_vocab: 16, side: 28 };

    /// Tokens of an image.
    #[must_use]
    pub fn n_tokens(&self) -> i64 {
        self.side * self.side
    }

    /// Width of a head.
    #[must_use]
    pub fn d_head(&self) -> i64 {
        self.d_model / self.n_heads
    }
}
