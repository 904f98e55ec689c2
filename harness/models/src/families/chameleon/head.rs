//! The EAGLE-1 head of a Chameleon (Li et al., arXiv 2401.15077; layout of LANTERN, arXiv 2410.03355): a
//! projection that joins embedding and feature, and one Chameleon layer with its input norm. Embedding and output
//! head are the target's.
//!
//! The head has seen whole sequences, prompt included. Slot `s` consumes word `s + 1` and the feature of slot `s`; the
//! slots before the image are run once an image, and their keys and values stand before those of the image.

use std::rc::Rc;

use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::{Kind, Tensor};

use super::{
    ChameleonConfig, ChameleonImage, KeyLayout,
    keys::layer_inventory,
    layer::{ChameleonLayer, attend},
};
use crate::{
    heads::draft_head::{DraftHead, Head, Opened},
    llama::layer::{LayerShape, Rotary},
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
    #[must_use]
    pub fn first_query_norm() -> String {
        format!("{LAYER}{}.weight", KeyLayout::Hf.layer().query_norm)
    }

    /// Every tensor of a head's file with its shape, the repeated embedding included.
    #[must_use]
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
    ///
    /// # Errors
    /// As the source.
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
    #[must_use]
    pub fn with_upscale(mut self, factor: f64) -> Self {
        self.upscale = Some(factor).filter(|&factor| factor > 1.0);
        self
    }

    /// The name of the tensor that repeats the target's embedding, `[n_words, d]`.
    #[must_use]
    pub fn embedding_name() -> &'static str {
        EMBEDDING
    }

    fn join(&self, embeddings: &Tensor, features: &Tensor) -> Tensor {
        let joined = match self.upscale {
            None => Tensor::cat(&[embeddings, features], -1),
            Some(factor) => Tensor::cat(&[&(embeddings * factor), features], -1),
        };
        joined.linear(&self.fc, self.fc_bias.as_ref())
    }
}

/// A head at work on one image.
pub struct ImageHead {
    head: Rc<ChameleonHead>,
    image: Rc<ChameleonImage>,
}

impl ImageHead {
    /// `head` on `image`.
    #[must_use]
    pub fn new(head: Rc<ChameleonHead>, image: Rc<ChameleonImage>) -> Self {
        Self { head, image }
    }

    /// Slots before those of the image: the last prefix slot's feature goes with the first image token.
    fn n_prompt(&self) -> i64 {
        self.image.n_prefix() - 1
    }

    /// Keys and values of the slots before the image, `[b, 2 * n_heads, n_prompt, d_head]`, keys first.
    fn run_prompt(&self) -> Tensor {
        let (head, image, n) = (&self.head, &self.image, self.n_prompt());
        let embeddings = image.network().embed_words(&image.words().narrow(1, 1, n));
        let x = head.join(&embeddings, &image.prefix_features().narrow(1, 0, n));
        // A slot stands where the token it consumes stands, as in the image.
        let positions = Tensor::arange_start(1, n + 1, (Kind::Int64, x.device()));
        head.layer.heads(&x, &image.network().turns_at(&positions)).1
    }
}

impl Head for ChameleonHead {
    fn layer_shape(&self) -> LayerShape {
        let &ChameleonConfig { d_model, n_heads, d_head, d_ffn, .. } = &self.config;
        LayerShape { d_model, n_heads, d_head, d_ffn }
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

impl Head for ImageHead {
    fn layer_shape(&self) -> LayerShape {
        self.head.layer_shape()
    }

    fn taps(&self) -> &[usize] {
        self.head.taps()
    }

    fn admit(&self, features: &Tensor) -> Tensor {
        self.head.admit(features)
    }

    fn open(&self, embeddings: &Tensor, features: &Tensor, rotary: &Rotary) -> Opened {
        self.head.open(embeddings, features, rotary)
    }

    fn close(&self, x: &Tensor, context: &Tensor) -> Tensor {
        self.head.close(x, context)
    }

    fn logits(&self, target: &dyn Backbone, predicted: &Tensor) -> Tensor {
        self.head.logits(target, predicted)
    }
}

impl DraftHead for ImageHead {
    fn n_front(&self) -> i64 {
        self.n_prompt()
    }

    fn step(
        &self,
        embeddings: &Tensor,
        features: &Tensor,
        turns: &Tensor,
        cache: &mut LayerCache,
        mask: Option<&Tensor>,
    ) -> Tensor {
        let (kind, n) = (cache.kind(), embeddings.size()[1]);
        if !cache.is_front_filled() {
            cache.fill_front(&self.run_prompt());
        }
        let x = self.head.join(embeddings, features);
        let (q, kv) = self.head.layer.heads(&x, &turns.narrow(1, 0, 1));
        let (k, v) = cache.append(&kv);
        let mask = self.image.padding().hide(mask, n, k.size()[2] - n, kind, &x);
        self.head.layer.finish(&x, &attend(&q.to_kind(kind), &k, &v, mask.as_ref()))
    }
}
