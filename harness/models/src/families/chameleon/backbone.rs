//! The Chameleon transformer (Chameleon Team, arXiv 2405.09818), and one image's view of it.
//!
//! The network speaks words: text and image tokens of one vocabulary. The decoder speaks tokens: the codes of the
//! picture, by their place in the codebook, and behind them the structural tokens of the image grammar. Everything
//! else is masked wherever a token is drawn, so the output head keeps the rows of the codes alone, which is exact:
//! a twelfth of the head's weights and of its work is left.

use std::rc::Rc;

use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::{Kind, Tensor};

use super::{ChameleonConfig, KeyLayout, layer::ChameleonLayer, layer::rotary_1d};
use crate::{
    heads::eagle3_file::output_starts,
    llama::{
        layer::Turns,
        linear::{held, linear},
        mirror::Mirrored,
        padded::Padding,
    },
    seam::{
        backbone::{Backbone, BackboneShape, Tapped, with_undrawn},
        kv::KvCache,
    },
};

/// The words that are tokens of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageWords {
    /// Word of every code, by its place in the codebook.
    pub codes: Vec<i64>,
    /// Words of the structural tokens, which follow the codes.
    pub structural: Vec<i64>,
}

/// The weights of the transformer.
pub struct ChameleonNetwork {
    config: ChameleonConfig,
    /// `[n_words, d]`
    words: Tensor,
    layers: Vec<ChameleonLayer>,
    /// `[d]`
    norm: Tensor,
    /// `[n_codes, d]`
    head: Tensor,
    /// Word of every token, `[n_vocab]`, i64.
    token_words: Tensor,
    turns: Turns,
}

impl ChameleonNetwork {
    /// Reads or makes the parameters.
    ///
    /// # Panics
    /// If a word of `image` is outside the vocabulary, or the rows of the norms do not divide the heads.
    pub fn new(
        source: &mut dyn ParamSource,
        config: &ChameleonConfig,
        layout: KeyLayout,
        image: &ImageWords,
    ) -> Result<Self, LoadError> {
        let &ChameleonConfig { n_words, d_model, n_heads, n_layers, .. } = config;
        let tokens = [image.codes.as_slice(), &image.structural].concat();
        assert!(tokens.iter().all(|word| (0..n_words).contains(word)), "tokens are words");
        assert_eq!(n_heads % config.qk_norm.n_rows(), 0, "rows of norms divide the heads");
        let words = source.param(layout.embedding(), &[n_words, d_model], Init::Normal(0.5))?;
        let layers = (0..n_layers)
            .map(|i| {
                let mut scoped = Scoped::new(source, layout.layer_prefix(i));
                ChameleonLayer::new(&mut scoped, config, layout)
            })
            .collect::<Result<_, _>>()?;
        let norm = source.param(layout.norm(), &[d_model], Init::Constant(1.0))?;
        let head = held(&source.param(layout.head(), &[n_words, d_model], Init::Normal(0.02))?);
        let device = words.device();
        let codes = Tensor::from_slice(&image.codes).to_device(device);
        let rotary = rotary_1d(config.n_positions, config.d_head, config.rope_base).to_device(device);
        Ok(Self {
            config: config.clone(),
            layers,
            norm,
            head: head.index_select(0, &codes),
            token_words: Tensor::from_slice(&tokens).to_device(device),
            turns: Turns::new(&rotary),
            words,
        })
    }

    /// The sizes it was built with.
    pub fn config(&self) -> &ChameleonConfig {
        &self.config
    }

    /// Input vectors of words. `words`: i64 of any shape; returns `[.., d]`.
    pub fn embed_words(&self, words: &Tensor) -> Tensor {
        let mut size = words.size();
        size.push(self.config.d_model);
        self.words.index_select(0, &words.reshape([-1])).view(size.as_slice())
    }

    /// Input embeddings of all words, `[n_words, d]`.
    pub(super) fn word_table(&self) -> &Tensor {
        &self.words
    }

    /// Words of the picture codes, by their place in the codebook, `[n_codes]`, i64.
    pub(super) fn code_words(&self) -> Tensor {
        self.token_words.narrow(0, 0, self.head.size()[0])
    }

    /// The norm before the output head and its rows for picture codes, under the names of an EAGLE-3 head, which may start
    /// with them.
    pub(super) fn output_starts(&self) -> Vec<(String, Tensor)> {
        output_starts(&self.head, &self.norm)
    }

    /// Input vectors of all tokens, `[n_vocab, d]`.
    pub fn token_table(&self) -> Tensor {
        self.words.index_select(0, &self.token_words)
    }

    /// Turns of the rows `positions` (`[n]` or `[b, n]`, i64), for queries and keys alike: `[n, 1, d_head / 2]` or
    /// `[b, n, 1, d_head / 2]`, complex.
    pub(super) fn turns_at(&self, positions: &Tensor) -> Tensor {
        self.turns.at(positions, [1, 0])
    }
}

/// The network as one image sees it: with the padding of its shorter guidance row.
///
/// A padded row keeps the positions of the other one. Rotary attention depends on distances alone, and nobody
/// sees the padding, so that is the same network as one whose positions restart behind the padding.
pub struct ChameleonImage {
    network: Rc<ChameleonNetwork>,
    padding: Padding,
}

impl ChameleonImage {
    /// The view of an image behind a prefix whose rows are padded as `padding` says.
    pub fn new(network: Rc<ChameleonNetwork>, padding: Padding) -> Self {
        Self { network, padding }
    }

    /// The network that is run for each step.
    pub fn network(&self) -> &Rc<ChameleonNetwork> {
        &self.network
    }
}

impl Backbone for ChameleonImage {
    fn shape(&self) -> BackboneShape {
        let config = &self.network.config;
        BackboneShape {
            d_model: config.d_model,
            n_layers: config.n_layers,
            n_heads: config.n_heads,
            d_head: config.d_head,
            n_vocab: self.network.token_words.size()[0],
            n_positions: config.n_positions,
        }
    }

    fn kind(&self) -> Kind {
        self.network.words.kind()
    }

    fn embed(&self, tokens: &Tensor, _: &Tensor) -> Tensor {
        self.network.embed_words(&self.network.token_words.index_select(0, tokens))
    }

    fn forward_tapped(
        &self,
        x: &Tensor,
        positions: &Tensor,
        cache: &mut KvCache,
        mask: Option<&Tensor>,
        layers: &[usize],
    ) -> Tapped {
        let network = &self.network;
        let mask = self.padding.hide_before(mask, x, cache);
        let turns = network.turns_at(positions);
        let mut x = Mirrored::plain(x);
        let mut inner = Vec::new();
        for (at, (layer, cache)) in network.layers.iter().zip(cache.layers()).enumerate() {
            inner.extend(layers.iter().filter(|&&tapped| tapped == at).map(|_| x.value()));
            x = layer.step(&x, &turns, cache, mask.as_ref());
        }
        let n_layers = network.layers.len();
        assert_eq!(inner.len(), layers.len(), "layers {layers:?} are tapped, in a network of {n_layers}");
        Tapped { features: x.normed(&network.norm, network.config.norm_eps), inner }
    }

    fn logits(&self, features: &Tensor) -> Tensor {
        let codes = linear(features, &self.network.head, None).to_kind(Kind::Float);
        with_undrawn(codes, self.network.token_words.size()[0])
    }

    fn turns(&self) -> Option<&Turns> {
        Some(&self.network.turns)
    }

    fn pads(&self) -> &[i64] {
        self.padding.n_pads()
    }
}
