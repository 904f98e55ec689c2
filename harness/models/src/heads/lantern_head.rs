//! A head for LLaMA-like targets with an embedding of its own, which need not be the target's: EAGLE-1 as LANTERN
//! publishes it (Jang et al., arXiv 2410.03355), and EAGLE-3 in the layout of its authors with the embedding that files of
//! it may have.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::Tensor;

use crate::{
    files::{
        inventory::{Expected, inventory},
        published_names::{LayerNames, Mixed, PublishedNames},
    },
    heads::{
        draft_head::{DraftHead, Head, Opened},
        eagle::{EagleConfig, EagleHead},
        eagle3::Eagle3Config,
        eagle3_file,
    },
    llama::layer::{LayerShape, Rotary},
    seam::{backbone::Backbone, kv::LayerCache},
};

/// The weights of a head.
pub struct LanternHead {
    head: Box<dyn DraftHead>,
    /// `[n_vocab, d]`
    tokens: Tensor,
}

impl LanternHead {
    /// Name of the embedding in a file.
    pub const EMBEDDING: &'static str = "embed_tokens.weight";

    /// EAGLE-1. Reads or makes the parameters for a target of width and vocabulary `(d_model, n_vocab)`: `embed_tokens`,
    /// `fc` and `layers.0.` under the names of `transformers`. `mixed` is the target's.
    pub fn eagle1(
        source: &mut dyn ParamSource,
        config: &EagleConfig,
        mixed: Mixed,
        (d_model, n_vocab): (i64, i64),
    ) -> Result<Self, LoadError> {
        let tokens = source.param(Self::EMBEDDING, &[n_vocab, d_model], Init::Normal(0.02))?;
        let mut named = PublishedNames::new(source, LayerNames::HuggingFace, mixed, config.d_head);
        Ok(Self { head: Box::new(EagleHead::new(&mut named, config, d_model)?), tokens })
    }

    /// EAGLE-3, as [`eagle3_file::published`], with `embed_tokens`.
    pub fn eagle3(
        source: &mut dyn ParamSource,
        config: &Eagle3Config,
        mixed: Mixed,
        (d_model, n_vocab): (i64, i64),
    ) -> Result<Self, LoadError> {
        let tokens = source.param(Self::EMBEDDING, &[n_vocab, d_model], Init::Normal(0.02))?;
        let head = eagle3_file::published(source, config, mixed, (d_model, n_vocab))?;
        Ok(Self { head: Box::new(head), tokens })
    }

    /// The tensors that a file of an EAGLE-1 head must hold.
    pub fn expected(config: &EagleConfig, d_model: i64, n_vocab: i64) -> Result<Vec<Expected>, LoadError> {
        inventory(|source| Self::eagle1(source, config, Mixed::Halves, (d_model, n_vocab)).map(|_| ()))
    }

    /// Input vectors of the image tokens, `[n_vocab, d]`.
    pub fn token_table(&self) -> &Tensor {
        &self.tokens
    }
}

impl Head for LanternHead {
    fn layer_shape(&self) -> LayerShape {
        self.head.layer_shape()
    }

    fn taps(&self) -> &[usize] {
        self.head.taps()
    }

    fn embed(&self, _: &dyn Backbone, tokens: &Tensor, _: &Tensor) -> Tensor {
        self.tokens.index_select(0, tokens)
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

impl DraftHead for LanternHead {
    fn prepare(&mut self) {
        self.head.prepare();
    }

    fn step(
        &self,
        embeddings: &Tensor,
        features: &Tensor,
        turns: &Tensor,
        cache: &mut LayerCache,
        mask: Option<&Tensor>,
    ) -> Tensor {
        self.head.step(embeddings, features, turns, cache, mask)
    }
}
