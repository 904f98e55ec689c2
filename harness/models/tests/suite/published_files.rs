//! Published models at toy width: the tensors that are expected, files that hold exactly those, and what is said of
//! files that do not.

use std::{collections::BTreeMap, path::Path};

use specimen_catalog::{Choice, Family, Part, entry, hub::Places, part::INDEX};
use specimen_decode::{dist::TokenId, generation::Generation};
use specimen_models::{
    families::{
        chameleon,
        emu3::{Emu3Config, Emu3Names, Emu3Vq, Emu3VqConfig, VqNames},
        janus::{Janus, JanusConfig, JanusNames, JanusNetwork, JanusWeights},
        liquid::LiquidConfig,
        llamagen::{
            LlamaGen, LlamaGenConfig, LlamaGenNames, LlamaGenNetwork, LlamaGenWeights, drafter_config,
            t5::{T5Config, T5Encoder},
        },
    },
    files::{
        inventory::{Expected, inventory},
        published_files::find_all,
        published_names::{LayerNames, Mixed, PublishedNames},
        several_files::SeveralFiles,
    },
    heads::{
        described_head::HeadKind,
        drafters::DrafterKind,
        eagle::{EagleConfig, EagleHead},
        eagle3::Eagle3Config,
        eagle3_file,
        head_sources::HeadSource,
        lantern_head::LanternHead,
    },
    llama::word_llama::WordLlama,
    picture::vq16::{Vq16, Vq16Config, Vq16Names},
    seam::loaded_model::LoadedModel,
};
use specimen_weights::{LoadError, ParamSource, Scoped, write_safetensors};
use tch::{Device, Kind, Tensor};

use crate::{
    golden::{all_by_recipe, path},
    golden_emu3::{EMU3, EMU3_VQ, emu3_words, vq as emu3_pictures},
    golden_liquid::{LIQUID, liquid_words},
    golden_llama::{JANUS, LLAMAGEN, VQ},
    support::{GUIDED, part_of},
};

const TEXT: T5Config = T5Config {
    n_layers: 1,
    n_heads: 2,
    d_model: 10,
    d_head: 8,
    d_ffn: 16,
    n_words: 128,
    n_buckets: 32,
    max_distance: 128,
    norm_eps: 1e-6,
};

/// Numbers of all tensors together.
pub(crate) fn n_parameters(inventory: &[Expected]) -> i64 {
    inventory.iter().map(|tensor| tensor.shape.iter().product::<i64>()).sum()
}

/// The sizes of a LlamaGen of the catalog.
fn llamagen_sizes(name: &str) -> LlamaGenConfig {
    LlamaGenConfig::of(entry(name).unwrap())
}

/// The sizes of a Janus-Pro of the catalog.
fn janus_sizes(name: &str) -> JanusConfig {
    JanusConfig::of(entry(name).unwrap())
}

fn vq_inventory(config: &Vq16Config, names: Vq16Names) -> Vec<Expected> {
    inventory(|source| Vq16::new(source, config, names).map(|_| ())).unwrap()
}

#[test]
fn the_published_sizes_have_the_published_numbers_of_parameters() {
    let n = |name| {
        n_parameters(&LlamaGenNetwork::expected(&llamagen_sizes(name), LlamaGenNames::Original).unwrap())
    };
    // Millions, as the model cards round them; the table of the empty caption is counted, which it is not there.
    let millions = |n: i64| (n as f64 / 1e6).round() as i64;
    assert_eq!(millions(n("llamagen-c2i-b-256")), 111);
    assert_eq!(millions(n("llamagen-c2i-l-384")), 343);
    assert_eq!(millions(n("llamagen-c2i-xl-384")), 775);
    assert_eq!(millions(n("llamagen-t2i-xl-512")), 778);
    assert_eq!(n_parameters(&T5Encoder::expected(&T5Config::FLAN_XL).unwrap()), 1_223_527_424);
    let vq = vq_inventory(&Vq16Config::PUBLISHED, Vq16Names::Original);
    let decoder: Vec<Expected> = vq.into_iter().filter(|entry| entry.name.starts_with("decoder.")).collect();
    assert_eq!(millions(n_parameters(&decoder)), 42);
}

#[test]
fn both_layouts_of_a_network_hold_the_same_numbers() {
    let of_llamagen = |names| {
        n_parameters(&LlamaGenNetwork::expected(&llamagen_sizes("llamagen-t2i-xl-512"), names).unwrap())
    };
    assert_eq!(of_llamagen(LlamaGenNames::Original), of_llamagen(LlamaGenNames::HuggingFace));
    let of_janus =
        |names| n_parameters(&JanusNetwork::expected(&janus_sizes("janus-pro-1b"), names).unwrap());
    assert_eq!(of_janus(JanusNames::Original), of_janus(JanusNames::HuggingFace));
}

#[test]
fn inventories_have_the_names_and_shapes_of_the_published_files() {
    let all =
        LlamaGenNetwork::expected(&llamagen_sizes("llamagen-t2i-xl-512"), LlamaGenNames::Original).unwrap();
    let of = |all: &[Expected], name: &str| {
        all.iter().find(|entry| entry.name == name).unwrap_or_else(|| panic!("{name}")).shape.clone()
    };
    assert_eq!(of(&all, "layers.35.attention.wqkv.weight"), [3840, 1280]);
    assert_eq!(of(&all, "layers.0.feed_forward.w2.weight"), [1280, 3584]);
    assert_eq!(of(&all, "cls_embedding.cap_proj.fc1.weight"), [1280, 2048]);
    assert_eq!(of(&all, "cls_embedding.uncond_embedding"), [120, 2048]);
    assert_eq!(all.len(), 6 + 36 * 7);
    let all = LlamaGenNetwork::expected(&llamagen_sizes("llamagen-t2i-xl-512"), LlamaGenNames::HuggingFace)
        .unwrap();
    assert_eq!(of(&all, "model.layers.35.self_attn.k_proj.weight"), [1280, 1280]);
    assert_eq!(of(&all, "lm_head.weight"), [16_384, 1280]);
    let all = JanusNetwork::expected(&janus_sizes("janus-pro-7b"), JanusNames::Original).unwrap();
    assert_eq!(of(&all, "language_model.model.layers.29.mlp.down_proj.weight"), [4096, 11_008]);
    assert_eq!(of(&all, "gen_head.vision_head.bias"), [16_384]);
    assert_eq!(of(&all, "gen_aligner.layers.0.weight"), [4096, 8]);
    let head = drafter_config(&llamagen_sizes("llamagen-t2i-xl-512"), 1e-6);
    let names: Vec<String> =
        LanternHead::expected(&head, 1280, 16_384).unwrap().into_iter().map(|entry| entry.name).collect();
    let layer = "layers.0.";
    let mut expected = ["embed_tokens.weight", "fc.weight", "fc.bias"].map(str::to_owned).to_vec();
    for part in ["q_proj", "k_proj", "v_proj", "o_proj"] {
        expected.push(format!("{layer}self_attn.{part}.weight"));
    }
    expected.push(format!("{layer}post_attention_layernorm.weight"));
    for part in ["gate_proj", "up_proj", "down_proj"] {
        expected.push(format!("{layer}mlp.{part}.weight"));
    }
    assert_eq!(names, expected);
}

type Read = fn(&mut dyn ParamSource) -> Result<(), LoadError>;

/// Every component: its name, what it expects, and how it is read.
fn components() -> Vec<(&'static str, Vec<Expected>, Read)> {
    let head = || drafter_config(&LLAMAGEN, 1e-6);
    vec![
        ("LlamaGen", LlamaGenNetwork::expected(&LLAMAGEN, LlamaGenNames::Original).unwrap(), |source| {
            LlamaGenNetwork::new(source, &LLAMAGEN, LlamaGenNames::Original).map(|_| ())
        }),
        (
            "LlamaGen by LANTERN",
            LlamaGenNetwork::expected(&LLAMAGEN, LlamaGenNames::HuggingFace).unwrap(),
            |source| LlamaGenNetwork::new(source, &LLAMAGEN, LlamaGenNames::HuggingFace).map(|_| ()),
        ),
        ("head", LanternHead::expected(&head(), 32, 40).unwrap(), |source| {
            LanternHead::eagle1(source, &drafter_config(&LLAMAGEN, 1e-6), Mixed::Pairs, (32, 40)).map(|_| ())
        }),
        ("EAGLE-3 head", eagle3_inventory(true), |source| {
            LanternHead::eagle3(source, &eagle3_config(), Mixed::Pairs, (32, 40)).map(|_| ())
        }),
        ("head of Janus", inventory(|source| janus_head(source, true, true)).unwrap(), |source| {
            janus_head(source, true, true).map(|_| ())
        }),
        ("Janus", JanusNetwork::expected(&JANUS, JanusNames::Original).unwrap(), |source| {
            JanusNetwork::new(source, &JANUS, JanusNames::Original).map(|_| ())
        }),
        (
            "Janus of transformers",
            JanusNetwork::expected(&JANUS, JanusNames::HuggingFace).unwrap(),
            |source| JanusNetwork::new(source, &JANUS, JanusNames::HuggingFace).map(|_| ()),
        ),
        ("tokenizer", vq_inventory(&VQ, Vq16Names::Original), |source| {
            Vq16::new(source, &VQ, Vq16Names::Original).map(|_| ())
        }),
        ("tokenizer of transformers", vq_inventory(&VQ, Vq16Names::HuggingFace), |source| {
            Vq16::new(source, &VQ, Vq16Names::HuggingFace).map(|_| ())
        }),
        ("Emu3", WordLlama::expected(&EMU3.shape(Emu3Names::Original)).unwrap(), |source| {
            WordLlama::new(source, &EMU3.shape(Emu3Names::Original), &emu3_words()).map(|_| ())
        }),
        (
            "Emu3 of transformers",
            WordLlama::expected(&EMU3.shape(Emu3Names::HuggingFace)).unwrap(),
            |source| WordLlama::new(source, &EMU3.shape(Emu3Names::HuggingFace), &emu3_words()).map(|_| ()),
        ),
        ("Liquid", WordLlama::expected(&LIQUID.shape()).unwrap(), |source| {
            WordLlama::new(source, &LIQUID.shape(), &liquid_words()).map(|_| ())
        }),
        ("pictures of Emu3", emu3_pictures(VqNames::ORIGINAL), |source| {
            Emu3Vq::new(source, &EMU3_VQ, VqNames::ORIGINAL).map(|_| ())
        }),
        ("pictures of Emu3 of transformers", emu3_pictures(VqNames::NEWER), |source| {
            Emu3Vq::new(source, &EMU3_VQ, VqNames::NEWER).map(|_| ())
        }),
        ("T5", T5Encoder::expected(&TEXT).unwrap(), |source| T5Encoder::new(source, &TEXT).map(|_| ())),
    ]
}

fn load(file: &Path, read: Read) -> Result<(), LoadError> {
    let mut files = SeveralFiles::open(&[file.to_owned()])?;
    read(&mut files)?;
    files.finish()
}

#[test]
fn a_whole_file_loads_and_one_tensor_too_few_too_many_or_misshapen_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("weights.safetensors");
    for (what, expected, read) in components() {
        let whole = all_by_recipe(&expected);
        let written = |change: &dyn Fn(&mut BTreeMap<String, Tensor>)| {
            let mut tensors: BTreeMap<String, Tensor> =
                whole.iter().map(|(name, tensor)| (name.clone(), tensor.shallow_clone())).collect();
            change(&mut tensors);
            write_safetensors(&file, &tensors).unwrap();
            load(&file, read)
        };
        written(&|_| ()).unwrap_or_else(|error| panic!("{what}: {error}"));
        let some = &expected[expected.len() / 2];
        match written(&|tensors| drop(tensors.remove(&some.name))) {
            Err(LoadError::MissingTensor { path, name, .. }) => {
                assert_eq!((path, name), (file.clone(), some.name.clone()))
            }
            other => panic!("{what}: {other:?}"),
        }
        match written(&|tensors| drop(tensors.insert("one.more".into(), Tensor::from_slice(&[1.0_f32])))) {
            Err(LoadError::Unexpected { n, first, .. }) => assert_eq!((n, first.as_str()), (1, "one.more")),
            other => panic!("{what}: {other:?}"),
        }
        let wide: Vec<i64> = some.shape.iter().map(|n| n + 1).collect();
        let misshapen = Tensor::zeros(&wide, (Kind::Float, Device::Cpu));
        match written(&|tensors| drop(tensors.insert(some.name.clone(), misshapen.shallow_clone()))) {
            Err(LoadError::WrongShape { path, name, expected, found }) => {
                assert_eq!((path, name), (file.clone(), some.name.clone()), "{what}");
                assert_eq!((expected, found), (some.shape.clone(), wide), "{what}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
}

fn part(role: &str, files: &[&str]) -> &'static Part {
    part_of("owner/small", role, files)
}

/// A model of captions whose parts are in one repository.
fn small_llamagen() -> LlamaGenWeights {
    let head = |kind, entry, part| HeadSource { kind, weights: "standard", entry, part };
    LlamaGenWeights {
        name: "llamagen-t2i-xl-512",
        config: LLAMAGEN,
        vq: VQ,
        text: TEXT,
        parts: vec![
            part("target", &["target.safetensors"]),
            part("tokenizer", &["vq.safetensors"]),
            part("text encoder", &["t5-1.safetensors", "t5-2.safetensors"]),
            part("text tokenizer", &["tokenizer.json"]),
        ],
        heads: vec![
            head(HeadKind::Eagle1, "small-drafter", part("drafter", &["drafter/model.safetensors"])),
            head(
                HeadKind::Eagle3,
                "small-drafter-eagle3",
                part("drafter eagle3", &["drafter-eagle3/model.safetensors"]),
            ),
        ],
    }
}

fn small_janus() -> JanusWeights {
    JanusWeights {
        name: "janus-pro-1b",
        config: JanusConfig { n_words: 300, pad: 256, ..JANUS },
        vq: VQ,
        parts: vec![part("target", &["janus.safetensors"]), part("text tokenizer", &["tokenizer.json"])],
        heads: vec![HeadSource {
            kind: HeadKind::Eagle1,
            weights: "standard",
            entry: "small-drafter",
            part: part("drafter", &["drafter/model.safetensors"]),
        }],
    }
}

/// Writes tensors by recipe below `root`, with `more` that the product does not read.
fn write(root: &Path, file: &str, inventory: &[Expected], more: &[&str]) {
    let path = root.join("weights/owner/small").join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut tensors = all_by_recipe(inventory);
    for name in more {
        tensors.insert((*name).to_owned(), Tensor::from_slice(&[1.0_f32]));
    }
    write_safetensors(&path, &tensors).unwrap();
}

fn copy_tokenizer(root: &Path, name: &str) {
    let from = path(&format!("../../weights/toy/{name}-tokenizer.json"));
    std::fs::copy(from, root.join("weights/owner/small/tokenizer.json")).unwrap();
}

fn write_llamagen(root: &Path) {
    let names = LlamaGenNames::HuggingFace;
    let computed = ["model.freqs_cis"];
    write(root, "target.safetensors", &LlamaGenNetwork::expected(&LLAMAGEN, names).unwrap(), &computed);
    let encoder = ["encoder.conv_in.weight", "quant_conv.bias", "quantize.codebook_used"];
    write(root, "vq.safetensors", &vq_inventory(&VQ, Vq16Names::Original), &encoder);
    let text = T5Encoder::expected(&TEXT).unwrap();
    let (first, second) = text.split_at(text.len() / 2);
    write(root, "t5-1.safetensors", first, &["decoder.final_layer_norm.weight"]);
    write(root, "t5-2.safetensors", second, &["lm_head.weight"]);
    copy_tokenizer(root, "t5");
}

/// The data folder `root` and no other place.
fn only(root: &Path) -> Places {
    Places { own: vec![root.to_owned()], ..Places::default() }
}

/// A picture that an opened model draws: its first tokens are the likeliest, and the rest token 0.
fn draw(model: &LoadedModel, prompt: &str, side: u32) {
    let mut generation = model.open(prompt, &GUIDED, 8).unwrap();
    assert_eq!(generation.prefill().len(), 40);
    let picture = model.picture(&vec![TokenId(3); model.n_tokens]);
    assert_eq!((picture.width, picture.height), (side, side));
    assert!(picture.rgb.iter().any(|&level| level != picture.rgb[0]), "a picture is not of one grey");
}

#[test]
fn a_model_of_captions_opens_from_its_files_and_names_each_with_its_digest() {
    let folder = tempfile::tempdir().unwrap();
    write_llamagen(folder.path());
    let open = || {
        LlamaGen::open(&small_llamagen(), &only(folder.path()), Kind::Float, Device::Cpu)
            .unwrap()
            .into_model(Device::Cpu)
            .unwrap()
    };
    let model = open();
    draw(&model, "a red circle", 12);
    let roles: Vec<&str> = model.weights.iter().map(|weights| &*weights.role).collect();
    assert_eq!(roles, ["target", "tokenizer", "text encoder", "text encoder 2", "text tokenizer"]);
    let generation = model.open("a red circle", &GUIDED, 8).unwrap();
    let refused =
        model.drafter(&DrafterKind::Eagle1(None), &generation, 8).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("no drafter in "), "{refused}");

    let other = DrafterKind::Eagle1(Some("other".into()));
    let refused = model.drafter(&other, &generation, 8).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("no drafter `eagle1 with weights other`; it has: eagle1, eagle3"), "{refused}");

    let head = LanternHead::expected(&drafter_config(&LLAMAGEN, 1e-6), 32, 40).unwrap();
    write(folder.path(), "drafter/model.safetensors", &head, &[]);
    let model = open();
    let generation = model.open("a red circle", &GUIDED, 8).unwrap();
    for named in [None, Some("standard".to_owned())] {
        assert!(model.drafter(&DrafterKind::Eagle1(named), &generation, 8).is_ok());
    }
    assert_eq!(model.weights.last().unwrap().role, "drafter");
    let refused =
        model.drafter(&DrafterKind::Eagle3(None), &generation, 8).map(|_| ()).unwrap_err().to_string();
    assert!(refused.contains("\n    specimen data fetch small-drafter-eagle3"), "{refused}");
}

/// An EAGLE-1 head for [`JANUS`].
fn janus_head(source: &mut dyn ParamSource, bias: bool, input_norm: bool) -> Result<EagleHead, LoadError> {
    let config = EagleConfig { bias, input_norm, ..JANUS.headed().eagle1(1e-6) };
    let mut named = PublishedNames::new(source, LayerNames::HuggingFace, Mixed::Halves, JANUS.d_head());
    EagleHead::new(&mut named, &config, JANUS.d_model)
}

/// What an EAGLE-3 head for [`LLAMAGEN`] asks for, with an embedding of its own or the target's.
fn eagle3_inventory(brings_tokens: bool) -> Vec<Expected> {
    let (config, sizes) = (eagle3_config(), (32, 40));
    let listed = match brings_tokens {
        true => inventory(|source| LanternHead::eagle3(source, &config, Mixed::Pairs, sizes).map(|_| ())),
        false => inventory(|source| eagle3_file::published(source, &config, Mixed::Pairs, sizes).map(|_| ())),
    };
    listed.unwrap()
}

/// An EAGLE-3 head for [`LLAMAGEN`].
fn eagle3_config() -> Eagle3Config {
    Eagle3Config::published(LLAMAGEN.stack().layer, LLAMAGEN.n_layers, 1e-6)
}

#[test]
fn an_eagle_3_head_opens_with_an_embedding_of_its_own_or_without_one() {
    let names: Vec<String> = eagle3_inventory(true).into_iter().map(|entry| entry.name).collect();
    let layer = |part: &str| format!("midlayer.{part}.weight");
    let expected = [
        "embed_tokens.weight".to_owned(),
        "fc.weight".into(),
        layer("input_layernorm"),
        layer("hidden_norm"),
        layer("self_attn.q_proj"),
        layer("self_attn.k_proj"),
        layer("self_attn.v_proj"),
        layer("self_attn.o_proj"),
        layer("post_attention_layernorm"),
        layer("mlp.gate_proj"),
        layer("mlp.up_proj"),
        layer("mlp.down_proj"),
        "norm.weight".into(),
        "lm_head.weight".into(),
    ];
    assert_eq!(names, expected);
    for brings_tokens in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        write_llamagen(folder.path());
        write(folder.path(), "drafter-eagle3/model.safetensors", &eagle3_inventory(brings_tokens), &[]);
        let model = LlamaGen::open(&small_llamagen(), &only(folder.path()), Kind::Float, Device::Cpu)
            .unwrap()
            .into_model(Device::Cpu)
            .unwrap();
        assert_eq!(model.weights.last().unwrap().role, "drafter eagle3");
        let mut generation = model.open("a red circle", &GUIDED, 8).unwrap();
        let (mut drafter, _) = model.drafter(&DrafterKind::Eagle3(None), &generation, 8).unwrap();
        generation.prefill();
        assert_eq!(drafter.begin(&[TokenId(3)]).len(), 40);
    }
}

#[test]
fn janus_opens_from_either_layout_with_its_other_half_in_the_file() {
    for (names, vq, more) in [
        (
            JanusNames::Original,
            "gen_vision_model.",
            ["vision_model.blocks.0.weight", "aligner.layers.0.bias", "language_model.lm_head.weight"],
        ),
        (
            JanusNames::HuggingFace,
            "model.vqmodel.",
            ["model.vision_model.embeddings.bias", "model.aligner.fc1.bias", "lm_head.weight"],
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut all = JanusNetwork::expected(&small_janus().config, names).unwrap();
        all.extend(
            inventory(|source| Vq16::new(&mut Scoped::new(source, vq), &VQ, names.vq16()).map(|_| ()))
                .unwrap(),
        );
        let encoder = format!("{vq}encoder.conv_in.weight");
        write(folder.path(), "janus.safetensors", &all, &[&more[..], &[encoder.as_str()]].concat());
        copy_tokenizer(folder.path(), "janus");
        let open = || {
            Janus::open(&small_janus(), &only(folder.path()), Kind::Float, Device::Cpu)
                .unwrap()
                .into_model(Device::Cpu)
                .unwrap()
        };
        let model = open();
        draw(&model, "a bus near the sea", 12);
        let generation = model.open("a bus near the sea", &GUIDED, 8).unwrap();
        let refused =
            model.drafter(&DrafterKind::Eagle1(None), &generation, 8).map(|_| ()).unwrap_err().to_string();
        assert!(refused.contains("\n    specimen data fetch small-drafter"), "{refused}");
        for (bias, input_norm) in [(true, true), (false, false)] {
            let head = inventory(|source| janus_head(source, bias, input_norm));
            write(folder.path(), "drafter/model.safetensors", &head.unwrap(), &[]);
            let model = open();
            let mut generation = model.open("a bus near the sea", &GUIDED, 8).unwrap();
            let (mut drafter, _) = model.drafter(&DrafterKind::Eagle1(None), &generation, 8).unwrap();
            generation.prefill();
            assert_eq!(drafter.begin(&[TokenId(3)]).len(), 40);
        }
    }
}

/// Everything that a published model of the catalog is loaded from.
fn every_published() -> Vec<(&'static str, Vec<&'static Part>)> {
    let published = entry::targets().filter(|(model, _)| !model.files.is_empty());
    published.map(|(model, _)| (model.name.as_str(), model.all_parts())).collect()
}

fn every_head() -> Vec<(&'static str, &'static Part)> {
    let heads = entry::targets().flat_map(|(model, _)| HeadSource::all_of(model));
    heads.map(|head| (head.entry, head.part)).collect()
}

#[test]
fn every_model_of_the_catalog_has_the_sizes_of_its_family() {
    for (model, target) in entry::targets() {
        let (n_tokens, name) = (target.n_tokens, &model.name);
        match target.family {
            Family::Llamagen => assert_eq!(LlamaGenConfig::of(model).n_tokens() as usize, n_tokens, "{name}"),
            Family::Janus => assert_eq!(JanusConfig::of(model).n_tokens() as usize, n_tokens, "{name}"),
            Family::Chameleon => {
                let is_toy = model.files.is_empty();
                let vqgan =
                    if is_toy { chameleon::made::vqgan() } else { chameleon::VqganConfig::chameleon() };
                let recipe = chameleon::Recipe::of(model, vqgan);
                assert_eq!(recipe.form.n_tokens(), n_tokens, "{name}");
                assert_eq!(recipe.pixels(), [target.width, target.height], "{name}");
            }
            Family::Emu3 => {
                let form = Emu3Config::of(model).form();
                let toy = Emu3VqConfig::toy(64);
                let scale = if model.files.is_empty() { toy } else { Emu3VqConfig::PUBLISHED }.scale();
                assert_eq!(form.n_tokens(), n_tokens, "{name}");
                let pixels = [form.columns, form.rows].map(|n| n * scale as usize);
                assert_eq!(pixels, [target.width, target.height], "{name}");
            }
            Family::Liquid => {
                let (form, is_toy) = (LiquidConfig::of(model).form(), model.files.is_empty());
                let vqgan =
                    if is_toy { chameleon::made::vqgan() } else { chameleon::VqganConfig::chameleon() };
                assert_eq!(form.n_tokens(), n_tokens, "{name}");
                let pixels = [form.columns, form.rows].map(|n| n * vqgan.scale() as usize);
                assert_eq!(pixels, [target.width, target.height], "{name}");
            }
            Family::Igpt | Family::Tiny | Family::Stub => {}
        }
    }
}

/// Writes the files of `choice` into `folder`; an index lists one shard, which is written too.
fn lay(choice: &Choice, folder: &Path) {
    std::fs::create_dir_all(folder).unwrap();
    for file in &choice.files {
        let is_index = file == INDEX;
        let text = if is_index { r#"{ "weight_map": { "x": "only.safetensors" } }"# } else { "" };
        let path = folder.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
        if is_index {
            std::fs::write(folder.join("only.safetensors"), "").unwrap();
        }
    }
}

#[test]
fn wherever_a_part_may_lie_the_loader_finds_it_and_the_plan_misses_nothing() {
    let all =
        every_published().into_iter().chain(every_head().into_iter().map(|(name, part)| (name, vec![part])));
    for (name, parts) in all {
        let folder = tempfile::tempdir().unwrap();
        let [data, cache, hub] = ["data", "cache", "hub"].map(|place| folder.path().join(place));
        let places =
            Places { own: vec![data.clone(), cache.clone()], hub: Some(hub.clone()), ..Places::default() };
        let n_missing = || -> usize {
            let all = entry(name).unwrap().with_needs();
            all.into_iter().map(|entry| places.missing(entry).len()).sum()
        };
        let n_ways = parts.iter().map(|part| part.choices.len()).max().unwrap();
        // One way after the other, all parts of a model in the same kind of place.
        for (way, place) in (0..n_ways).flat_map(|way| [&data, &cache, &hub].map(|place| (way, place))) {
            assert_ne!(n_missing(), 0, "{name}");
            assert!(find_all(&places, name, &parts).is_err(), "{name}");
            let mut folders = Vec::new();
            for part in &parts {
                let choice = part.choices.get(way).unwrap_or(&part.choices[0]);
                // A folder of the model's own is no repository of the hub, unless somebody calls one so.
                let folder = if *place == hub {
                    hub.join(format!("models--{}/snapshots/abc", choice.repo.replace('/', "--")))
                } else {
                    place.join("weights").join(&choice.repo)
                };
                lay(choice, &folder);
                folders.push(folder);
            }
            let found = find_all(&places, name, &parts).unwrap_or_else(|error| panic!("{error}"));
            for (paths, folder) in found.iter().zip(&folders) {
                assert!(paths.iter().all(|path| path.starts_with(folder)), "{name}: {paths:?}");
            }
            assert_eq!(n_missing(), 0, "{name} in {folders:?}");
            for top in [&data, &cache, &hub] {
                let _ = std::fs::remove_dir_all(top);
            }
        }
    }
}

#[test]
fn absent_parts_are_named_all_at_once_with_the_folders_and_the_command() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places { own: vec![folder.path().to_owned()], hub: Some("hub".into()), ..Places::default() };
    for (model, parts) in every_published() {
        let message = find_all(&places, model, &parts).unwrap_err().to_string();
        for part in parts {
            assert!(message.contains(&part.role), "{message}");
        }
        let looked = format!(" in {} and hub;", folder.path().join("weights").display());
        let command = format!("\n    specimen data fetch {model}");
        assert!(message.contains(&looked) && message.ends_with(&command), "{message}");
    }
}
