//! The published Janus-Pro models, by their names in specs (models section 3).

use specimen_hub::parts::{self, Part};

use super::JanusConfig;
use crate::vq16::Vq16Config;

/// One published model.
#[derive(Clone, Copy, Debug)]
pub struct JanusWeights {
    /// Its name in specs.
    pub name: &'static str,
    /// Its sizes.
    pub config: JanusConfig,
    /// Those of its picture tokenizer.
    pub vq: Vq16Config,
    /// The model and its text tokenizer, in this order.
    pub parts: &'static [Part],
    /// The manifest that says how to come by its EAGLE-1 head.
    pub head_manifest: &'static str,
    /// Its EAGLE-1 head. Nobody publishes one; it lies in a folder of the model's below the data folder.
    pub head: Part,
}

/// All of them.
pub const PUBLISHED: &[JanusWeights] = &[
    JanusWeights {
        name: "janus-pro-1b",
        config: JanusConfig::PRO_1B,
        vq: Vq16Config::PUBLISHED,
        parts: parts::JANUS_1B,
        head_manifest: "janus-pro-1b-drafter",
        head: parts::JANUS_1B_DRAFTER,
    },
    JanusWeights {
        name: "janus-pro-7b",
        config: JanusConfig::PRO_7B,
        vq: Vq16Config::PUBLISHED,
        parts: parts::JANUS_7B,
        head_manifest: "janus-pro-7b-drafter",
        head: parts::JANUS_7B_DRAFTER,
    },
];
