//! The seam between the decoder and a network: tokens in, features and logits out, over a KV cache.

use std::any::Any;

use tch::{Kind, Tensor};

use crate::{
    llama::{layer::Turns, padded::PadView},
    seam::kv::KvCache,
};

/// Logit of a structural token, which is forced where it stands and nowhere drawn. Finite, so that guidance and
/// temperature leave it a number, and so low that its probability is exactly 0.
const NEVER: f64 = -1e30;

/// Logits of picture codes (`[.., n_codes]`, f32) as those of `n_vocab` tokens, of which the ones behind the codes are
/// structural.
pub fn with_undrawn(codes: Tensor, n_vocab: i64) -> Tensor {
    let mut size = codes.size();
    let n_codes = size.pop().expect("logits have an axis of codes");
    if n_codes == n_vocab {
        return codes;
    }
    size.push(n_vocab - n_codes);
    let structural = codes.new_full(size.as_slice(), NEVER, (Kind::Float, codes.device()));
    Tensor::cat(&[codes, structural], -1)
}

/// Sizes that a generation needs to know of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackboneShape {
    /// Width of the features.
    pub d_model: i64,
    /// Layers with a cache.
    pub n_layers: i64,
    /// Heads of keys and values.
    pub n_heads: i64,
    /// Width of a head.
    pub d_head: i64,
    /// Image vocabulary.
    pub n_vocab: i64,
    /// Positions the network knows, prefix included; nodes beyond are clamped to the last.
    pub n_positions: i64,
}

/// What a forward hands out.
pub struct Tapped {
    /// After the final norm, `[b, n, d]`.
    pub features: Tensor,
    /// The residual stream as it enters each layer that was asked for, without a norm, `[b, n, d]` each.
    pub inner: Vec<Tensor>,
}

/// A causal transformer over image tokens. A new model is one of these, a picture decoder, a configuration
/// and a prompt format.
pub trait Backbone: Any {
    /// The sizes it was built with.
    fn shape(&self) -> BackboneShape;

    /// Element kind of the weights and of the features.
    fn kind(&self) -> Kind;

    /// Input vectors of image tokens. `tokens`, `positions`: `[n]`, i64; returns `[n, d]`.
    fn embed(&self, tokens: &Tensor, positions: &Tensor) -> Tensor;

    /// Features after the final norm, the input of the head, and the residual stream as it enters each of
    /// `layers` (0-based, ascending; repeats count). `x`: `[b, n, d]`; `positions`: `[n]`, or `[b, n]` where rows stand at
    /// different ones, i64; `mask`: additive `[n, n_cached + n]`, absent when everything is visible; in
    /// [`KvCache::at_places`] over all that is read, for every row. Writes keys and values behind the cache's end without
    /// moving it.
    ///
    /// # Panics
    /// If a layer is none of the network's.
    fn forward_tapped(
        &self,
        x: &Tensor,
        positions: &Tensor,
        cache: &mut KvCache,
        mask: Option<&Tensor>,
        layers: &[usize],
    ) -> Tapped;

    /// The features of [`Backbone::forward_tapped`] alone, `[b, n, d]`.
    fn forward(&self, x: &Tensor, positions: &Tensor, cache: &mut KvCache, mask: Option<&Tensor>) -> Tensor {
        self.forward_tapped(x, positions, cache, mask, &[]).features
    }

    /// Logits in f32. `features`: `[.., d]`; returns `[.., n_vocab]`.
    fn logits(&self, features: &Tensor) -> Tensor;

    /// Rotary positions, where the network uses them; an EAGLE head shares them.
    fn turns(&self) -> Option<&Turns>;

    /// Slots at the front of the prefix that are pads, one count a row; none where no row has any. No other slot sees them.
    fn pads(&self) -> &[i64] {
        &[]
    }

    /// Says what slots of pads see before the first forward; a network without pads has nothing to do. Distributions
    /// of image tokens stay as they are to the bit: no other slot sees a pad.
    fn set_pad_view(&self, _: PadView) {}
}
