//! The EAGLE-1 head of a Chameleon (Li et al., arXiv 2401.15077; layout of LANTERN, arXiv 2410.03355): a
//! projection that joins embedding and feature, and one Chameleon layer with its input norm. Embedding and output
//! head are the target's.
//!
//! The head has seen whole sequences, prompt included. Slot `s` consumes word `s + 1` and the feature of slot `s`.

use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::Tensor;

use super::{ChameleonConfig, KeyLayout, keys::layer_inventory, layer::ChameleonLayer};
use crate::{
    heads::draft_head::{DraftHead, Head, Opened},
    llama::{
        layer::{Activation, LayerShape, Rotary},
        linear::{held, linear},
        mirror::Mirrored,
    },
    seam::{backbone::Backbone, kv::LayerCache},
};

/// The embedding that files of heads repeat.
const EMBEDDING: &str = "embed_tokens.weight";
/// What the names of the layer begin with.
const LAYER: &str = "layers.0.";

/// The weights of a head.
pub struct ChameleonHead {
    config: ChameleonConfig,
    /// `[d, 2 d]`
    fc: Tensor,
    /// `[d]`
    fc_bias: Option<Tensor>,
    layer: ChameleonLayer,
    /// What embeddings are multiplied by before they are joined with features.
    upscale: Option<f64>,
}

impl ChameleonHead {
    /// The tensor whose shape tells how the norms of queries and keys are stored.
    pub fn first_query_norm() -> String {
        format!("{LAYER}{}.weight", KeyLayout::Hf.layer().query_norm)
    }

    /// Every tensor of a head's file with its shape, the repeated embedding included.
    pub fn inventory(config: &ChameleonConfig, has_bias: bool) -> Vec<(String, Vec<i64>)> {
        let d = config.d_model;
        let mut all =
            vec![(EMBEDDING.to_owned(), vec![config.n_words, d]), ("fc.weight".into(), vec![d, 2 * d])];
        all.extend(has_bias.then(|| ("fc.bias".to_owned(), vec![d])));
        let layer = layer_inventory(config, KeyLayout::Hf);
        all.extend(layer.into_iter().map(|(name, shape)| (format!("{LAYER}{name}"), shape)));
        all
    }

    /// Reads or makes the parameters; `config` is the target's but for the shape of the norms, and `has_bias` says
    /// whether the joining projection has a bias. The embedding is left to the caller, who compares it with the
    /// target's.
    pub fn new(
        source: &mut dyn ParamSource,
        config: &ChameleonConfig,
        has_bias: bool,
    ) -> Result<Self, LoadError> {
        let d = config.d_model;
        let fc = source.param("fc.weight", &[d, 2 * d], Init::Normal((2.0 * d as f64).powf(-0.5)))?;
        let fc_bias = if has_bias { Some(source.param("fc.bias", &[d], Init::Constant(0.0))?) } else { None };
        let one_layer = ChameleonConfig { n_layers: 1, ..config.clone() };
        let layer = ChameleonLayer::new(&mut Scoped::new(source, LAYER), &one_layer, KeyLayout::Hf)?;
        Ok(Self { config: one_layer, fc, fc_bias, layer, upscale: None })
    }

    /// The same head, of which the embeddings are multiplied by `factor` if it is above 1: `embed_upscale` in
    /// LANTERN's training of Lumina-mGPT's heads, whose code takes no notice of less.
    pub fn with_upscale(mut self, factor: f64) -> Self {
        self.upscale = Some(factor).filter(|&factor| factor > 1.0);
        self
    }

    /// The name of the tensor that repeats the target's embedding, `[n_words, d]`.
    pub fn embedding_name() -> &'static str {
        EMBEDDING
    }

    fn join(&self, embeddings: &Tensor, features: &Tensor) -> Tensor {
        let joined = match self.upscale {
            None => Tensor::cat(&[embeddings, features], -1),
            Some(factor) => Tensor::cat(&[&(embeddings * factor), features], -1),
        };
        linear(&joined, &self.fc, self.fc_bias.as_ref())
    }
}

impl Head for ChameleonHead {
    fn layer_shape(&self) -> LayerShape {
        let &ChameleonConfig { d_model, n_heads, d_head, d_ffn, .. } = &self.config;
        LayerShape { d_model, n_heads, n_kv_heads: n_heads, d_head, d_ffn, activation: Activation::Silu }
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
        self.layer.finish(x, context)
    }

    fn logits(&self, target: &dyn Backbone, predicted: &Tensor) -> Tensor {
        target.logits(predicted)
    }
}

impl DraftHead for ChameleonHead {
    fn prepare(&mut self) {
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
        // Queries and keys are turned together.
        let joined = Mirrored::plain(&self.join(embeddings, features));
        self.layer.step(&joined, &turns.narrow(1, 0, 1), cache, mask).value()
    }
}
