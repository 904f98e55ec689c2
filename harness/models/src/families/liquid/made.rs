//! Liquid with weights from a seed, at toy width or of published sizes, heads included: everything from the prompt to the pixels
//! is there, and the pictures mean nothing. The tokenizer is of the same kind as Gemma's, over bytes and a few syllables.

use specimen_catalog::Entry;
use specimen_weights::LoadError;
use tch::{Device, Kind};

use super::{Liquid, LiquidConfig, LiquidPrompt};
use crate::{
    families::{
        chameleon::{Vqgan, VqganConfig, made},
        text_tokenizer::TextTokenizer,
    },
    files::{placed::Placed, random_weights::RandomWeights},
    heads::head_sources::OpenedHeads,
    llama::word_llama::WordLlama,
};

/// The toy's tokenizer.
pub static TOKENIZER: &[u8] = include_bytes!("../../../weights/toy/liquid-tokenizer.json");

impl Liquid {
    /// `model` of the catalog with weights that are made, the same every time, in `kind` on `device`; at toy width with
    /// `narrow` codes along an edge of the picture, where that is given.
    pub fn made(
        model: &'static Entry,
        narrow: Option<i64>,
        kind: Kind,
        device: Device,
    ) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let published = LiquidConfig::of(model);
        let is_toy = narrow.is_some() || model.files.is_empty();
        let text = TextTokenizer::of_bytes("toy/liquid-tokenizer.json".as_ref(), TOKENIZER)?;
        let config = narrow.map_or(published, |side| narrowed(published, text.n_words(), side));
        // Of published sizes most words are none of the tokenizer's.
        let codes: Vec<i64> = (config.n_words - config.n_vocab..config.n_words).collect();
        let mut random = RandomWeights::of(is_toy, 8);
        let network = WordLlama::new(&mut Placed::new(&mut random, kind, device), &config.shape(), &codes)?;
        let sizes = if is_toy { made::vqgan() } else { VqganConfig::chameleon() };
        let sizes = VqganConfig { n_codes: config.n_vocab, ..sizes };
        let vqgan = Vqgan::new(&mut Placed::new(&mut random, Kind::Float, device), &sizes)?;
        let describe = config.headed().describe(network.backbone().clone());
        let heads = OpenedHeads::made(&describe, is_toy, 9, (kind, device))?;
        let prompt = LiquidPrompt::new(&model.name, &config, text)?;
        Ok(Self { name: &model.name, config, network, prompt, vqgan, heads, weights: Vec::new() })
    }
}

/// The network at toy width: few layers, of the same codes, behind the `n_words` words of the toy's tokenizer, and `side` codes
/// along an edge.
fn narrowed(published: LiquidConfig, n_words: i64, side: i64) -> LiquidConfig {
    LiquidConfig {
        n_layers: 2,
        n_heads: 2,
        d_model: 32,
        d_head: 24,
        d_ffn: 48,
        n_words: n_words + published.n_vocab,
        grid: side,
        ..published
    }
}
