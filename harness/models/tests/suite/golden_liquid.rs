//! Liquid against transformers, from files and a prompt to the picture and the drafts of both heads (`golden/make_liquid.py`):
//! heads wider than the stream, a gate of GELU, norms stored as differences from 1, a table of words that is the output head
//! too; and what is rounded where in bf16.

use std::sync::LazyLock;

use specimen_catalog::{entry, hub::Places};
use specimen_models::{
    families::{
        chameleon::{Vqgan, VqganConfig, made as pictures},
        liquid::{Liquid, LiquidConfig, LiquidWeights, made},
    },
    files::{
        inventory::{Expected, inventory},
        placed::Placed,
        published_names::{LayerNames, Mixed, PublishedNames},
    },
    heads::{
        described_head::HeadKind, drafters::DrafterKind, eagle::EagleHead, eagle3::Eagle3Config, eagle3_file,
    },
    llama::{
        layer::rms_norm,
        mirror::{MirrorNorm, Mirrored},
        word_llama::WordLlama,
    },
    picture::pixels::Rounding,
};
use specimen_weights::{Init, LoadError, ParamSource, write_safetensors};
use tch::{Device, Kind, Tensor};

use crate::{
    golden::{Recipe, all_by_recipe, by_recipe, check_close, numbers, tensor},
    golden_llama::MAX_TREE,
    golden_models::{Desk, KNOWN, check_drafts, check_picture, check_target, head, part},
    published_files::n_parameters,
    support::{GUIDED, PLAIN},
};

const FILE: &str = "liquid.safetensors";
const PROMPT: &str = "a (red) bus near the cafe\u{301}";

/// Words of the toy's tokenizer.
const N_TEXT: i64 = 331;

pub(crate) const LIQUID: LiquidConfig = LiquidConfig {
    n_layers: 6,
    n_heads: 3,
    d_model: 30,
    d_head: 16,
    d_ffn: 46,
    n_words: N_TEXT + 40,
    n_vocab: 40,
    grid: 3,
    n_positions: 128,
    rope_base: 300.0,
    norm_eps: 0.02,
};

/// The words of its codes.
pub(crate) fn liquid_words() -> Vec<i64> {
    (N_TEXT..LIQUID.n_words).collect()
}

static WEIGHTS: LazyLock<LiquidWeights> = LazyLock::new(|| LiquidWeights {
    name: "liquid-7b",
    config: LIQUID,
    vq: VqganConfig { n_codes: 40, ..pictures::vqgan() },
    parts: vec![
        part("target", "target.safetensors"),
        part("text tokenizer", "tokenizer.json"),
        part("picture decoder", "vqgan.safetensors"),
    ],
    heads: vec![
        head(HeadKind::Eagle1, "standard", "eagle1/model.safetensors"),
        head(HeadKind::Eagle3, "standard", "eagle3/model.safetensors"),
    ],
});

/// All files but those of heads.
fn desk() -> Desk {
    let desk = Desk::new();
    desk.write("target.safetensors", &WordLlama::expected(&LIQUID.shape()).unwrap(), 1.0);
    let listed = inventory(|source| Vqgan::new(source, &WEIGHTS.vq).map(|_| ())).unwrap();
    let mut decoder = all_by_recipe(&listed);
    // What the published file has besides.
    decoder.insert("encoder.conv_in.weight".to_owned(), Tensor::from_slice(&[1.0_f32]));
    write_safetensors(&desk.file("vqgan.safetensors"), &decoder).unwrap();
    std::fs::write(desk.file("tokenizer.json"), made::TOKENIZER).unwrap();
    desk
}

fn open(places: &Places) -> Liquid {
    Liquid::open(&WEIGHTS, places, Kind::Float, Device::Cpu).unwrap()
}

#[test]
fn files_have_the_words_distributions_and_pixels_of_the_reference() {
    let desk = desk();
    let model = open(&desk.places());
    let rows = model.prompt.rows(PROMPT, true).unwrap();
    let (caption, unconditional) = (numbers(FILE, "caption"), numbers(FILE, "unconditional"));
    let n_pads = caption.len() - unconditional.len();
    assert_eq!((rows.n_pads, rows.rows[1][n_pads..].to_vec()), (vec![0, n_pads as i64], unconditional));
    assert_eq!(rows.rows[0], caption);
    let model = model.into_model(Device::Cpu).unwrap();
    let roles: Vec<&str> = model.weights.iter().map(|weights| &*weights.role).collect();
    assert_eq!(roles, ["target", "picture decoder", "text tokenizer"]);
    check_target(model.open(PROMPT, &GUIDED, MAX_TREE).unwrap(), FILE, &KNOWN[..2]);
    // Guidance 1 runs the caption's row alone.
    assert_eq!(model.open(PROMPT, &PLAIN, MAX_TREE).unwrap().n_rows(), 1);
    let decoder = Vqgan::new(&mut Recipe, &WEIGHTS.vq).unwrap();
    check_picture(&model, 3, Rounding::Cut, |codes| decoder.decode(codes));
}

#[test]
fn heads_have_the_distributions_of_the_reference_from_the_prompt_on() {
    let desk = desk();
    let eagle1 = inventory(|source: &mut dyn ParamSource| {
        let mut named = PublishedNames::new(source, LayerNames::HuggingFace, Mixed::Halves, 16);
        EagleHead::new(&mut named, &LIQUID.headed().eagle1(0.0), 30).map(|_| ())
    });
    let eagle3 = inventory(|source| {
        let config = Eagle3Config::published(LIQUID.shape().stack.layer, 6, 0.0);
        eagle3_file::published(source, &config, Mixed::Halves, (30, 40)).map(|_| ())
    });
    for (name, inventory, eps) in [("eagle1", eagle1, 0.005), ("eagle3", eagle3, 0.03)] {
        desk.write(&format!("{name}/model.safetensors"), &inventory.unwrap(), 1.0);
        desk.config(&format!("{name}/config.json"), &format!(r#"{{ "rms_norm_eps": {eps} }}"#));
    }
    let model = open(&desk.places()).into_model(Device::Cpu).unwrap();
    check_drafts(&model, PROMPT, &DrafterKind::Eagle1(None), FILE, "eagle1");
    check_drafts(&model, PROMPT, &DrafterKind::Eagle3(None), FILE, "eagle3");
}

/// The share of entries that are the same.
fn same(found: &Tensor, expected: &Tensor) -> f64 {
    found.to_kind(Kind::Float).eq_tensor(expected).to_kind(Kind::Double).mean(Kind::Double).double_value(&[])
}

#[test]
fn a_norm_in_bf16_keeps_the_digits_of_a_weight_near_1_as_the_reference_does() {
    struct Small;
    impl ParamSource for Small {
        fn param(&mut self, _: &str, shape: &[i64], _: Init) -> Result<Tensor, LoadError> {
            Ok((by_recipe("small", shape) * 0.01).to_kind(Kind::BFloat16))
        }
    }
    let mut small = Small;
    let mut named =
        PublishedNames::new(&mut small, LayerNames::HuggingFace, Mixed::Halves, 16).with_offset_norms(true);
    let weight = named.param("norm.weight", &[30], Init::Constant(1.0)).unwrap();
    let x = by_recipe("stream embed", &[4, 8, 30]).to_kind(Kind::BFloat16);
    let expected = tensor(FILE, "bf16.norm");
    let mirrored = MirrorNorm::new(&weight, 0.02).forward(&Mirrored::new(&x));
    for (way, found) in [("plain", rms_norm(&x, &weight, 0.02)), ("mirrored", mirrored)] {
        assert_eq!(found.kind(), Kind::BFloat16, "{way}");
        assert!(same(&found, &expected) > 0.99, "{way}: {}", same(&found, &expected));
    }
    let folded = rms_norm(&x, &weight.to_kind(Kind::BFloat16), 0.02);
    assert!(same(&folded, &expected) < 0.9, "{}", same(&folded, &expected));
}

#[test]
fn in_bf16_words_enter_as_in_the_reference() {
    let mut recipe = Recipe;
    let mut placed = Placed::new(&mut recipe, Kind::BFloat16, Device::Cpu);
    let network = WordLlama::new(&mut placed, &LIQUID.shape(), &liquid_words()).unwrap();
    let found = network.embed_words(&[numbers(FILE, "caption")]);
    check_close(&found, &tensor(FILE, "bf16.embedded"), 0.0, "input vectors");
}

#[test]
fn a_tokenizer_behind_whose_words_the_codes_do_not_fit_is_refused() {
    let desk = desk();
    let mut other = WEIGHTS.clone();
    other.config.n_words += 1;
    let refused = Liquid::open(&other, &desk.places(), Kind::Float, Device::Cpu);
    let refused = refused.map(|_| ()).unwrap_err().to_string();
    for part in ["tokenizer.json", "it has 331 words", "40 codes", "372"] {
        assert!(refused.contains(part), "`{part}` is not in `{refused}`");
    }
}

/// Liquid at its published sizes: Gemma-7B with 8,192 words more.
#[test]
fn liquid_has_its_published_sizes() {
    let config = LiquidConfig::of(entry("liquid-7b").unwrap());
    let all = WordLlama::expected(&config.shape()).unwrap();
    assert_eq!(n_parameters(&all), 8_537_680_896 + 8192 * 3072);
    assert_eq!(all.len(), 2 + 28 * 9);
    let of = |name: &str| -> Vec<i64> {
        let found: Option<&Expected> = all.iter().find(|entry| entry.name == name);
        found.unwrap_or_else(|| panic!("{name}")).shape.clone()
    };
    assert_eq!(of("model.embed_tokens.weight"), [264_192, 3072]);
    assert_eq!(of("model.layers.27.self_attn.q_proj.weight"), [4096, 3072]);
    assert_eq!(of("model.layers.0.self_attn.o_proj.weight"), [3072, 4096]);
    assert_eq!(of("model.layers.0.mlp.gate_proj.weight"), [24_576, 3072]);
    assert_eq!(of("model.norm.weight"), [3072]);
}
