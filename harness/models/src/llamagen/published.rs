//! The published LlamaGen models, by their names in specs (models sections 1.4, 5.1 and 6.1).

use specimen_hub::parts::{self, Part};

use super::{HeadLayout, HeadSource, LlamaGenConfig, t5::T5Config};
use crate::vq16::Vq16Config;

/// One published model.
#[derive(Clone, Copy, Debug)]
pub struct LlamaGenWeights {
    /// Its name in specs.
    pub name: &'static str,
    /// Its sizes.
    pub config: LlamaGenConfig,
    /// Those of its picture tokenizer.
    pub vq: Vq16Config,
    /// Those of its text encoder, where it takes captions.
    pub text: T5Config,
    /// Target and picture tokenizer, and for captions the text encoder and the text tokenizer, in this order.
    pub parts: &'static [Part],
    /// Its heads.
    pub heads: &'static [HeadSource],
}

/// All of them.
pub const PUBLISHED: &[LlamaGenWeights] = &[
    LlamaGenWeights {
        name: "llamagen-c2i-b-256",
        config: LlamaGenConfig::class_b(16),
        vq: Vq16Config::PUBLISHED,
        text: T5Config::FLAN_XL,
        parts: parts::LLAMAGEN_C2I_B_256,
        heads: &[],
    },
    LlamaGenWeights {
        name: "llamagen-c2i-b-384",
        config: LlamaGenConfig::class_b(24),
        vq: Vq16Config::PUBLISHED,
        text: T5Config::FLAN_XL,
        parts: parts::LLAMAGEN_C2I_B_384,
        heads: &[],
    },
    LlamaGenWeights {
        name: "llamagen-c2i-l-256",
        config: LlamaGenConfig::class_l(16),
        vq: Vq16Config::PUBLISHED,
        text: T5Config::FLAN_XL,
        parts: parts::LLAMAGEN_C2I_L_256,
        heads: &[],
    },
    LlamaGenWeights {
        name: "llamagen-c2i-l-384",
        config: LlamaGenConfig::class_l(24),
        vq: Vq16Config::PUBLISHED,
        text: T5Config::FLAN_XL,
        parts: parts::LLAMAGEN_C2I_L_384,
        heads: &[],
    },
    LlamaGenWeights {
        name: "llamagen-c2i-xl-384",
        config: LlamaGenConfig::class_xl(24),
        vq: Vq16Config::PUBLISHED,
        text: T5Config::FLAN_XL,
        parts: parts::LLAMAGEN_C2I_XL_384,
        heads: &[],
    },
    LlamaGenWeights {
        name: "llamagen-t2i-xl-256",
        config: LlamaGenConfig::caption_xl(16),
        vq: Vq16Config::PUBLISHED,
        text: T5Config::FLAN_XL,
        parts: parts::LLAMAGEN_T2I_256,
        heads: &[HeadSource {
            layout: HeadLayout::Eagle1,
            weights: "standard",
            manifest: "llamagen-t2i-xl-256-drafter",
            part: parts::LLAMAGEN_T2I_256_DRAFTER,
        }],
    },
    LlamaGenWeights {
        name: "llamagen-t2i-xl-512",
        config: LlamaGenConfig::caption_xl(32),
        vq: Vq16Config::PUBLISHED,
        text: T5Config::FLAN_XL,
        parts: parts::LLAMAGEN_T2I_512,
        heads: &[
            HeadSource {
                layout: HeadLayout::Eagle1,
                weights: "standard",
                manifest: "llamagen-t2i-xl-512-drafter",
                part: parts::LLAMAGEN_T2I_512_DRAFTER,
            },
            HeadSource {
                layout: HeadLayout::Eagle1,
                weights: "cascade",
                manifest: "llamagen-t2i-xl-512-drafter-cascade",
                part: parts::LLAMAGEN_T2I_512_CASCADE,
            },
            HeadSource {
                layout: HeadLayout::Eagle3,
                weights: "standard",
                manifest: "llamagen-t2i-xl-512-drafter-eagle3",
                part: parts::LLAMAGEN_T2I_512_EAGLE3,
            },
        ],
    },
];
