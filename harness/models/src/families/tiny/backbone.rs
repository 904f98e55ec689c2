//! The tiny target: caption slots, then raster image tokens, through LLaMA layers with 2-D rotary
//! positions.

use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::{Kind, Tensor};

use super::TargetConfig;
use crate::{
    llama::{
        layer::{Activation, Layer, LayerShape, Rotary, Turns, causal_mask, rms_norm, rotary_2d},
        linear::{held, linear},
        mirror::Mirrored,
    },
    seam::{
        backbone::{Backbone, BackboneShape, Tapped},
        kv::KvCache,
    },
};

/// The weights of the target.
pub struct TinyBackbone {
    config: TargetConfig,
    /// `[n_words, d]`
    words: Tensor,
    /// `[caption_len, d]`
    slots: Tensor,
    /// `[n_vocab, d]`
    tokens: Tensor,
    layers: Vec<Layer>,
    /// `[d]`
    norm: Tensor,
    /// `[n_vocab, d]`
    head: Tensor,
    rotary: Rotary,
    turns: Turns,
}

impl TinyBackbone {
    /// Reads or makes the parameters.
    pub fn new(source: &mut dyn ParamSource, config: &TargetConfig) -> Result<Self, LoadError> {
        let d = config.d_model;
        let unit = Init::Normal(0.5);
        let words = source.param("words.weight", &[config.n_words, d], unit)?;
        let slots = source.param("slots.weight", &[config.caption_len, d], unit)?;
        let tokens = source.param("tokens.weight", &[config.n_vocab, d], unit)?;
        let norm = source.param("norm.weight", &[d], Init::Constant(1.0))?;
        let head = source.param("head.weight", &[config.n_vocab, d], Init::Normal(0.02))?;
        let shape = Self::layer_shape(config);
        let layers = (0..config.n_layers)
            .map(|i| {
                let mut scoped = Scoped::new(source, format!("layers.{i}."));
                Layer::new(&mut scoped, shape, true, config.n_layers, config.norm_eps)
            })
            .collect::<Result<_, _>>()?;
        let rotary = rotary_2d(config.caption_len, config.grid, config.d_head, config.rope_base);
        let rotary = rotary.to_device(tokens.device());
        let turns = Turns::new(&rotary);
        Ok(Self { config: config.clone(), words, slots, tokens, layers, norm, head, rotary, turns })
    }

    fn layer_shape(config: &TargetConfig) -> LayerShape {
        let &TargetConfig { d_model, n_heads, d_head, d_ffn, .. } = config;
        LayerShape { d_model, n_heads, n_kv_heads: n_heads, d_head, d_ffn, activation: Activation::Silu }
    }

    /// Builds what decoding needs; training does without.
    pub fn prepare(&mut self) {
        self.layers.iter_mut().for_each(Layer::prepare);
        self.head = held(&self.head);
    }

    /// The sizes it was built with.
    pub fn config(&self) -> &TargetConfig {
        &self.config
    }

    /// Input embeddings of the image tokens, `[n_vocab, d]`.
    pub fn token_table(&self) -> &Tensor {
        &self.tokens
    }

    /// Caption slots. `words`: `[b, caption_len]`, i64; returns `[b, caption_len, d]`.
    pub fn embed_caption(&self, words: &Tensor) -> Tensor {
        let (b, n) = words.size2().expect("captions have two axes");
        self.words.index_select(0, &words.reshape([-1])).view([b, n, self.config.d_model]) + &self.slots
    }

    /// Token embeddings. `tokens`: `[b, n]`, i64; returns `[b, n, d]`.
    pub fn embed_batch(&self, tokens: &Tensor) -> Tensor {
        let (b, n) = tokens.size2().expect("token batches have two axes");
        self.tokens.index_select(0, &tokens.reshape([-1])).view([b, n, self.config.d_model])
    }

    /// Features of whole images, with the graph. `words`: `[b, caption_len]`; `tokens`: `[b, n_tokens]`,
    /// i64. Returns `[b, n_tokens, d]`: row `j` is the hidden state that predicts token `j`.
    pub fn features(&self, words: &Tensor, tokens: &Tensor) -> Tensor {
        self.features_tapped(words, tokens, &[]).features
    }

    /// The same with the residual stream as it enters each of `layers` (0-based, ascending), all with rows as in
    /// [`TinyBackbone::features`].
    pub fn features_tapped(&self, words: &Tensor, tokens: &Tensor, layers: &[usize]) -> Tapped {
        let n_tokens = tokens.size()[1];
        let prefix = self.config.caption_len;
        let fed = tokens.narrow(1, 0, n_tokens - 1);
        let mut x = Tensor::cat(&[self.embed_caption(words), self.embed_batch(&fed)], 1);
        let n = prefix + n_tokens - 1;
        let rotary = self.rotary.narrow(0, n).to_kind(x.kind());
        let mask = causal_mask(n, x.kind());
        let predicting = |x: &Tensor| x.narrow(1, prefix - 1, n_tokens);
        let mut inner = Vec::new();
        for (at, layer) in self.layers.iter().enumerate() {
            inner.extend(layers.iter().filter(|&&tapped| tapped == at).map(|_| predicting(&x)));
            x = layer.whole(&x, &rotary, &mask);
        }
        Tapped { features: rms_norm(&predicting(&x), &self.norm, self.config.norm_eps), inner }
    }

    /// Weight of the norm before the output head, `[d]`.
    pub fn norm(&self) -> &Tensor {
        &self.norm
    }

    /// The output head, `[n_vocab, d]`.
    pub fn head(&self) -> &Tensor {
        &self.head
    }

    /// Rotary rows of the image tokens `from..from + n` (0-based in the image).
    pub fn image_rotary(&self, from: i64, n: i64) -> Rotary {
        let at = self.config.caption_len + from;
        self.rotary.narrow(at, n).to_kind(self.tokens.kind())
    }
}

impl Backbone for TinyBackbone {
    fn shape(&self) -> BackboneShape {
        BackboneShape {
            d_model: self.config.d_model,
            n_layers: self.config.n_layers,
            n_heads: self.config.n_heads,
            d_head: self.config.d_head,
            n_vocab: self.config.n_vocab,
            n_positions: self.config.caption_len + self.config.n_tokens(),
        }
    }

    fn kind(&self) -> Kind {
        self.tokens.kind()
    }

    fn embed(&self, tokens: &Tensor, _: &Tensor) -> Tensor {
        self.tokens.index_select(0, tokens)
    }

    fn forward_tapped(
        &self,
        x: &Tensor,
        positions: &Tensor,
        cache: &mut KvCache,
        mask: Option<&Tensor>,
        layers: &[usize],
    ) -> Tapped {
        let turns = self.turns.at(positions, Self::layer_shape(&self.config).turned_and_still());
        let mut x = Mirrored::new(x);
        let mut inner = Vec::new();
        for (at, (layer, cache)) in self.layers.iter().zip(cache.layers()).enumerate() {
            inner.extend(layers.iter().filter(|&&tapped| tapped == at).map(|_| x.value()));
            x = layer.step(&x, &turns, cache, mask);
        }
        assert_eq!(
            inner.len(),
            layers.len(),
            "layers {layers:?} are tapped, in a network of {}",
            self.layers.len()
        );
        Tapped { features: x.normed(&self.norm, self.config.norm_eps), inner }
    }

    fn logits(&self, features: &Tensor) -> Tensor {
        linear(features, &self.head, None).to_kind(Kind::Float)
    }

    fn turns(&self) -> Option<&Turns> {
        Some(&self.turns)
    }
}
