//! The published Emu3 models, as the catalog has them.

use specimen_catalog::{Entry, Part};

use super::{Emu3Config, Emu3VqConfig};
use crate::heads::head_sources::HeadSource;

/// One published model.
#[derive(Clone, Debug)]
pub struct Emu3Weights {
    /// Its name in specs.
    pub name: &'static str,
    /// Sizes of its transformer and images.
    pub config: Emu3Config,
    /// Those of its picture decoder.
    pub vq: Emu3VqConfig,
    /// The transformer, the picture decoder and the text tokenizer, in this order.
    pub parts: Vec<&'static Part>,
    /// The heads that draft for it. Nobody publishes one; they are in folders of the model's below the data folder.
    pub heads: Vec<HeadSource>,
}

impl Emu3Weights {
    /// The published model that is `model` in the catalog.
    ///
    /// # Panics
    /// If `model` is none of the family, which the tests of the catalog's files exclude.
    #[must_use]
    pub fn of(model: &'static Entry) -> Self {
        Self {
            name: &model.name,
            config: Emu3Config::of(model),
            vq: Emu3VqConfig::PUBLISHED,
            parts: model.all_parts(),
            heads: HeadSource::all_of(model),
        }
    }
}
