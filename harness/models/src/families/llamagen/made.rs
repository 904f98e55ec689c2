//! LlamaGen with weights from a seed: everything from the prompt to the pixels is there, and the pictures mean nothing. At
//! toy width distributions are far from uniform, every norm and bias matters, and an image takes milliseconds; at published
//! sizes the transformer, its heads and the picture decoder cost what the published ones do, and the text encoder stays small.

use serde_json::json;
use specimen_catalog::{Entry, target::STANDARD};
use specimen_weights::LoadError;
use tch::{Device, Kind};

use super::{
    Condition, LlamaGen, LlamaGenConfig, LlamaGenNames, LlamaGenNetwork, heads,
    t5::{CaptionFeatures, T5Config, T5Encoder},
};
use crate::{
    families::text_tokenizer::TextTokenizer,
    files::{placed::Placed, random_weights::RandomWeights},
    heads::{described_head::HeadKind, head_file::HeadFile, head_sources::OpenedHeads},
    picture::vq16::{Vq16, Vq16Config, Vq16Names},
};

/// The text encoder of a toy; of published sizes its output is as wide as captions are there.
const TEXT: T5Config = T5Config {
    n_layers: 2,
    n_heads: 2,
    d_model: 24,
    d_head: 8,
    d_ffn: 32,
    n_words: 128,
    n_buckets: 32,
    max_distance: 128,
    norm_eps: 1e-6,
};

/// A tokenizer of the same kind as flan-t5's, over letters and a few syllables.
static TEXT_TOKENIZER: &[u8] = include_bytes!("../../../weights/toy/t5-tokenizer.json");

impl LlamaGen {
    /// `model` of the catalog with weights that are made, the same every time, in `kind` on `device`; at toy width with
    /// `narrow` tokens along an edge of the picture, where that is given.
    pub fn made(
        model: &'static Entry,
        narrow: Option<i64>,
        kind: Kind,
        device: Device,
    ) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let published = LlamaGenConfig::of(model);
        let config = &narrow.map_or(published, |side| narrowed(published, side));
        let is_toy = narrow.is_some() || model.files.is_empty();
        let mut random = RandomWeights::of(is_toy, 1);
        let mut placed = Placed::new(&mut random, kind, device);
        let network = LlamaGenNetwork::new(&mut placed, config, LlamaGenNames::Original)?;
        let describe = heads::describe(*config, network.backbone().clone());
        let described = |kind| {
            let mut file = HeadFile::to_be_written(json!({ "rms_norm_eps": config.norm_eps }));
            describe(kind, &mut file).expect("a LlamaGen has both kinds of heads")
        };
        let mut heads = OpenedHeads::default();
        heads.heads.add(HeadKind::Eagle1.drafter(None), Ok(described(HeadKind::Eagle1).made(&mut placed)?));
        // From a seed of its own, so that the other networks stay what they were before there was an EAGLE-3 head.
        let mut further = RandomWeights::of(is_toy, 3);
        let eagle3 = described(HeadKind::Eagle3).made(&mut Placed::new(&mut further, kind, device))?;
        heads.heads.add(HeadKind::Eagle3.drafter(None), Ok(eagle3));
        let mut placed = Placed::new(&mut random, Kind::Float, device);
        let vq_config = Vq16Config::made(is_toy, config.n_vocab, 8);
        let vq = Vq16::new(&mut placed, &vq_config, Vq16Names::Original)?;
        let captions = match config.condition {
            Condition::Class { .. } => None,
            Condition::Caption { d_caption, .. } => Some(CaptionFeatures::new(
                made_tokenizer()?,
                T5Encoder::new(&mut placed, &T5Config { d_model: d_caption, ..TEXT })?,
                None,
            )),
        };
        for (seed, name) in (4..).zip(named_heads(model)) {
            let mut further = RandomWeights::of(is_toy, seed);
            let head = described(HeadKind::Eagle1).made(&mut Placed::new(&mut further, kind, device))?;
            heads.heads.add(HeadKind::Eagle1.drafter(Some(name.to_owned())), Ok(head));
        }
        Ok(Self { name: &model.name, network, vq, captions, heads, weights: Vec::new() })
    }
}

/// The tokenizer of captions that goes with made weights.
pub(super) fn made_tokenizer() -> Result<TextTokenizer, LoadError> {
    TextTokenizer::of_bytes("toy/t5-tokenizer.json".as_ref(), TEXT_TOKENIZER)
}

/// The network at toy width: few layers, of the same vocabulary and condition, with `side` tokens along an edge.
fn narrowed(published: LlamaGenConfig, side: i64) -> LlamaGenConfig {
    let condition = match published.condition {
        Condition::Caption { n_slots, .. } => Condition::Caption { n_slots, d_caption: TEXT.d_model },
        classes @ Condition::Class { .. } => classes,
    };
    LlamaGenConfig { n_layers: 2, n_heads: 2, d_model: 32, d_ffn: 48, grid: side, condition, ..published }
}

/// The names of the EAGLE-1 heads of `model` besides its standard one.
fn named_heads(model: &'static Entry) -> impl Iterator<Item = &'static str> {
    let heads = model.published_heads().into_iter();
    heads.filter(|(proposer, name, _)| *proposer == "eagle1" && *name != STANDARD).map(|(_, name, _)| name)
}
