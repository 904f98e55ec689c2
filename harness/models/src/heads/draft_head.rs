//! What a draft needs of a head, whatever its architecture: features of the target in, features of its own
//! out, and logits from them. Two ways through the same weights, as in [`llama`](crate::llama::layer): [`Head`] is whole
//! sequences with the graph for training, [`DraftHead`] a few nodes behind a cache for decoding.

use tch::Tensor;

use crate::{
    llama::layer::{LayerShape, Rotary},
    seam::{backbone::Backbone, kv::LayerCache},
};

/// A one-layer head that continues the target's features, on whole sequences.
pub trait Head {
    /// Sizes of its layer.
    fn layer_shape(&self) -> LayerShape;

    /// The target's layers whose inputs it reads side by side (0-based, ascending); empty for a head that reads
    /// the feature after the final norm.
    fn taps(&self) -> &[usize];

    /// Input vectors of image tokens, as [`Backbone::embed`]: the target's, unless the head brings its own.
    fn embed(&self, target: &dyn Backbone, tokens: &Tensor, positions: &Tensor) -> Tensor {
        target.embed(tokens, positions)
    }

    /// What the head continues from, made of the target's features: `[b, n, w]` to `[b, n, d]`, where `w` is
    /// `d` times the number of taps, or `d` without taps. Its own predictions are not passed through here.
    fn admit(&self, features: &Tensor) -> Tensor;

    /// The residual stream of whole sequences and what attention makes of them. `embeddings`, `features`:
    /// `[b, n, d]`, the features admitted or predicted.
    fn open(&self, embeddings: &Tensor, features: &Tensor, rotary: &Rotary) -> Opened;

    /// Predicted features after attention read `context` (`[b, n, heads * d_head]`). `x`: `[b, n, d]`.
    fn close(&self, x: &Tensor, context: &Tensor) -> Tensor;

    /// Logits in f32 over the target's vocabulary. `predicted`: `[b, n, d]`; returns `[b, n, n_vocab]`.
    fn logits(&self, target: &dyn Backbone, predicted: &Tensor) -> Tensor;
}

/// A head that can decode.
pub trait DraftHead: Head {
    /// Builds what decoding needs; training does without.
    fn prepare(&mut self);

    /// `n` nodes behind the cache. `embeddings`, `features` as in [`Head::open`]; `turns` as from
    /// [`Turns::at`](crate::llama::layer::Turns::at); `mask` as in [`Layer::step`](crate::llama::layer::Layer::step), or
    /// `[b, 1, n, n_cached + n]`. Returns predicted features `[b, n, d]`.
    ///
    /// # Panics
    /// If the head is not prepared.
    fn step(
        &self,
        embeddings: &Tensor,
        features: &Tensor,
        turns: &Tensor,
        cache: &mut LayerCache,
        mask: Option<&Tensor>,
    ) -> Tensor;
}

/// Whole sequences at the entrance of a head's layer.
pub struct Opened {
    /// The residual stream, `[b, n, d]`.
    pub x: Tensor,
    /// Queries, keys and values, `[b, n, heads, d_head]` each.
    pub projected: (Tensor, Tensor, Tensor),
}
