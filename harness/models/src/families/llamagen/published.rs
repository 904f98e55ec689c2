//! The published LlamaGen models, as the catalog has them.

use specimen_catalog::{Entry, Part};

use super::{LlamaGenConfig, t5::T5Config};
use crate::{heads::head_sources::HeadSource, picture::vq16::Vq16Config};

/// One published model.
#[derive(Clone, Debug)]
pub struct LlamaGenWeights {
    /// Its name in specs.
    pub name: &'static str,
    /// Sizes of its transformer.
    pub config: LlamaGenConfig,
    /// Those of its picture tokenizer.
    pub vq: Vq16Config,
    /// Those of its text encoder, where it takes captions.
    pub text: T5Config,
    /// Target and picture tokenizer, and for captions the text encoder and the text tokenizer, in this order.
    pub parts: Vec<&'static Part>,
    /// The heads that draft for it.
    pub heads: Vec<HeadSource>,
}

impl LlamaGenWeights {
    /// The published model that is `model` in the catalog.
    ///
    /// # Panics
    /// If `model` is none of the family, which the tests of the catalog's files exclude.
    pub fn of(model: &'static Entry) -> Self {
        Self {
            name: &model.name,
            config: LlamaGenConfig::of(model),
            vq: Vq16Config::PUBLISHED,
            text: T5Config::FLAN_XL,
            parts: model.all_parts(),
            heads: HeadSource::all_of(model),
        }
    }
}
