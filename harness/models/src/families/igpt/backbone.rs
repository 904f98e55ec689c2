//! The Image-GPT transformer behind the seam. A learned start vector takes slot 0, pixel `i` is fed in slot
//! `i + 1` and the last pixel never is; slot `i` has row `i` of the position table and predicts pixel `i`.

use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::{Kind, Tensor};

use super::{
    IgptConfig,
    block::{Block, LayerNorm},
};
use crate::{
    llama::{
        layer::Turns,
        linear::{held, linear},
    },
    seam::{
        backbone::{Backbone, BackboneShape, Tapped},
        kv::KvCache,
    },
};

/// The transformer of Image-GPT: its weights and sizes.
pub struct IgptBackbone {
    config: IgptConfig,
    /// `[n_vocab, d]`
    tokens: Tensor,
    /// `[n_tokens, d]`
    positions: Tensor,
    /// `[d]`
    start: Tensor,
    blocks: Vec<Block>,
    norm: LayerNorm,
    /// `[n_vocab, d]`, not tied to `tokens`.
    head: Tensor,
}

impl IgptBackbone {
    /// Reads or makes the parameters under the names of the published state dict, `gpt.` included.
    pub fn new(source: &mut dyn ParamSource, config: &IgptConfig) -> Result<Self, LoadError> {
        let d = config.d_model;
        let mut source = Scoped::new(source, "gpt.");
        let unit = Init::Normal(0.5);
        let tokens = source.param("token_embeddings.weight", &[config.n_vocab, d], unit)?;
        let positions = source.param("position_embeddings.weight", &[config.n_tokens(), d], unit)?;
        let start = source.param("sos", &[d], unit)?;
        let blocks = (0..config.n_layers)
            .map(|i| Block::new(&mut Scoped::new(&mut source, format!("layers.{i}.")), config))
            .collect::<Result<_, _>>()?;
        let norm = LayerNorm::new(&mut source, "ln_f", d)?;
        let head =
            held(&source.param("head.weight", &[config.n_vocab, d], Init::Normal((d as f64).powf(-0.5)))?);
        Ok(Self { config: *config, tokens, positions, start, blocks, norm, head })
    }

    /// The sizes it was built with.
    pub fn config(&self) -> &IgptConfig {
        &self.config
    }

    /// Input embeddings of the grey levels, `[n_vocab, d]`.
    pub fn token_table(&self) -> &Tensor {
        &self.tokens
    }

    /// The one slot before the image, `[1, 1, d]`.
    pub fn prefix(&self) -> Tensor {
        let _guard = tch::no_grad_guard();
        (&self.start + self.positions.get(0)).view([1, 1, self.config.d_model])
    }
}

impl Backbone for IgptBackbone {
    fn shape(&self) -> BackboneShape {
        BackboneShape {
            d_model: self.config.d_model,
            n_layers: self.config.n_layers,
            n_heads: self.config.n_heads,
            d_head: self.config.d_head(),
            n_vocab: self.config.n_vocab,
            n_positions: self.config.n_tokens(),
        }
    }

    fn kind(&self) -> Kind {
        self.tokens.kind()
    }

    fn embed(&self, tokens: &Tensor, positions: &Tensor) -> Tensor {
        self.tokens.index_select(0, tokens) + self.positions.index_select(0, positions)
    }

    fn forward_tapped(
        &self,
        x: &Tensor,
        _: &Tensor,
        cache: &mut KvCache,
        mask: Option<&Tensor>,
        layers: &[usize],
    ) -> Tapped {
        let mut x = x.shallow_clone();
        let mut inner = Vec::new();
        for (at, (block, cache)) in self.blocks.iter().zip(cache.layers()).enumerate() {
            inner.extend(layers.iter().filter(|&&tapped| tapped == at).map(|_| x.shallow_clone()));
            x = block.step(&x, cache, mask);
        }
        assert_eq!(
            inner.len(),
            layers.len(),
            "layers {layers:?} are tapped, in a network of {}",
            self.blocks.len()
        );
        Tapped { features: self.norm.forward(&x), inner }
    }

    fn logits(&self, features: &Tensor) -> Tensor {
        linear(features, &self.head, None).to_kind(Kind::Float)
    }

    fn turns(&self) -> Option<&Turns> {
        None
    }
}
