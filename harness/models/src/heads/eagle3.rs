//! The EAGLE-3 head: one decoder layer that continues a mixture of three inner layers of the target (Li et al.,
//! arXiv 2503.01840).
//!
//! `fc` mixes the residual streams that enter a low, a middle and a high layer, without a norm; attention reads
//! the normed embedding beside the normed mixture; the residual stream is the mixture itself. The head's output
//! before its own norm is the next feature of a draft, which never passes `fc` again, and its own output head
//! reads it after the norm. The draft vocabulary is the codes of the target's pictures; structural tokens, which stand where
//! they are forced, are behind them and never drafted.

use serde::{Deserialize, Serialize};
use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::{Kind, Tensor};

use crate::{
    heads::{
        draft_head::{DraftHead, Head, Opened},
        eagle::EaglePrefix,
    },
    llama::{
        layer::{Activation, Layer, LayerShape, Rotary, rms_norm},
        linear::{held, linear},
        mirror::Mirrored,
    },
    seam::{
        backbone::{Backbone, with_undrawn},
        kv::LayerCache,
    },
};

/// What differs between heads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Eagle3Config {
    /// The target's layers whose inputs are mixed, 0-based and ascending: 2, `n / 2` and `n - 3` of `n` in the
    /// published heads.
    pub taps: [usize; 3],
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

impl Eagle3Config {
    /// The same head over other layers.
    pub fn tapping(self, taps: [usize; 3]) -> Self {
        Self { taps, ..self }
    }

    /// Whether a target of `n_layers` has the layers that are tapped, in the order in which a forward meets them:
    /// features of layers in another order would be mixed by weights that are not theirs.
    pub fn check_taps(&self, n_layers: i64) -> Result<(), String> {
        let n_layers = usize::try_from(n_layers).unwrap_or(0);
        if self.taps.is_sorted() && self.taps.iter().all(|&tap| tap < n_layers) {
            return Ok(());
        }
        Err(format!("taps are {:?}, expected ascending layers below {n_layers}", self.taps))
    }
}

/// The weights of a head. Attention reads the embedding first, then the feature.
pub struct Eagle3Head {
    config: Eagle3Config,
    shape: LayerShape,
    /// `[d, 3 d]`
    fc: Tensor,
    /// `[d]`
    embedding_norm: Tensor,
    /// `[d]`
    feature_norm: Tensor,
    layer: Layer,
    /// `[d]`
    norm: Tensor,
    /// `[n_vocab, d]`
    head: Tensor,
}

impl Eagle3Head {
    /// Reads or makes the parameters for a target of width `d_model` over `n_vocab` image tokens.
    pub fn new(
        source: &mut dyn ParamSource,
        config: &Eagle3Config,
        d_model: i64,
        n_vocab: i64,
    ) -> Result<Self, LoadError> {
        let (d, ones) = (d_model, Init::Constant(1.0));
        let fc = source.param("fc.weight", &[d, 3 * d], Init::Normal((3.0 * d as f64).powf(-0.5)))?;
        let &Eagle3Config { n_heads, n_kv_heads, d_head, d_ffn, norm_eps, .. } = config;
        let n_kv_heads = n_kv_heads.unwrap_or(n_heads);
        let shape =
            LayerShape { d_model: d, n_heads, n_kv_heads, d_head, d_ffn, activation: Activation::Silu };
        let mut middle = Scoped::new(source, "midlayer.");
        let embedding_norm = middle.param("input_layernorm.weight", &[d], ones)?;
        let feature_norm = middle.param("hidden_norm.weight", &[d], ones)?;
        let layer = Layer::with_input(&mut middle, shape, 2 * d, 1, norm_eps)?;
        let norm = source.param("norm.weight", &[d], ones)?;
        let head = source.param("lm_head.weight", &[n_vocab, d], Init::Normal(0.02))?;
        Ok(Self { config: config.clone(), shape, fc, embedding_norm, feature_norm, layer, norm, head })
    }

    /// The same head with the rows of its output head in the order `rows`, `[n_vocab]`, i64.
    pub fn in_order(self, rows: &Tensor) -> Self {
        Self { head: self.head.index_select(0, rows), ..self }
    }

    /// The sizes it was built with.
    pub fn config(&self) -> &Eagle3Config {
        &self.config
    }

    /// What attention reads, `[b, n, 2 d]`.
    fn side_by_side(&self, embeddings: &Tensor, features: &Tensor) -> Tensor {
        let eps = self.config.norm_eps;
        let embeddings = rms_norm(embeddings, &self.embedding_norm, eps);
        Tensor::cat(&[embeddings, rms_norm(features, &self.feature_norm, eps)], -1)
    }
}

impl Head for Eagle3Head {
    fn layer_shape(&self) -> LayerShape {
        self.shape
    }

    fn taps(&self) -> &[usize] {
        &self.config.taps
    }

    fn admit(&self, features: &Tensor) -> Tensor {
        linear(features, &self.fc, None)
    }

    fn open(&self, embeddings: &Tensor, features: &Tensor, rotary: &Rotary) -> Opened {
        let projected = self.layer.project_from(&self.side_by_side(embeddings, features), rotary);
        Opened { x: features.shallow_clone(), projected }
    }

    fn close(&self, x: &Tensor, context: &Tensor) -> Tensor {
        self.layer.finish(x, context)
    }

    fn logits(&self, target: &dyn Backbone, predicted: &Tensor) -> Tensor {
        let normed = rms_norm(predicted, &self.norm, self.config.norm_eps);
        let codes = linear(&normed, &self.head, None).to_kind(Kind::Float);
        with_undrawn(codes, target.shape().n_vocab)
    }
}

impl DraftHead for Eagle3Head {
    fn prepare(&mut self) {
        self.layer.prepare();
        (self.fc, self.head) = (held(&self.fc), held(&self.head));
    }

    fn step(
        &self,
        embeddings: &Tensor,
        features: &Tensor,
        turns: &Tensor,
        cache: &mut LayerCache,
        mask: Option<&Tensor>,
    ) -> Tensor {
        let read = self.side_by_side(embeddings, features);
        let mask = self.shape.mask_of_heads(mask);
        self.layer.step_from(&read, &Mirrored::new(features), turns, cache, mask.as_ref()).value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn taps_have_to_ascend_and_to_exist() {
        let check = |taps: [usize; 3], n_layers: i64| {
            let prefix = EaglePrefix::ImageOnly;
            let (n_heads, n_kv_heads) = (1, None);
            let config =
                Eagle3Config { taps, prefix, n_heads, n_kv_heads, d_head: 8, d_ffn: 8, norm_eps: 1e-5 };
            config.check_taps(n_layers)
        };
        assert_eq!((check([2, 6, 9], 12), check([0, 0, 0], 1)), (Ok(()), Ok(())));
        let expected =
            |taps: &str, n: i64| Err(format!("taps are {taps}, expected ascending layers below {n}"));
        assert_eq!(check([2, 9, 6], 12), expected("[2, 9, 6]", 12));
        assert_eq!(check([2, 6, 12], 12), expected("[2, 6, 12]", 12));
    }
}
