//! A head for LLaMA-like targets with an embedding of its own, which need not be the target's: EAGLE-1 as LANTERN
//! publishes it (Jang et al., arXiv 2410.03355), and EAGLE-3 in the layout of its authors (section
//! 5.2), whose files may leave the embedding out.

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
        eagle3::{Eagle3Config, Eagle3Head},
    },
    llama::{
        layer::{LayerShape, Rotary},
        padded::PadView,
    },
    seam::{backbone::Backbone, kv::LayerCache},
};

/// The weights of a head.
pub struct LanternHead {
    head: Box<dyn DraftHead>,
    /// `[n_vocab, d]`
    tokens: Tensor,
    pad_view: PadView,
}

impl LanternHead {
    /// Name of the embedding in a file.
    pub const EMBEDDING: &'static str = "embed_tokens.weight";

    /// EAGLE-1. Reads or makes the parameters for a target of width `d_model` over `n_vocab` tokens: `embed_tokens`,
    /// `fc` and `layers.0.` under the names of `transformers`. `mixed` is the target's.
    ///
    /// # Errors
    /// As the source.
    pub fn new(
        source: &mut dyn ParamSource,
        config: &EagleConfig,
        mixed: Mixed,
        d_model: i64,
        n_vocab: i64,
    ) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let (mut head, tokens) = Self::parts(source, config, mixed, d_model, n_vocab)?;
        head.layer.prepare();
        Ok(Self { head: Box::new(head), tokens, pad_view: PadView::EarlierPads })
    }

    /// The same head with the graph of its parameters, for training; it is not ready to decode.
    ///
    /// # Errors
    /// As the source.
    pub fn with_graph(
        source: &mut dyn ParamSource,
        config: &EagleConfig,
        mixed: Mixed,
        d_model: i64,
        n_vocab: i64,
    ) -> Result<Self, LoadError> {
        let (head, tokens) = Self::parts(source, config, mixed, d_model, n_vocab)?;
        Ok(Self { head: Box::new(head), tokens, pad_view: PadView::EarlierPads })
    }

    fn parts(
        source: &mut dyn ParamSource,
        config: &EagleConfig,
        mixed: Mixed,
        d_model: i64,
        n_vocab: i64,
    ) -> Result<(EagleHead, Tensor), LoadError> {
        let tokens = source.param(Self::EMBEDDING, &[n_vocab, d_model], Init::Normal(0.02))?;
        let mut named = PublishedNames::new(source, LayerNames::HuggingFace, mixed, config.d_head);
        Ok((EagleHead::new(&mut named, config, d_model)?, tokens))
    }

    /// EAGLE-3, over a draft vocabulary that is the target's. Reads or makes the parameters for a target of width and
    /// vocabulary `(d_model, n_vocab)`: `fc`, `midlayer.`, `norm` and `lm_head` under their published names, and
    /// `embed_tokens` unless `tokens` (`[n_vocab, d]`, the target's) stand for it.
    ///
    /// # Errors
    /// As the source.
    pub fn eagle3(
        source: &mut dyn ParamSource,
        config: &Eagle3Config,
        mixed: Mixed,
        sizes: (i64, i64),
        tokens: Option<&Tensor>,
    ) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let (mut head, tokens) = Self::eagle3_parts(source, config, mixed, sizes, tokens)?;
        head.prepare();
        Ok(Self { head: Box::new(head), tokens, pad_view: PadView::EarlierPads })
    }

    /// The same EAGLE-3 head with the graph of its parameters, for training; it is not ready to decode.
    ///
    /// # Errors
    /// As the source.
    pub fn eagle3_with_graph(
        source: &mut dyn ParamSource,
        config: &Eagle3Config,
        mixed: Mixed,
        sizes: (i64, i64),
        tokens: &Tensor,
    ) -> Result<Self, LoadError> {
        let (head, tokens) = Self::eagle3_parts(source, config, mixed, sizes, Some(tokens))?;
        Ok(Self { head: Box::new(head), tokens, pad_view: PadView::EarlierPads })
    }

    fn eagle3_parts(
        source: &mut dyn ParamSource,
        config: &Eagle3Config,
        mixed: Mixed,
        (d_model, n_vocab): (i64, i64),
        tokens: Option<&Tensor>,
    ) -> Result<(Eagle3Head, Tensor), LoadError> {
        let tokens = match tokens {
            Some(tokens) => tokens.shallow_clone(),
            None => source.param(Self::EMBEDDING, &[n_vocab, d_model], Init::Normal(0.02))?,
        };
        let mut named = PublishedNames::new(source, LayerNames::HuggingFace, mixed, config.d_head);
        Ok((Eagle3Head::new(&mut named, config, d_model, n_vocab)?, tokens))
    }

    /// The same head, trained on features of pads that saw this; without it, on those of LANTERN's code.
    #[must_use]
    pub fn with_pad_view(self, pad_view: PadView) -> Self {
        Self { pad_view, ..self }
    }

    /// What the pads saw whose features it was trained on.
    #[must_use]
    pub fn pad_view(&self) -> PadView {
        self.pad_view
    }

    /// The tensors that a file must hold.
    ///
    /// # Errors
    /// None in practice: nothing is read.
    pub fn expected(config: &EagleConfig, d_model: i64, n_vocab: i64) -> Result<Vec<Expected>, LoadError> {
        inventory(|source| Self::new(source, config, Mixed::Halves, d_model, n_vocab).map(|_| ()))
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
