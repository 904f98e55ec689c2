//! Emu3 with weights from a seed, at toy width or of published sizes, heads included: everything from the prompt to the pixels
//! is there, and the pictures mean nothing. The tokenizer is of the same two files as the published one, over bytes and a few
//! syllables, with as many codes as the model has.

use specimen_catalog::Entry;
use specimen_weights::LoadError;
use tch::{Device, Kind};

use super::{
    Emu3, Emu3Config, Emu3Names, Emu3Prompt, Emu3Vq, Emu3VqConfig, VqNames,
    prompt::{code_name, words_of_tokens},
    tiktoken,
};
use crate::{
    families::text_tokenizer::TextTokenizer,
    files::{placed::Placed, random_weights::RandomWeights},
    heads::head_sources::OpenedHeads,
    llama::word_llama::WordLlama,
};

/// The words of the toy's tokenizer.
pub static RANKS: &[u8] = include_bytes!("../../../weights/emu3-toy/emu3.tiktoken");

impl Emu3 {
    /// `model` of the catalog with weights that are made, the same every time, in `kind` on `device`; at toy width with
    /// `narrow` codes along an edge of the picture, where that is given.
    pub fn made(
        model: &'static Entry,
        narrow: Option<i64>,
        kind: Kind,
        device: Device,
    ) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let published = Emu3Config::of(model);
        let config = narrow.map_or(published, |side| narrowed(published, side));
        let is_toy = narrow.is_some() || model.files.is_empty();
        let text = toy_tokenizer(config.n_codes)?;
        let tokens = words_of_tokens(&text, &config)?;
        let mut random = RandomWeights::of(is_toy, 5);
        let mut placed = Placed::new(&mut random, kind, device);
        let network = WordLlama::new(&mut placed, &config.shape(Emu3Names::Original), &tokens)?;
        let vq = if is_toy { Emu3VqConfig::toy(config.n_codes) } else { Emu3VqConfig::PUBLISHED };
        let mut placed = Placed::new(&mut random, Kind::Float, device);
        let vq = Emu3Vq::new(&mut placed, &vq, VqNames::ORIGINAL)?;
        let describe = config.headed().describe(network.backbone().clone());
        let heads = OpenedHeads::made(&describe, is_toy, 6, (kind, device))?;
        let prompt = Emu3Prompt::new(&model.name, config, text)?;
        let (weights, warnings) = (Vec::new(), Vec::new());
        Ok(Self { name: &model.name, config, network, prompt, vq, heads, weights, warnings })
    }
}

/// The toy's tokenizer with words for `n_codes` codes.
pub fn toy_tokenizer(n_codes: i64) -> Result<TextTokenizer, LoadError> {
    tiktoken::of_texts("emu3-toy/emu3.tiktoken".as_ref(), RANKS, &vision_tokens(n_codes))
}

/// `emu3_vision_tokens.txt` with `n_codes` codes.
pub fn vision_tokens(n_codes: i64) -> String {
    let marks = ["<|image token|>", "<|image start|>", "<|image end|>"].map(str::to_owned).into_iter();
    marks.chain((0..n_codes).map(code_name)).map(|name| name + "\n").collect()
}

/// The network at toy width: few layers, of the same codes, with the words of the toy's tokenizer, and `side` codes along an
/// edge.
fn narrowed(published: Emu3Config, side: i64) -> Emu3Config {
    Emu3Config {
        n_layers: 2,
        n_heads: 4,
        n_kv_heads: 2,
        d_model: 32,
        d_ffn: 48,
        n_words: published.n_codes + 512,
        rows: side,
        columns: side,
        ..published
    }
}
