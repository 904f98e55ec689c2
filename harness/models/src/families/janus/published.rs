//! The published Janus-Pro models, as the catalog has them.

use specimen_catalog::{Entry, Part, entry};

use super::JanusConfig;
use crate::picture::vq16::Vq16Config;

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
    /// The entry of the catalog that says how to come by its EAGLE-1 head.
    pub head_entry: &'static str,
    /// Its EAGLE-1 head. Nobody publishes one; it is in a folder of the model's below the data folder.
    pub head: &'static Part,
}

impl JanusWeights {
    /// The published model that is `model` in the catalog.
    ///
    /// # Panics
    /// If `model` is none of the family, which the tests of the catalog's files exclude.
    #[must_use]
    pub fn of(model: &'static Entry) -> Self {
        let head_entry = model.head("eagle1", None).expect("each Janus-Pro has an entry for a head");
        Self {
            name: &model.name,
            config: JanusConfig::of(model),
            vq: Vq16Config::PUBLISHED,
            parts: model.all_parts(),
            head_entry,
            head: &entry(head_entry).expect("heads are tested to be entries").parts[0],
        }
    }
}
