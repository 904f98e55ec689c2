//! Where the published Janus-Pro models lie on the hub, by their names in specs (models section 3). Files of a pickle
//! are taken under the same name as safetensors.

use super::JanusConfig;
use crate::{
    published_files::{Choice, Part},
    vq16::Vq16Config,
};

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

macro_rules! own_head {
    ($folder:literal) => {
        Part { role: "drafter", choices: &[Choice { repo: $folder, files: &["model.safetensors"] }] }
    };
}

/// All of them.
pub const PUBLISHED: &[JanusWeights] = &[
    JanusWeights {
        name: "janus-pro-1b",
        config: JanusConfig::PRO_1B,
        vq: Vq16Config::PUBLISHED,
        parts: &[
            Part {
                role: "target",
                choices: &[
                    Choice { repo: "deepseek-community/Janus-Pro-1B", files: &["model.safetensors"] },
                    Choice { repo: "deepseek-ai/Janus-Pro-1B", files: &["pytorch_model.safetensors"] },
                ],
            },
            Part {
                role: "text tokenizer",
                choices: &[
                    Choice { repo: "deepseek-ai/Janus-Pro-1B", files: &["tokenizer.json"] },
                    Choice { repo: "deepseek-community/Janus-Pro-1B", files: &["tokenizer.json"] },
                ],
            },
        ],
        head_manifest: "janus-pro-1b-drafter",
        head: own_head!("janus-pro-1b/drafter"),
    },
    JanusWeights {
        name: "janus-pro-7b",
        config: JanusConfig::PRO_7B,
        vq: Vq16Config::PUBLISHED,
        parts: &[
            Part {
                role: "target",
                choices: &[
                    Choice {
                        repo: "deepseek-community/Janus-Pro-7B",
                        files: &["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"],
                    },
                    Choice {
                        repo: "deepseek-community/Janus-Pro-7B",
                        files: &[
                            "model-00001-of-00003.safetensors",
                            "model-00002-of-00003.safetensors",
                            "model-00003-of-00003.safetensors",
                        ],
                    },
                    Choice {
                        repo: "deepseek-ai/Janus-Pro-7B",
                        files: &[
                            "pytorch_model-00001-of-00002.safetensors",
                            "pytorch_model-00002-of-00002.safetensors",
                        ],
                    },
                ],
            },
            Part {
                role: "text tokenizer",
                choices: &[
                    Choice { repo: "deepseek-ai/Janus-Pro-7B", files: &["tokenizer.json"] },
                    Choice { repo: "deepseek-community/Janus-Pro-7B", files: &["tokenizer.json"] },
                ],
            },
        ],
        head_manifest: "janus-pro-7b-drafter",
        head: own_head!("janus-pro-7b/drafter"),
    },
];
