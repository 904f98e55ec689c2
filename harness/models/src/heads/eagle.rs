//! The EAGLE-1 head: one decoder layer that continues the target's features (Li et al., arXiv 2401.15077).
//! Embedding and output head are the target's own, frozen.
//!
//! Slot `j` consumes the embedding of token `j` and the feature that predicted it, and predicts token
//! `j + 1` through the target's head.

use serde::{Deserialize, Serialize};
use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::Tensor;

use crate::{
    heads::draft_head::{DraftHead, Head, Opened},
    llama::{
        layer::{Activation, Layer, LayerShape, Rotary, rms_norm},
        linear::{held, linear},
        mirror::Mirrored,
    },
    seam::{backbone::Backbone, kv::LayerCache},
};

/// What differs between published heads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EagleConfig {
    /// Whether the joining projection has a bias.
    pub bias: bool,
    /// Whether the layer norms its input (absent in LlamaGen's head).
    pub input_norm: bool,
    /// Whether the output is normed before the head; then the normed value is the next feature.
    pub output_norm: bool,
    /// Which prefix slots the head has seen.
    pub prefix: EaglePrefix,
    /// Heads of the layer.
    pub n_heads: i64,
    /// Heads of its keys and values; absent: as many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n_kv_heads: Option<i64>,
    /// Width of a head.
    pub d_head: i64,
    /// Hidden width of the feed-forward part.
    pub d_ffn: i64,
    /// Epsilon of the norms.
    pub norm_eps: f64,
}

/// Which prefix slots a head attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EaglePrefix {
    /// None: the first slot pairs the last prefix feature with the first image token.
    ImageOnly,
    /// All but the last, each paired with the token behind it; the slot of the first image token comes next.
    Whole,
}

/// The weights of a head. Concatenation order: embedding first, then feature (LANTERN's).
pub struct EagleHead {
    config: EagleConfig,
    shape: LayerShape,
    /// `[d, 2 d]`
    fc: Tensor,
    /// `[d]`
    fc_bias: Option<Tensor>,
    /// The decoder layer.
    pub layer: Layer,
    /// `[d]`
    norm: Option<Tensor>,
}

impl EagleHead {
    /// Reads or makes the parameters for a target of width `d_model`.
    pub fn new(source: &mut dyn ParamSource, config: &EagleConfig, d_model: i64) -> Result<Self, LoadError> {
        let d = d_model;
        let std = Init::Normal((2.0 * d as f64).powf(-0.5));
        let fc = source.param("fc.weight", &[d, 2 * d], std)?;
        let fc_bias =
            if config.bias { Some(source.param("fc.bias", &[d], Init::Constant(0.0))?) } else { None };
        let norm = if config.output_norm {
            Some(source.param("norm.weight", &[d], Init::Constant(1.0))?)
        } else {
            None
        };
        let &EagleConfig { n_heads, n_kv_heads, d_head, d_ffn, .. } = config;
        let n_kv_heads = n_kv_heads.unwrap_or(n_heads);
        let shape =
            LayerShape { d_model: d, n_heads, n_kv_heads, d_head, d_ffn, activation: Activation::Silu };
        let layer =
            Layer::new(&mut Scoped::new(source, "layers.0."), shape, config.input_norm, 1, config.norm_eps)?;
        Ok(Self { config: config.clone(), shape, fc, fc_bias, layer, norm })
    }

    /// The flags and sizes.
    pub fn config(&self) -> &EagleConfig {
        &self.config
    }

    /// The layer's input. `embeddings`, `features`: `[b, n, d]`.
    pub fn join(&self, embeddings: &Tensor, features: &Tensor) -> Tensor {
        linear(&Tensor::cat(&[embeddings, features], -1), &self.fc, self.fc_bias.as_ref())
    }

    /// The predicted features from the layer's output. `x`: `[b, n, d]`.
    pub fn finish(&self, x: &Tensor) -> Tensor {
        match &self.norm {
            Some(weight) => rms_norm(x, weight, self.config.norm_eps),
            None => x.shallow_clone(),
        }
    }
}

impl Head for EagleHead {
    fn layer_shape(&self) -> LayerShape {
        self.shape
    }

    /// None: it reads the feature after the final norm.
    fn taps(&self) -> &[usize] {
        &[]
    }

    fn admit(&self, features: &Tensor) -> Tensor {
        features.shallow_clone()
    }

    fn open(&self, embeddings: &Tensor, features: &Tensor, rotary: &Rotary) -> Opened {
        let x = self.join(embeddings, features);
        let projected = self.layer.project(&x, rotary);
        Opened { x, projected }
    }

    fn close(&self, x: &Tensor, context: &Tensor) -> Tensor {
        self.finish(&self.layer.finish(x, context))
    }

    fn logits(&self, target: &dyn Backbone, predicted: &Tensor) -> Tensor {
        target.logits(predicted)
    }
}

impl DraftHead for EagleHead {
    fn prepare(&mut self) {
        self.layer.prepare();
        self.fc = held(&self.fc);
    }

    fn step(
        &self,
        embeddings: &Tensor,
        features: &Tensor,
        turns: &Tensor,
        cache: &mut LayerCache,
        mask: Option<&Tensor>,
    ) -> Tensor {
        let joined = Mirrored::new(&self.join(embeddings, features));
        let mask = self.shape.mask_of_heads(mask);
        self.finish(&self.layer.step(&joined, turns, cache, mask.as_ref()).value())
    }
}
