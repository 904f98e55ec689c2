//! The published Janus-Pro models, as the catalog has them.

use specimen_catalog::{Entry, Part};

use super::JanusConfig;
use crate::{heads::head_sources::HeadSource, picture::vq16::Vq16Config};

/// One published model.
#[derive(Clone, Debug)]
pub struct JanusWeights {
    /// Its name in specs.
    pub name: &'static str,
    /// Sizes of its transformer.
    pub config: JanusConfig,
    /// Those of its picture tokenizer.
    pub vq: Vq16Config,
    /// The model and its text tokenizer, in this order.
    pub parts: Vec<&'static Part>,
    /// The heads that draft for it. Nobody publishes one; they are in folders of the model's below the data folder.
    pub heads: Vec<HeadSource>,
}

impl JanusWeights {
    /// The published model that is `model` in the catalog.
    ///
    /// # Panics
    /// If `model` is none of the family, which the tests of the catalog's files exclude.
    #[must_use]
    pub fn of(model: &'static Entry) -> Self {
        Self {
            name: &model.name,
            config: JanusConfig::of(model),
            vq: Vq16Config::PUBLISHED,
            parts: model.all_parts(),
            heads: HeadSource::all_of(model),
        }
    }
}
