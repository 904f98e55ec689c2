//! The family at toy width: a few thousand random weights behind the whole path from prompt to picture, so that it
//! runs anywhere in milliseconds. The pictures mean nothing.
//!
//! The tokenizer is a real one, of `weights/chameleon-toy`; its codes are out of order on purpose.

use std::{path::Path, rc::Rc};

use specimen_weights::LoadError;
use tch::{Device, Kind};

use super::{
    Chameleon, ChameleonConfig, ChameleonHead, ChameleonNetwork, KeyLayout, QkNormShape, Recipe, Vocabulary,
    Vqgan, VqganConfig,
};
use crate::files::{placed::Placed, random_weights::RandomWeights};

/// The tokenizer, made by the script beside it.
pub const TOKENIZER: &[u8] = include_bytes!("../../../weights/chameleon-toy/tokenizer.json");
/// What messages call it.
const TOKENIZER_NAME: &str = "chameleon-toy/tokenizer.json";

/// Sizes of the transformer.
#[must_use]
pub fn config() -> ChameleonConfig {
    ChameleonConfig {
        n_words: 352,
        d_model: 16,
        n_layers: 2,
        n_heads: 2,
        d_head: 8,
        d_ffn: 24,
        rope_base: 10_000.0,
        norm_eps: 1e-5,
        swin_norm: false,
        n_positions: 160,
        qk_norm: QkNormShape::Rows(2),
    }
}

/// Sizes of the picture decoder.
#[must_use]
pub fn vqgan() -> VqganConfig {
    VqganConfig { n_codes: 16, d_code: 4, d_latent: 8, channels: 32, widths: vec![1, 2], n_blocks: 1 }
}

/// The model of `recipe` with the same weights every time, the transformer in `kind`.
///
/// # Errors
/// None in practice: its parameters are made, not read.
pub fn open(recipe: Recipe, kind: Kind, device: Device) -> Result<Chameleon, LoadError> {
    let _guard = tch::no_grad_guard();
    let vocabulary = Vocabulary::parse(Path::new(TOKENIZER_NAME), TOKENIZER, recipe.form.n_codes)?;
    let mut random = RandomWeights::new(1);
    let mut source = Placed::new(&mut random, kind, device);
    let config = config();
    vocabulary.check_below(config.n_words)?;
    let words = recipe.image_words(&vocabulary)?;
    let network = ChameleonNetwork::new(&mut source, &config, KeyLayout::Hf, &words)?;
    let head = ChameleonHead::new(&mut source, &config, true)?;
    let vqgan = Vqgan::new(&mut Placed::new(&mut random, Kind::Float, device), &recipe.vqgan)?;
    let (network, head) = (Rc::new(network), Ok(head));
    Ok(Chameleon { recipe, network, vocabulary, vqgan, head, weights: Vec::new(), warnings: Vec::new() })
}
