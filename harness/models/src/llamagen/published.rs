//! Where the published LlamaGen models lie on the hub, by their names in specs (models sections 1.4, 5.1 and 6.1).
//! Files of a `.pt` are taken under the same name as safetensors.

use super::{HeadLayout, HeadSource, LlamaGenConfig, t5::T5Config};
use crate::{
    published_files::{Choice, Part},
    vq16::Vq16Config,
};

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

const VQ_CLASS: Part = Part {
    role: "tokenizer",
    choices: &[Choice { repo: "FoundationVision/LlamaGen", files: &["vq_ds16_c2i.safetensors"] }],
};
const VQ_CAPTION: Part = Part {
    role: "tokenizer",
    choices: &[Choice { repo: "peizesun/llamagen_t2i", files: &["vq_ds16_t2i.safetensors"] }],
};
const TEXT_ENCODER: Part = Part {
    role: "text encoder",
    choices: &[
        Choice {
            repo: "google/flan-t5-xl",
            files: &["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"],
        },
        Choice { repo: "google/flan-t5-xl", files: &["model.safetensors"] },
    ],
};
const TEXT_TOKENIZER: Part = Part {
    role: "text tokenizer",
    choices: &[Choice { repo: "google/flan-t5-xl", files: &["tokenizer.json"] }],
};

macro_rules! class_parts {
    ($file:literal) => {
        &[
            Part {
                role: "target",
                choices: &[Choice { repo: "FoundationVision/LlamaGen", files: &[$file] }],
            },
            VQ_CLASS,
        ]
    };
}

macro_rules! caption_parts {
    ($lantern:literal, $file:literal) => {
        &[
            Part {
                role: "target",
                choices: &[
                    Choice { repo: $lantern, files: &["model.safetensors"] },
                    Choice { repo: "peizesun/llamagen_t2i", files: &[$file] },
                ],
            },
            VQ_CAPTION,
            TEXT_ENCODER,
            TEXT_TOKENIZER,
        ]
    };
}

/// LANTERN's head, published as a pickle or not.
macro_rules! lantern_head {
    ($manifest:literal, $repo:literal) => {
        HeadSource {
            layout: HeadLayout::Eagle1,
            weights: "standard",
            manifest: $manifest,
            part: Part {
                role: "drafter",
                choices: &[
                    Choice { repo: $repo, files: &["model.safetensors"] },
                    Choice { repo: $repo, files: &["pytorch_model.safetensors"] },
                ],
            },
        }
    };
}

/// A head that nobody publishes: it lies in a folder of the model's below the data folder.
macro_rules! own_head {
    ($layout:ident, $weights:literal, $manifest:literal, $role:literal, $folder:literal) => {
        HeadSource {
            layout: HeadLayout::$layout,
            weights: $weights,
            manifest: $manifest,
            part: Part { role: $role, choices: &[Choice { repo: $folder, files: &["model.safetensors"] }] },
        }
    };
}

/// All of them.
pub const PUBLISHED: &[LlamaGenWeights] = &[
    LlamaGenWeights {
        name: "llamagen-c2i-b-256",
        config: LlamaGenConfig::class_b(16),
        vq: Vq16Config::PUBLISHED,
        text: T5Config::FLAN_XL,
        parts: class_parts!("c2i_B_256.safetensors"),
        heads: &[],
    },
    LlamaGenWeights {
        name: "llamagen-c2i-b-384",
        config: LlamaGenConfig::class_b(24),
        vq: Vq16Config::PUBLISHED,
        text: T5Config::FLAN_XL,
        parts: class_parts!("c2i_B_384.safetensors"),
        heads: &[],
    },
    LlamaGenWeights {
        name: "llamagen-c2i-l-256",
        config: LlamaGenConfig::class_l(16),
        vq: Vq16Config::PUBLISHED,
        text: T5Config::FLAN_XL,
        parts: class_parts!("c2i_L_256.safetensors"),
        heads: &[],
    },
    LlamaGenWeights {
        name: "llamagen-c2i-l-384",
        config: LlamaGenConfig::class_l(24),
        vq: Vq16Config::PUBLISHED,
        text: T5Config::FLAN_XL,
        parts: class_parts!("c2i_L_384.safetensors"),
        heads: &[],
    },
    LlamaGenWeights {
        name: "llamagen-c2i-xl-384",
        config: LlamaGenConfig::class_xl(24),
        vq: Vq16Config::PUBLISHED,
        text: T5Config::FLAN_XL,
        parts: class_parts!("c2i_XL_384.safetensors"),
        heads: &[],
    },
    LlamaGenWeights {
        name: "llamagen-t2i-xl-256",
        config: LlamaGenConfig::caption_xl(16),
        vq: Vq16Config::PUBLISHED,
        text: T5Config::FLAN_XL,
        parts: caption_parts!("jadohu/LlamaGen-T2I", "t2i_XL_stage1_256.safetensors"),
        heads: &[lantern_head!("llamagen-t2i-xl-256-drafter", "jadohu/llamagen_drafter")],
    },
    LlamaGenWeights {
        name: "llamagen-t2i-xl-512",
        config: LlamaGenConfig::caption_xl(32),
        vq: Vq16Config::PUBLISHED,
        text: T5Config::FLAN_XL,
        parts: caption_parts!("jadohu/LlamaGen-T2I-2", "t2i_XL_stage2_512.safetensors"),
        heads: &[
            lantern_head!("llamagen-t2i-xl-512-drafter", "jadohu/llamagen2_drafter"),
            own_head!(
                Eagle1,
                "cascade",
                "llamagen-t2i-xl-512-drafter-cascade",
                "drafter cascade",
                "llamagen-t2i-xl-512/drafter-cascade"
            ),
            own_head!(
                Eagle3,
                "standard",
                "llamagen-t2i-xl-512-drafter-eagle3",
                "drafter eagle3",
                "llamagen-t2i-xl-512/drafter-eagle3"
            ),
        ],
    },
];
