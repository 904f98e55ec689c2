//! The family with weights from a seed behind the whole path from prompt to picture, whose pictures mean nothing: at toy
//! width, so that it runs anywhere in milliseconds, or of published sizes, so that its cost can be measured.
//!
//! The tokenizer is a real one, of `weights/chameleon-toy`; its codes are out of order on purpose. For published sizes
//! it gets the words that it lacks.

use std::{path::Path, rc::Rc};

use specimen_catalog::Entry;
use specimen_weights::LoadError;
use tch::{Device, Kind};

use super::{
    Chameleon, ChameleonConfig, ChameleonNetwork, KeyLayout, QkNormShape, Recipe, Vocabulary, Vqgan,
    VqganConfig, heads, names, vocabulary::code_name,
};
use crate::{
    files::{placed::Placed, random_weights::RandomWeights},
    heads::{described_head::HeadKind, head_file::HeadFile, head_sources::OpenedHeads},
};

/// The tokenizer, made by the script beside it.
pub const TOKENIZER: &[u8] = include_bytes!("../../../weights/chameleon-toy/tokenizer.json");
/// What messages call it.
const TOKENIZER_NAME: &str = "chameleon-toy/tokenizer.json";

/// Sizes of the transformer.
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
pub fn vqgan() -> VqganConfig {
    VqganConfig { n_codes: 16, d_code: 4, d_latent: 8, channels: 32, widths: vec![1, 2], n_blocks: 1 }
}

/// `model` of the catalog with weights that are made, the same every time, the transformer in `kind`; with `is_narrow`, at
/// toy width for a [`narrow_recipe`].
pub fn made(
    model: &'static Entry,
    recipe: Recipe,
    is_narrow: bool,
    (kind, device): (Kind, Device),
) -> Result<Chameleon, LoadError> {
    let is_toy = model.files.is_empty();
    let config = match (is_toy, is_narrow) {
        (true, _) => config(),
        (false, true) => ChameleonConfig {
            n_words: ChameleonConfig::CHAMELEON_7B.n_words,
            n_positions: ChameleonConfig::CHAMELEON_7B.n_positions,
            ..config()
        },
        (false, false) => ChameleonConfig::CHAMELEON_7B,
    };
    let is_wide = is_toy || is_narrow;
    let tokenizer = if is_toy { TOKENIZER.to_vec() } else { tokenizer_of(&recipe) };
    assembled(recipe, &config, &tokenizer, is_wide, (kind, device))
}

/// The recipe of `model` with as many codes, and pictures of `side` by `side` of them that a small decoder paints.
pub fn narrow_recipe(model: &'static Entry, side: i64) -> Recipe {
    let n_codes = VqganConfig::chameleon().n_codes;
    let mut recipe = Recipe::of(model, VqganConfig { n_codes, ..vqgan() });
    (recipe.form.rows, recipe.form.columns) = (side as usize, side as usize);
    recipe
}

/// The toy of `recipe`.
pub fn open(recipe: Recipe, kind: Kind, device: Device) -> Result<Chameleon, LoadError> {
    assembled(recipe, &config(), TOKENIZER, true, (kind, device))
}

fn assembled(
    recipe: Recipe,
    config: &ChameleonConfig,
    tokenizer: &[u8],
    is_wide: bool,
    (kind, device): (Kind, Device),
) -> Result<Chameleon, LoadError> {
    let _guard = tch::no_grad_guard();
    let vocabulary = Vocabulary::parse(Path::new(TOKENIZER_NAME), tokenizer, recipe.form.n_codes)?;
    let mut random = RandomWeights::of(is_wide, 1);
    let mut source = Placed::new(&mut random, kind, device);
    vocabulary.check_below(config.n_words)?;
    let words = recipe.image_words(&vocabulary)?;
    let network = Rc::new(ChameleonNetwork::new(&mut source, config, KeyLayout::Hf, &words)?);
    let describe = heads::describe(network.clone(), kind);
    let described = |of_kind| {
        let described = describe(of_kind, &mut HeadFile::tapping(None));
        described.expect("a Chameleon has both kinds of heads")
    };
    let mut heads = OpenedHeads::default();
    heads.heads.add(HeadKind::Eagle1.drafter(None), Ok(described(HeadKind::Eagle1).made(&mut source)?));
    // From a seed of its own, so that the picture decoder stays what it was before there was an EAGLE-3 head.
    let mut further = RandomWeights::of(is_wide, 3);
    let eagle3 = described(HeadKind::Eagle3).made(&mut Placed::new(&mut further, kind, device))?;
    heads.heads.add(HeadKind::Eagle3.drafter(None), Ok(eagle3));
    let vqgan = Vqgan::new(&mut Placed::new(&mut random, Kind::Float, device), &recipe.vqgan)?;
    Ok(Chameleon { recipe, network, vocabulary, vqgan, stored: kind, heads, weights: Vec::new() })
}

/// The toy's tokenizer with the words of all codes of `recipe` and of its sizes.
fn tokenizer_of(recipe: &Recipe) -> Vec<u8> {
    let mut file: serde_json::Value = serde_json::from_slice(TOKENIZER).expect("it is a committed file");
    let words = file["model"]["vocab"].as_object_mut().expect("a tokenizer has a vocabulary");
    let sizes = [recipe.form.rows, recipe.form.columns].map(|n| names::size(n / 2));
    // Ids from here on are free: the toy has 352 words.
    let mut free = config().n_words;
    for name in (0..recipe.form.n_codes).map(code_name).chain(sizes) {
        if !words.contains_key(&name) {
            words.insert(name, free.into());
            free += 1;
        }
    }
    file.to_string().into_bytes()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn a_made_model_of_published_size_has_every_word_of_its_images_and_prompts() {
        for name in ["lumina-mgpt-7b-768", "lumina-mgpt-7b-512", "anole-7b"] {
            let model = specimen_catalog::entry::entry(name).unwrap();
            let recipe = Recipe::of(model, VqganConfig::chameleon());
            let n_codes = recipe.form.n_codes;
            let file = tokenizer_of(&recipe);
            let vocabulary = Vocabulary::parse(Path::new(name), &file, n_codes).unwrap();
            vocabulary.check_below(ChameleonConfig::CHAMELEON_7B.n_words).unwrap();
            let words = recipe.image_words(&vocabulary).unwrap();
            assert_eq!(words.codes.len(), 8192, "{name}");
            recipe.prompt_rows(&vocabulary, "a", true).unwrap().unwrap();
        }
    }
}
