//! The parts of the published models, such as target and picture decoder, and the ways in which each can lie on this
//! machine: the one list that loading and planning go by. Files of a pickle are taken under the same name as
//! safetensors, or where converting puts them.

/// One of the ways to have a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// A repository of the hub, `owner/name`, or a folder of the model's own; its files lie below `weights/` under this
    /// name, those of a repository in the cache of the hub too.
    pub repo: &'static str,
    /// Files that are needed together, shards in order. An index of shards stands for itself and the shards it lists.
    pub files: &'static [&'static str],
}

/// A part of a model, such as its target or its tokenizer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// What it is.
    pub role: &'static str,
    /// Where it is published; the first that is found whole is taken.
    pub choices: &'static [Choice],
    /// The files of its manifest that are fetched to have it.
    pub fetched: &'static [&'static str],
}

/// The list of shards of a transformer.
pub const INDEX: &str = "model.safetensors.index.json";

const fn choice(repo: &'static str, files: &'static [&'static str]) -> Choice {
    Choice { repo, files }
}

macro_rules! part {
    ($role:literal, $fetched:expr, $($repo:literal: $files:expr),+ $(,)?) => {
        Part { role: $role, choices: &[$(choice($repo, $files)),+], fetched: $fetched }
    };
}

/// What LlamaGen's own repositories hold: a pickle, taken as safetensors.
macro_rules! pickle {
    ($role:literal, $repo:literal, $name:literal) => {
        part!($role, &[concat!($name, ".pt")], $repo: &[concat!($name, ".safetensors")])
    };
}

/// The target of captions: as LANTERN publishes it, or LlamaGen's own.
macro_rules! caption_target {
    ($lantern:literal, $name:literal) => {
        part!("target", &[concat!($name, ".pt")],
            $lantern: &["model.safetensors"],
            "peizesun/llamagen_t2i": &[concat!($name, ".safetensors")])
    };
}

/// LANTERN's head, published as a pickle or not.
macro_rules! lantern_head {
    ($repo:literal) => {
        part!("drafter", &["config.json", "model.safetensors"],
            $repo: &["model.safetensors"], $repo: &["pytorch_model.safetensors"])
    };
}

/// A head that nobody publishes: it lies in a folder of the model's.
macro_rules! own_head {
    ($role:literal, $folder:literal) => {
        part!($role, &["model.safetensors"], $folder: &["model.safetensors"])
    };
}

const VQ_CLASS: Part = pickle!("tokenizer", "FoundationVision/LlamaGen", "vq_ds16_c2i");
const VQ_CAPTION: Part = pickle!("tokenizer", "peizesun/llamagen_t2i", "vq_ds16_t2i");
const T5_SHARDS: &[&str] = &["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"];
const TEXT_ENCODER: Part = part!("text encoder", T5_SHARDS,
    "google/flan-t5-xl": T5_SHARDS, "google/flan-t5-xl": &["model.safetensors"]);
const TEXT_TOKENIZER: Part =
    part!("text tokenizer", &["tokenizer.json"], "google/flan-t5-xl": &["tokenizer.json"]);

/// Target and picture tokenizer of a LlamaGen of classes.
macro_rules! class_parts {
    ($name:literal) => {
        &[pickle!("target", "FoundationVision/LlamaGen", $name), VQ_CLASS]
    };
}

/// GPT-B of classes, 256 pixels: target and picture tokenizer, as in all of classes.
pub const LLAMAGEN_C2I_B_256: &[Part] = class_parts!("c2i_B_256");
/// GPT-B of classes, 384 pixels.
pub const LLAMAGEN_C2I_B_384: &[Part] = class_parts!("c2i_B_384");
/// GPT-L of classes, 256 pixels.
pub const LLAMAGEN_C2I_L_256: &[Part] = class_parts!("c2i_L_256");
/// GPT-L of classes, 384 pixels.
pub const LLAMAGEN_C2I_L_384: &[Part] = class_parts!("c2i_L_384");
/// GPT-XL of classes, 384 pixels.
pub const LLAMAGEN_C2I_XL_384: &[Part] = class_parts!("c2i_XL_384");
/// GPT-XL of captions, 256 pixels: target, picture tokenizer, text encoder, text tokenizer.
pub const LLAMAGEN_T2I_256: &[Part] =
    &[caption_target!("jadohu/LlamaGen-T2I", "t2i_XL_stage1_256"), VQ_CAPTION, TEXT_ENCODER, TEXT_TOKENIZER];
/// GPT-XL of captions, 512 pixels: as that of 256.
pub const LLAMAGEN_T2I_512: &[Part] = &[
    caption_target!("jadohu/LlamaGen-T2I-2", "t2i_XL_stage2_512"),
    VQ_CAPTION,
    TEXT_ENCODER,
    TEXT_TOKENIZER,
];
/// LANTERN's head for GPT-XL of captions, 256 pixels.
pub const LLAMAGEN_T2I_256_DRAFTER: Part = lantern_head!("jadohu/llamagen_drafter");
/// LANTERN's head for GPT-XL of captions, 512 pixels.
pub const LLAMAGEN_T2I_512_DRAFTER: Part = lantern_head!("jadohu/llamagen2_drafter");
/// The same trained with CASCADE's weights.
pub const LLAMAGEN_T2I_512_CASCADE: Part =
    own_head!("drafter cascade", "llamagen-t2i-xl-512/drafter-cascade");
/// An EAGLE-3 head for it.
pub const LLAMAGEN_T2I_512_EAGLE3: Part = own_head!("drafter eagle3", "llamagen-t2i-xl-512/drafter-eagle3");

/// Janus-Pro-1B: the model and its text tokenizer.
pub const JANUS_1B: &[Part] = &[
    part!("target", &["config.json", "pytorch_model.bin"],
        "deepseek-community/Janus-Pro-1B": &["model.safetensors"],
        "deepseek-ai/Janus-Pro-1B": &["pytorch_model.safetensors"]),
    part!("text tokenizer", &["tokenizer.json"],
        "deepseek-ai/Janus-Pro-1B": &["tokenizer.json"],
        "deepseek-community/Janus-Pro-1B": &["tokenizer.json"]),
];
/// Janus-Pro-7B: the model and its text tokenizer.
pub const JANUS_7B: &[Part] = &[
    part!("target",
    &["config.json", "pytorch_model-00001-of-00002.bin", "pytorch_model-00002-of-00002.bin"],
    "deepseek-community/Janus-Pro-7B": T5_SHARDS,
    "deepseek-community/Janus-Pro-7B": &[
        "model-00001-of-00003.safetensors",
        "model-00002-of-00003.safetensors",
        "model-00003-of-00003.safetensors",
    ],
    "deepseek-ai/Janus-Pro-7B": &[
        "pytorch_model-00001-of-00002.safetensors",
        "pytorch_model-00002-of-00002.safetensors",
    ]),
    part!("text tokenizer", &["tokenizer.json"],
        "deepseek-ai/Janus-Pro-7B": &["tokenizer.json"],
        "deepseek-community/Janus-Pro-7B": &["tokenizer.json"]),
];
/// An EAGLE-1 head for Janus-Pro-1B.
pub const JANUS_1B_DRAFTER: Part = own_head!("drafter", "janus-pro-1b/drafter");
/// An EAGLE-1 head for Janus-Pro-7B.
pub const JANUS_7B_DRAFTER: Part = own_head!("drafter", "janus-pro-7b/drafter");

/// A Chameleon: the transformer with its `config.json`, or in Meta's layout without; the tokenizer; the picture decoder.
macro_rules! chameleon {
    ($model:literal, $repo:literal, [$($shard:literal),+]) => {
        &[
            part!("target", &["config.json", INDEX, $($shard),+],
                $model: &["config.json", INDEX],
                $model: &["config.json", "model.safetensors"],
                $model: &["consolidated.safetensors"],
                $repo: &["config.json", INDEX],
                $repo: &["config.json", "model.safetensors"]),
            part!("tokenizer", &["tokenizer.json"],
                $model: &["tokenizer.json"],
                $model: &["text_tokenizer.json"],
                $repo: &["tokenizer.json"],
                $repo: &["text_tokenizer.json"]),
            part!("picture decoder", &["vqgan.ckpt"],
                $model: &["vqgan.safetensors"],
                "chameleon": &["vqgan.safetensors"],
                $repo: &["vqgan.safetensors"]),
        ]
    };
}

/// LANTERN's head for a Chameleon.
macro_rules! chameleon_head {
    ($model:literal, $repo:literal) => {
        part!("drafter", &["config.json", "model.safetensors"],
            $model: &["drafter.safetensors"],
            $repo: &["model.safetensors"],
            $repo: &["pytorch_model.safetensors"])
    };
}

/// Lumina-mGPT-7B-768: target, tokenizer and picture decoder, as in the whole family.
pub const LUMINA_768: &[Part] = chameleon!(
    "lumina-mgpt-7b-768",
    "Alpha-VLLM/Lumina-mGPT-7B-768",
    ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
);
/// Lumina-mGPT-7B-512.
pub const LUMINA_512: &[Part] = chameleon!(
    "lumina-mgpt-7b-512",
    "Alpha-VLLM/Lumina-mGPT-7B-512",
    ["model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"]
);
/// Anole-7B.
pub const ANOLE: &[Part] = chameleon!(
    "anole-7b",
    "leloy/Anole-7b-v0.1-hf",
    [
        "model-00001-of-00003.safetensors",
        "model-00002-of-00003.safetensors",
        "model-00003-of-00003.safetensors"
    ]
);
/// LANTERN's head for Lumina-mGPT-7B-768.
pub const LUMINA_768_DRAFTER: Part =
    chameleon_head!("lumina-mgpt-7b-768", "sihwanpark/LANTERN-Lumina-mGPT-7B-768");
/// An EAGLE-1 head for Lumina-mGPT-7B-512.
pub const LUMINA_512_DRAFTER: Part =
    part!("drafter", &["model.safetensors"], "lumina-mgpt-7b-512": &["drafter.safetensors"]);
/// LANTERN's head for Anole-7B.
pub const ANOLE_DRAFTER: Part = chameleon_head!("anole-7b", "jadohu/anole_drafter");

/// Image-GPT of MNIST.
pub const IGPT_MNIST: Part = part!("weights", &["mnist_gen.ckpt"], "igpt": &["mnist_gen.safetensors"]);
/// Image-GPT of Fashion-MNIST.
pub const IGPT_FMNIST: Part = part!("weights", &["fmnist_gen.ckpt"], "igpt": &["fmnist_gen.safetensors"]);

/// The parts that the manifest called `name` stands for; none where each of its files is needed by itself.
#[must_use]
pub fn of(name: &str) -> &'static [Part] {
    match name {
        "llamagen-c2i-b-256" => &LLAMAGEN_C2I_B_256[..1],
        "llamagen-c2i-b-384" => &LLAMAGEN_C2I_B_384[..1],
        "llamagen-c2i-l-256" => &LLAMAGEN_C2I_L_256[..1],
        "llamagen-c2i-l-384" => &LLAMAGEN_C2I_L_384[..1],
        "llamagen-c2i-xl-384" => &LLAMAGEN_C2I_XL_384[..1],
        "llamagen-vq-c2i" => &[VQ_CLASS],
        "llamagen-t2i-xl-256" => &LLAMAGEN_T2I_256[..1],
        "llamagen-t2i-xl-512" => &LLAMAGEN_T2I_512[..1],
        "llamagen-vq-t2i" => &[VQ_CAPTION],
        "flan-t5-xl" => &[TEXT_ENCODER, TEXT_TOKENIZER],
        "llamagen-t2i-xl-256-drafter" => &[LLAMAGEN_T2I_256_DRAFTER],
        "llamagen-t2i-xl-512-drafter" => &[LLAMAGEN_T2I_512_DRAFTER],
        "llamagen-t2i-xl-512-drafter-cascade" => &[LLAMAGEN_T2I_512_CASCADE],
        "llamagen-t2i-xl-512-drafter-eagle3" => &[LLAMAGEN_T2I_512_EAGLE3],
        "janus-pro-1b" => JANUS_1B,
        "janus-pro-7b" => JANUS_7B,
        "janus-pro-1b-drafter" => &[JANUS_1B_DRAFTER],
        "janus-pro-7b-drafter" => &[JANUS_7B_DRAFTER],
        "lumina-mgpt-7b-768" => LUMINA_768,
        "lumina-mgpt-7b-512" => LUMINA_512,
        "anole-7b" => ANOLE,
        "lumina-mgpt-7b-768-drafter" => &[LUMINA_768_DRAFTER],
        "lumina-mgpt-7b-512-drafter" => &[LUMINA_512_DRAFTER],
        "anole-7b-drafter" => &[ANOLE_DRAFTER],
        "igpt-mnist" => &[IGPT_MNIST],
        "igpt-fmnist" => &[IGPT_FMNIST],
        _ => &[],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::{NAMES, manifest};

    #[test]
    fn every_file_of_a_manifest_with_parts_makes_one_of_them() {
        let with_parts = NAMES.iter().filter(|name| !of(name).is_empty());
        assert_eq!(with_parts.clone().count(), 26);
        for name in with_parts {
            let mut files: Vec<&str> =
                manifest(name).unwrap().files.iter().map(|file| file.name.as_str()).collect();
            let mut fetched: Vec<&str> = of(name).iter().flat_map(|part| part.fetched).copied().collect();
            files.sort_unstable();
            fetched.sort_unstable();
            assert_eq!(files, fetched, "{name}");
        }
    }

    #[test]
    fn what_a_converted_file_is_called_is_one_of_the_choices() {
        for name in NAMES.iter().filter(|name| !of(name).is_empty()) {
            for file in &manifest(name).unwrap().files {
                let Some(converted) = &file.converted else { continue };
                let part = of(name).iter().find(|part| part.fetched.contains(&file.name.as_str())).unwrap();
                let places = part.choices.iter().flat_map(|choice| {
                    choice.files.iter().map(|file| format!("weights/{}/{file}", choice.repo))
                });
                assert!(places.into_iter().any(|place| place == *converted), "{name}: {converted}");
            }
        }
    }
}
