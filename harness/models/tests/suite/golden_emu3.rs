//! Emu3 against transformers, from files and a prompt to the picture and the drafts of both heads (`golden/make_emu3.py`):
//! heads that share keys, both sequences of guidance run apart there, all frames of a picture decoded there.

use std::{collections::BTreeMap, sync::LazyLock};

use specimen_catalog::{entry, hub::Places};
use specimen_decode::{dist::TokenId, generation::Generation, tree::TokenTree};
use specimen_models::{
    families::{
        emu3::{Emu3, Emu3Config, Emu3Names, Emu3Vq, Emu3VqConfig, Emu3Weights, VqNames, made},
        text_tokenizer::TextTokenizer,
    },
    files::{
        inventory::{Expected, inventory},
        published_names::{LayerNames, Mixed, PublishedNames},
    },
    heads::{
        described_head::HeadKind, drafters::DrafterKind, eagle::EagleHead, eagle3::Eagle3Config, eagle3_file,
    },
    llama::word_llama::WordLlama,
    seam::loaded_model::LoadedModel,
};
use specimen_weights::{ParamSource, write_safetensors};
use tch::{Device, Kind, Tensor, no_grad};

use crate::{
    golden::{Recipe, all_by_recipe, check_close, numbers, path, tensor},
    golden_llama::{F32, MAX_TREE},
    golden_models::{Desk, KNOWN, check_drafts, check_target, head, part},
    published_files::n_parameters,
    support::{GUIDED, PLAIN},
};

const PROMPT: &str = "a (red) bus near the cafe\u{301}";

/// Words of the toy's tokenizer, and with 48 codes.
const N_WORDS: i64 = 256 + 29 + 208 + 3 + 48;

pub(crate) const EMU3: Emu3Config = Emu3Config {
    n_layers: 6,
    n_heads: 6,
    n_kv_heads: 3,
    d_model: 36,
    d_ffn: 46,
    n_words: N_WORDS,
    n_codes: 48,
    rows: 2,
    columns: 8,
    n_positions: 512,
    rope_base: 500.0,
    norm_eps: 0.02,
};

pub(crate) const EMU3_VQ: Emu3VqConfig = Emu3VqConfig::toy(48);

/// The words of all tokens: codes, and the ends of a row, of a frame, of the image and of the sequence.
pub(crate) fn emu3_words() -> Vec<i64> {
    let special = 256 + 29;
    let vision = special + 208;
    let extra = |i: i64| special + 3 + i;
    (0..48).map(|code| vision + 3 + code).chain([extra(200), extra(201), vision + 2, extra(204)]).collect()
}

static WEIGHTS: LazyLock<Emu3Weights> = LazyLock::new(|| Emu3Weights {
    name: "emu3-gen-8b",
    config: EMU3,
    vq: EMU3_VQ,
    parts: vec![
        part("target", "target.safetensors"),
        part("picture decoder", "target.safetensors"),
        part("text tokenizer", "tokenizer.json"),
    ],
    heads: vec![
        head(HeadKind::Eagle1, "standard", "eagle1/model.safetensors"),
        head(HeadKind::Eagle3, "standard", "eagle3/model.safetensors"),
    ],
});

/// The same with the files of the authors: the decoder in one of its own, the tokenizer in two.
fn authors() -> Emu3Weights {
    let mut own = WEIGHTS.clone();
    own.parts[1] = part("picture decoder", "vq.safetensors");
    own.parts[2] =
        crate::support::part_of("owner/deep", "text tokenizer", &["emu3.tiktoken", "emu3_vision_tokens.txt"]);
    own
}

/// What a file of the toy's picture tokenizer holds.
pub(crate) fn vq(names: VqNames) -> Vec<Expected> {
    inventory(|source| Emu3Vq::new(source, &EMU3_VQ, names).map(|_| ())).unwrap()
}

fn network(names: Emu3Names) -> Vec<Expected> {
    WordLlama::expected(&EMU3.shape(names)).unwrap()
}

/// Writes the tokenizer as its authors have it.
fn write_ranks(desk: &Desk) {
    std::fs::write(desk.file("emu3.tiktoken"), made::RANKS).unwrap();
    std::fs::write(desk.file("emu3_vision_tokens.txt"), made::vision_tokens(48)).unwrap();
}

/// Both networks in one file, and the tokenizer, as transformers has them.
fn write_in_one(desk: &Desk, names: Emu3Names, of_pictures: VqNames) {
    let all = [network(names), vq(of_pictures)].concat();
    desk.write("target.safetensors", &all, 1.0);
    std::fs::copy(path("emu3_tokenizer.json"), desk.file("tokenizer.json")).unwrap();
}

fn open(which: &Emu3Weights, places: &Places) -> Emu3 {
    Emu3::open(which, places, Kind::Float, Device::Cpu).unwrap()
}

/// Asserts that the tokens of a whole image are drawn as the pixels of `file`, to half a level of a byte and one more for
/// rounding.
fn check_picture(model: &LoadedModel, file: &str) {
    let codes = numbers(file, "codes");
    let mut codes = codes.iter().map(|&code| TokenId(code as u32));
    let tokens: Vec<TokenId> =
        model.forced.iter().map(|forced| forced.or_else(|| codes.next()).unwrap()).collect();
    let picture = model.picture(&tokens);
    assert_eq!((picture.width, picture.height), (16, 4));
    let pixels = tensor(file, "pixels").get(0).permute([1, 2, 0]).contiguous();
    let levels: Vec<f64> = Vec::try_from(((pixels + 1.0) * 127.5).clamp(0.0, 255.0).reshape([-1])).unwrap();
    for (level, &byte) in levels.iter().zip(&picture.rgb) {
        assert!((-1e-2..1.01).contains(&(level - f64::from(byte))), "{level} is drawn as {byte}");
    }
}

fn check_logits(model: &LoadedModel, file: &str) {
    check_target(model.open(PROMPT, &GUIDED, MAX_TREE).unwrap(), file, &KNOWN[..2]);
    // Guidance 1 runs the caption's row alone.
    assert_eq!(model.open(PROMPT, &PLAIN, MAX_TREE).unwrap().n_rows(), 1);
}

#[test]
fn every_layout_of_the_decoder_paints_the_pixels_of_the_reference() {
    for (layout, names) in
        [("original", VqNames::ORIGINAL), ("hugging_face", VqNames::HUGGING_FACE), ("newer", VqNames::NEWER)]
    {
        let file = format!("emu3_{layout}.safetensors");
        let vq = Emu3Vq::new(&mut Recipe, &EMU3_VQ, names).unwrap();
        let codes = tensor(&file, "codes").view([1, 2, 8]);
        check_close(&no_grad(|| vq.decode(&codes)), &tensor(&file, "pixels"), F32, layout);
    }
}

#[test]
fn the_authors_files_have_the_distributions_and_pixels_of_the_reference() {
    let (desk, file) = (Desk::new(), "emu3_original.safetensors");
    desk.write("target.safetensors", &network(Emu3Names::Original), 1.0);
    let mut pictures = all_by_recipe(&vq(VqNames::ORIGINAL));
    // What the published file has besides.
    for name in [
        "encoder.conv_in.weight",
        "quant_conv.conv.bias",
        "decoder.time_res_stack.0.norm1.num_batches_tracked",
    ] {
        pictures.insert(name.to_owned(), Tensor::from_slice(&[1.0_f32]));
    }
    write_safetensors(&desk.file("vq.safetensors"), &pictures).unwrap();
    write_ranks(&desk);
    let model = open(&authors(), &desk.places());
    assert!(model.warnings.is_empty(), "{:?}", model.warnings);
    let rows = model.prompt.rows(PROMPT, true).unwrap();
    let (caption, negative) =
        (numbers("emu3_newer.safetensors", "caption"), numbers("emu3_newer.safetensors", "negative"));
    let n_pads = negative.len() - caption.len();
    assert_eq!((rows.n_pads, rows.rows[0][n_pads..].to_vec()), (vec![n_pads as i64, 0], caption));
    assert_eq!(rows.rows[1], negative);
    let model = model.into_model(Device::Cpu).unwrap();
    let roles: Vec<&str> = model.weights.iter().map(|weights| &*weights.role).collect();
    assert_eq!(roles, ["target", "picture decoder", "text tokenizer", "text tokenizer 2"]);
    check_logits(&model, file);
    check_picture(&model, file);
}

#[test]
fn files_of_transformers_have_them_too_and_say_that_they_split_texts_otherwise() {
    for (layout, names, of_pictures) in [
        ("hugging_face", Emu3Names::HuggingFace, VqNames::HUGGING_FACE),
        ("newer", Emu3Names::Newer, VqNames::NEWER),
    ] {
        let (desk, file) = (Desk::new(), format!("emu3_{layout}.safetensors"));
        write_in_one(&desk, names, of_pictures);
        let model = open(&WEIGHTS, &desk.places());
        let [warning] = &model.warnings[..] else { panic!("{:?}", model.warnings) };
        assert!(warning.contains("tokenizer.json") && warning.contains("emu3.tiktoken"), "{warning}");
        // Each network from a file of both, the words from the authors'.
        let mut mixed = authors();
        mixed.parts[1] = WEIGHTS.parts[1];
        write_ranks(&desk);
        let model = open(&mixed, &desk.places()).into_model(Device::Cpu).unwrap();
        assert_eq!(model.weights.len(), 3);
        check_logits(&model, &file);
        check_picture(&model, &file);
    }
}

#[test]
fn a_decoder_is_found_beside_another_layouts_transformer() {
    let desk = Desk::new();
    write_in_one(&desk, Emu3Names::HuggingFace, VqNames::HUGGING_FACE);
    desk.write("vq.safetensors", &vq(VqNames::ORIGINAL), 1.0);
    write_ranks(&desk);
    let model = open(&authors(), &desk.places()).into_model(Device::Cpu).unwrap();
    check_logits(&model, "emu3_hugging_face.safetensors");
    check_picture(&model, "emu3_original.safetensors");
    // The other way round: the decoder out of a file of both.
    desk.write("own.safetensors", &network(Emu3Names::Original), 1.0);
    let mut mixed = authors();
    (mixed.parts[0], mixed.parts[1]) =
        (part("target", "own.safetensors"), part("picture decoder", "target.safetensors"));
    let model = open(&mixed, &desk.places()).into_model(Device::Cpu).unwrap();
    check_logits(&model, "emu3_original.safetensors");
    check_picture(&model, "emu3_hugging_face.safetensors");
}

#[test]
fn heads_have_the_distributions_of_the_reference_from_the_prompt_on() {
    let (desk, file) = (Desk::new(), "emu3_newer.safetensors");
    write_in_one(&desk, Emu3Names::Newer, VqNames::NEWER);
    write_ranks(&desk);
    let eagle1 = inventory(|source: &mut dyn ParamSource| {
        let config = EMU3.headed().eagle1(0.0);
        let mut named = PublishedNames::new(source, LayerNames::HuggingFace, Mixed::Halves, 6)
            .with_kv_heads(config.n_kv_heads);
        EagleHead::new(&mut named, &config, 36).map(|_| ())
    });
    let eagle3 = inventory(|source| {
        let config = Eagle3Config::published(EMU3.stack().layer, 6, 0.0);
        eagle3_file::published(source, &config, Mixed::Halves, (36, 48)).map(|_| ())
    });
    for (name, inventory, eps) in [("eagle1", eagle1, 0.005), ("eagle3", eagle3, 0.03)] {
        desk.write(&format!("{name}/model.safetensors"), &inventory.unwrap(), 1.0);
        desk.config(&format!("{name}/config.json"), &format!(r#"{{ "rms_norm_eps": {eps} }}"#));
    }
    let mut mixed = authors();
    mixed.parts[1] = WEIGHTS.parts[1];
    let model = open(&mixed, &desk.places()).into_model(Device::Cpu).unwrap();
    check_drafts(&model, PROMPT, &DrafterKind::Eagle1(None), file, "eagle1");
    check_drafts(&model, PROMPT, &DrafterKind::Eagle3(None), file, "eagle3");
}

#[test]
fn the_tokenizer_has_the_words_of_tiktoken() {
    let text = made::toy_tokenizer(48).unwrap();
    let json: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(path("tokenizers.json")).unwrap()).unwrap();
    let texts = json["texts"].as_array().unwrap();
    for (written, ids) in texts.iter().zip(json["emu3"].as_array().unwrap()) {
        let expected: Vec<i64> = ids.as_array().unwrap().iter().map(|id| id.as_i64().unwrap()).collect();
        assert_eq!(text.encode(written.as_str().unwrap()).unwrap(), expected, "{written}");
    }
    // Transformers' file splits the eighth otherwise.
    let other = TextTokenizer::open(&path("emu3_tokenizer.json")).unwrap();
    let eighth = texts[7].as_str().unwrap();
    assert_ne!(other.encode(eighth).unwrap(), text.encode(eighth).unwrap());
}

#[test]
fn structural_tokens_stand_at_their_places_and_are_never_drawn_elsewhere() {
    let model = crate::toys::toy("emu3-toy");
    let mut generation = model.open("a red bus", &GUIDED, MAX_TREE).unwrap();
    assert_eq!((generation.n_codes(), generation.n_vocab()), (64, 68));
    let forced: BTreeMap<usize, u32> =
        model.forced.iter().enumerate().filter_map(|(at, token)| Some((at, (*token)?.0))).collect();
    let rows = [4, 9, 14, 19].map(|at| (at, 64));
    assert_eq!(forced, rows.into_iter().chain([(20, 65), (21, 66), (22, 67)]).collect());
    let mut distribution = generation.prefill();
    for position in 0..model.n_tokens {
        let structural: f32 = distribution.probs()[64..].iter().sum();
        assert_eq!(structural, if forced.contains_key(&position) { 1.0 } else { 0.0 }, "{position}");
        let token = model.forced[position].unwrap_or(TokenId(position as u32));
        distribution = generation.score(&TokenTree::new(token)).dist(TokenTree::ROOT);
        generation.commit(&[TokenTree::ROOT]);
    }
}

#[test]
fn a_prompt_that_leaves_no_room_for_the_image_is_refused() {
    let model = crate::toys::toy("emu3-toy");
    let long = "long ".repeat(200);
    let refused = model.open(&long, &GUIDED, MAX_TREE).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("with 23 image tokens only 1024 fit in all"), "{refused}");
}

/// Emu3 at its published sizes: the transformer by either of its names, and the decoder.
#[test]
fn emu3_has_its_published_sizes_in_every_layout() {
    let config = Emu3Config::of(entry("emu3-gen-8b").unwrap());
    let expected = |names| WordLlama::expected(&config.shape(names)).unwrap();
    for names in [Emu3Names::Original, Emu3Names::HuggingFace, Emu3Names::Newer] {
        // Two tables of 184,622 words, 32 layers with a quarter of the heads for keys and values.
        assert_eq!(n_parameters(&expected(names)), 8_492_011_520, "{names:?}");
    }
    let of = |all: &[Expected], name: &str| {
        all.iter().find(|entry| entry.name == name).unwrap_or_else(|| panic!("{name}")).shape.clone()
    };
    let all = expected(Emu3Names::Original);
    assert_eq!(of(&all, "model.layers.31.self_attn.q_proj.weight"), [4096, 4096]);
    assert_eq!(of(&all, "model.layers.0.self_attn.k_proj.weight"), [1024, 4096]);
    assert_eq!(of(&all, "lm_head.weight"), [184_622, 4096]);
    let all = expected(Emu3Names::HuggingFace);
    assert_eq!(of(&all, "text_model.model.layers.31.mlp.down_proj.weight"), [4096, 14_336]);
    assert_eq!(of(&all, "text_model.lm_head.weight"), [184_622, 4096]);
    let vq =
        |names| inventory(|source| Emu3Vq::new(source, &Emu3VqConfig::PUBLISHED, names).map(|_| ())).unwrap();
    let all = vq(VqNames::ORIGINAL);
    assert_eq!(of(&all, "quantize.embedding.weight"), [32_768, 4]);
    assert_eq!(of(&all, "post_quant_conv.conv.weight"), [4, 4, 3, 1, 1]);
    assert_eq!(of(&all, "decoder.time_res_stack.1.conv2.conv.weight"), [4, 4, 3, 3, 3]);
    assert_eq!(of(&all, "decoder.up.3.attn.2.norm.conv_y.weight"), [1024, 4, 1, 1]);
    assert_eq!(of(&all, "decoder.up.0.block.0.nin_shortcut.weight"), [256, 512, 1, 1]);
    assert_eq!(n_parameters(&all), n_parameters(&vq(VqNames::HUGGING_FACE)));
    assert_eq!(of(&vq(VqNames::NEWER), "model.vqmodel.decoder.middle_block.attn_1.q_proj.weight"), [1024; 2]);
}
