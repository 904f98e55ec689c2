//! A LLaMA stack over image tokens, as LlamaGen, Janus and Emu3 have it: a table of input vectors, decoder layers, a norm
//! and a head. What comes before the image is the model's own.

use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::{Kind, Tensor};

use crate::{
    heads::eagle3_file::output_starts,
    llama::{
        layer::{Layer, LayerShape, Rotary, Turns},
        linear::{held, linear},
        mirror::Mirrored,
    },
    seam::{
        backbone::{Backbone, BackboneShape, Tapped, with_undrawn},
        kv::KvCache,
    },
};

/// Sizes of a stack.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StackShape {
    /// Each layer's.
    pub layer: LayerShape,
    /// Layers.
    pub n_layers: i64,
    /// Epsilon of the norms.
    pub norm_eps: f64,
}

/// Decoder layers and the norm behind them.
pub struct Stack {
    shape: StackShape,
    layers: Vec<Layer>,
    /// `[d]`
    norm: Tensor,
}

impl Stack {
    /// Reads or makes the parameters: `layers.<i>.` under the names of [`Layer`], and `norm.weight`.
    pub fn new(source: &mut dyn ParamSource, shape: StackShape) -> Result<Self, LoadError> {
        let StackShape { layer, n_layers, norm_eps } = shape;
        let layers = (0..n_layers)
            .map(|i| {
                let mut scoped = Scoped::new(source, format!("layers.{i}."));
                Layer::new(&mut scoped, layer, true, n_layers, norm_eps)
            })
            .collect::<Result<_, _>>()?;
        let norm = source.param("norm.weight", &[layer.d_model], Init::Constant(1.0))?;
        Ok(Self { shape, layers, norm })
    }

    /// The sizes it was built with.
    pub fn shape(&self) -> StackShape {
        self.shape
    }

    /// Builds what decoding needs.
    pub fn prepare(&mut self) {
        self.layers.iter_mut().for_each(Layer::prepare);
    }

    /// As [`Backbone::forward_tapped`]. `turns`: as from [`Turns::at`].
    pub fn forward_tapped(
        &self,
        x: &Tensor,
        turns: &Tensor,
        cache: &mut KvCache,
        mask: Option<&Tensor>,
        layers: &[usize],
    ) -> Tapped {
        let mut x = Mirrored::new(x);
        let mask = self.shape.layer.mask_of_heads(mask);
        let mut inner = Vec::new();
        for (at, (layer, cache)) in self.layers.iter().zip(cache.layers()).enumerate() {
            inner.extend(layers.iter().filter(|&&tapped| tapped == at).map(|_| x.value()));
            x = layer.step(&x, turns, cache, mask.as_ref());
        }
        let n_layers = self.layers.len();
        assert_eq!(inner.len(), layers.len(), "layers {layers:?} are tapped, in a network of {n_layers}");
        Tapped { features: x.normed(&self.norm, self.shape.norm_eps), inner }
    }
}

/// From features to logits.
pub enum OutputHead {
    /// One matrix, `[n_vocab, d]`.
    Linear(Tensor),
    /// Two layers with biases and GELU (erf) between them: `[d, d]`, `[d]`, `[n_vocab, d]`, `[n_vocab]`.
    Mlp([Tensor; 4]),
}

impl OutputHead {
    fn held(self) -> Self {
        match self {
            Self::Linear(weight) => Self::Linear(held(&weight)),
            Self::Mlp([hidden, hidden_bias, out, out_bias]) => {
                Self::Mlp([held(&hidden), hidden_bias, held(&out), out_bias])
            }
        }
    }

    /// Logits in the kind of the features. `features`: `[.., d]`; returns `[.., n_vocab]`.
    fn forward(&self, features: &Tensor) -> Tensor {
        match self {
            Self::Linear(weight) => linear(features, weight, None),
            Self::Mlp([hidden, hidden_bias, out, out_bias]) => {
                linear(&linear(features, hidden, Some(hidden_bias)).gelu("none"), out, Some(out_bias))
            }
        }
    }
}

/// The network over image tokens.
pub struct ImageLlama {
    stack: Stack,
    /// Input vectors of the image tokens, `[n_vocab, d]`; those behind the rows of the head are of structural tokens.
    tokens: Tensor,
    head: OutputHead,
    turns: Turns,
    n_positions: i64,
}

impl ImageLlama {
    /// Puts a prepared stack between its ends. `tokens`: `[n_vocab, d]`; a head with fewer rows is that of the picture codes,
    /// which the structural tokens follow. `rotary`: one row a position, on any device.
    pub fn new(mut stack: Stack, tokens: Tensor, head: OutputHead, rotary: &Rotary) -> Self {
        stack.prepare();
        let head = head.held();
        let n_positions = rotary.cos.size()[0];
        let turns = Turns::new(&rotary.to_device(tokens.device()));
        Self { stack, tokens, head, turns, n_positions }
    }

    /// The norm before the output head and the head itself, under the names of an EAGLE-3 head, which may start with them;
    /// of a head of two layers nothing.
    pub fn output_starts(&self) -> Vec<(String, Tensor)> {
        match &self.head {
            OutputHead::Linear(weight) => output_starts(weight, &self.stack.norm),
            OutputHead::Mlp(_) => Vec::new(),
        }
    }

    /// Input vectors of the image tokens, `[n_vocab, d]`.
    pub fn token_table(&self) -> &Tensor {
        &self.tokens
    }
}

impl Backbone for ImageLlama {
    fn shape(&self) -> BackboneShape {
        let StackShape { layer, n_layers, .. } = self.stack.shape;
        BackboneShape {
            d_model: layer.d_model,
            n_layers,
            n_heads: layer.n_kv_heads,
            d_head: layer.d_head,
            n_vocab: self.tokens.size()[0],
            n_positions: self.n_positions,
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
        let turns = self.turns.at(positions, self.stack.shape.layer.turned_and_still());
        self.stack.forward_tapped(x, &turns, cache, mask, layers)
    }

    fn logits(&self, features: &Tensor) -> Tensor {
        with_undrawn(self.head.forward(features).to_kind(Kind::Float), self.tokens.size()[0])
    }

    fn turns(&self) -> Option<&Turns> {
        Some(&self.turns)
    }
}
