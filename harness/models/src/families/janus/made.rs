//! Janus-Pro with weights from a seed, at toy width or of published sizes, heads included: everything from the
//! prompt to the pixels is there, and the pictures mean nothing.

use specimen_catalog::Entry;
use specimen_weights::LoadError;
use tch::{Device, Kind};

use super::{Janus, JanusConfig, JanusNames, JanusNetwork, JanusPrompt};
use crate::{
    families::text_tokenizer::TextTokenizer,
    files::{placed::Placed, random_weights::RandomWeights},
    heads::head_sources::OpenedHeads,
    picture::vq16::{Vq16, Vq16Config, Vq16Names},
};

/// A tokenizer of the same kind as Janus', over bytes.
static TEXT_TOKENIZER: &[u8] = include_bytes!("../../../weights/toy/janus-tokenizer.json");

impl Janus {
    /// `model` of the catalog with weights that are made, the same every time, in `kind` on `device`; at toy width with
    /// `narrow` tokens along an edge of the picture, where that is given.
    pub fn made(
        model: &'static Entry,
        narrow: Option<i64>,
        kind: Kind,
        device: Device,
    ) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let published = JanusConfig::of(model);
        let sizes = &narrow.map_or(published, |side| narrowed(published, side));
        let is_toy = narrow.is_some() || model.files.is_empty();
        let mut random = RandomWeights::of(is_toy, 2);
        let mut placed = Placed::new(&mut random, kind, device);
        let network = JanusNetwork::new(&mut placed, sizes, JanusNames::Original)?;
        let describe = sizes.headed().describe(network.backbone().clone());
        let heads = OpenedHeads::made(&describe, is_toy, 3, (kind, device))?;
        let mut placed = Placed::new(&mut random, Kind::Float, device);
        let vq_config = Vq16Config::made(is_toy, sizes.n_vocab, sizes.d_code);
        let vq = Vq16::new(&mut placed, &vq_config, Vq16Names::Original)?;
        let text = TextTokenizer::of_bytes("toy/janus-tokenizer.json".as_ref(), TEXT_TOKENIZER)?;
        let prompt = JanusPrompt::new(&model.name, network, text)?;
        Ok(Self { prompt, vq, heads, weights: Vec::new() })
    }
}

/// The network at toy width: few layers, of the same vocabulary of images, with the words of the tokenizer above and `side`
/// tokens along an edge.
fn narrowed(published: JanusConfig, side: i64) -> JanusConfig {
    JanusConfig {
        n_layers: 2,
        n_heads: 2,
        d_model: 32,
        d_ffn: 48,
        n_words: 320,
        pad: 256,
        n_positions: 4096,
        grid: side,
        ..published
    }
}
