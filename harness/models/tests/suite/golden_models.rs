//! Whole models against the classes of transformers, from files and a prompt to the drafts that `drafter()` makes
//! (`golden/make_models.py`): bases and epsilons that are no default, three heads of odd widths, six layers and more.

use std::{collections::BTreeMap, path::PathBuf, rc::Rc, sync::LazyLock};

use specimen_catalog::{Part, hub::Places};
use specimen_decode::{
    dist::TokenId,
    generation::Generation,
    tree::{NodeId, Proposal, TokenTree},
};
use specimen_models::{
    families::{
        chameleon::{
            self, Chameleon, ChameleonConfig, ChameleonHead, KeyLayout, ModelFiles, QkNormShape, Vqgan, made,
        },
        igpt::{IgptBackbone, IgptConfig},
        janus::{Janus, JanusConfig, JanusNames, JanusNetwork, JanusWeights},
        llamagen::{
            Condition, LlamaGen, LlamaGenConfig, LlamaGenNames, LlamaGenNetwork, LlamaGenWeights,
            drafter_config,
            t5::{CaptionFeatures, T5Config, T5Encoder},
        },
        text_tokenizer::TextTokenizer,
        tiny::{TargetConfig, TinyBackbone},
    },
    files::{
        inventory::{Expected, inventory},
        published_names::{LayerNames, Mixed, PublishedNames},
    },
    heads::{
        described_head::HeadKind, drafters::DrafterKind, eagle::EagleHead, eagle3::Eagle3Config,
        head_sources::HeadSource, lantern_head::LanternHead,
    },
    picture::{
        pixels::{Rounding, picture},
        vq16::{Vq16, Vq16Config, Vq16Names},
    },
    seam::{
        distributions::distributions, generation::ModelGeneration, loaded_model::LoadedModel,
        model_error::ModelError,
    },
};
use specimen_weights::{Init, LoadError, ParamSource, Scoped, write_safetensors};
use tch::{Device, Kind, Tensor, no_grad};

use crate::{
    golden::{Recipe, all_by_recipe, by_recipe, check_close, numbers, path, tensor},
    golden_llama::{F32, MAX_TREE, VQ},
    support::{GUIDED, PLAIN, both_ways, check_distribution, part_of, row_values},
};

/// The tokens behind which heads draft, and the tree below the last of them.
pub(crate) const KNOWN: [u32; 3] = [3, 11, 7];
const TREE: [(i32, u32); 6] = [(-1, 5), (-1, 15), (0, 7), (0, 2), (2, 13), (1, 7)];

/// The largest distance between two f32 ways to a distribution: eight layers of sums of at most 100 products.
pub(crate) const DISTRIBUTION: f32 = 1e-5;

pub(crate) fn part(role: &str, file: &str) -> &'static Part {
    part_of("owner/deep", role, &[file])
}

pub(crate) fn head(kind: HeadKind, weights: &'static str, file: &str) -> HeadSource {
    HeadSource { kind, weights, entry: "deep-drafter", part: part("drafter", file) }
}

/// The epsilon of the published configuration, which the file beside the weights overrules.
const OVERRULED: f64 = 0.3;

static LLAMAGEN: LazyLock<LlamaGenWeights> = LazyLock::new(|| LlamaGenWeights {
    name: "llamagen-t2i-xl-512",
    config: LlamaGenConfig {
        n_layers: 8,
        n_heads: 3,
        d_model: 36,
        d_ffn: 44,
        n_vocab: 40,
        grid: 3,
        condition: Condition::Caption { n_slots: 12, d_caption: 10 },
        rope_base: 700.0,
        norm_eps: OVERRULED,
    },
    vq: VQ,
    text: T5Config {
        n_layers: 6,
        n_heads: 3,
        d_model: 10,
        d_head: 7,
        d_ffn: 22,
        n_words: 128,
        n_buckets: 12,
        max_distance: 6,
        norm_eps: 0.02,
    },
    parts: vec![
        part("target", "target.safetensors"),
        part("tokenizer", "vq.safetensors"),
        part("text encoder", "t5.safetensors"),
        part("text tokenizer", "tokenizer.json"),
    ],
    heads: vec![
        head(HeadKind::Eagle1, "standard", "eagle1/model.safetensors"),
        head(HeadKind::Eagle1, "itself", "eagle1-itself/model.safetensors"),
        head(HeadKind::Eagle1, "quiet", "eagle1-quiet/model.safetensors"),
        head(HeadKind::Eagle3, "standard", "eagle3/model.safetensors"),
        head(HeadKind::Eagle3, "itself", "eagle3-itself/model.safetensors"),
    ],
});

static JANUS: LazyLock<JanusWeights> = LazyLock::new(|| JanusWeights {
    name: "janus-pro-1b",
    config: JanusConfig {
        n_layers: 6,
        n_heads: 3,
        d_model: 30,
        d_ffn: 46,
        n_words: 320,
        n_vocab: 40,
        d_code: 8,
        grid: 3,
        n_positions: 64,
        pad: 256,
        rope_base: 300.0,
        norm_eps: 0.02,
    },
    vq: VQ,
    parts: vec![part("target", "janus.safetensors"), part("text tokenizer", "tokenizer.json")],
    heads: vec![head(HeadKind::Eagle1, "standard", "drafter/model.safetensors")],
});

const CHAMELEON: &str = r#"{
    "model_type": "chameleon", "vocab_size": 352, "hidden_size": 30, "intermediate_size": 46, "num_hidden_layers": 6,
    "num_attention_heads": 3, "max_position_embeddings": 160, "rms_norm_eps": 0.02, "rope_theta": 400.0
}"#;

/// A data folder in which files are written by recipe.
pub(crate) struct Desk(tempfile::TempDir);

impl Desk {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        let path = self.0.path().join("weights/owner/deep").join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    /// Tensors by recipe; those whose names begin with `fc.` times `quieter`.
    pub(crate) fn write(&self, name: &str, inventory: &[Expected], quieter: f64) {
        let mut tensors = all_by_recipe(inventory);
        for (_, fc) in tensors.iter_mut().filter(|(name, _)| name.starts_with("fc.")) {
            *fc = &*fc * quieter;
        }
        write_safetensors(&self.file(name), &tensors).unwrap();
    }

    pub(crate) fn config(&self, name: &str, text: &str) {
        std::fs::write(self.file(name), text).unwrap();
    }

    fn tokenizer(&self, name: &str) {
        let from = path(&format!("../../weights/toy/{name}-tokenizer.json"));
        std::fs::copy(from, self.file("tokenizer.json")).unwrap();
    }

    pub(crate) fn places(&self) -> Places {
        Places { own: vec![self.0.path().to_owned()], ..Places::default() }
    }
}

fn vq(prefix: &'static str, config: &Vq16Config, names: Vq16Names) -> Vec<Expected> {
    inventory(|source| Vq16::new(&mut Scoped::new(source, prefix), config, names).map(|_| ())).unwrap()
}

fn llamagen_desk() -> Desk {
    let (desk, config) = (Desk::new(), &LLAMAGEN.config);
    desk.write(
        "target.safetensors",
        &LlamaGenNetwork::expected(config, LlamaGenNames::HuggingFace).unwrap(),
        1.0,
    );
    desk.config("target.json", r#"{ "rms_norm_eps": 0.02 }"#);
    desk.write("vq.safetensors", &vq("", &VQ, Vq16Names::Original), 1.0);
    desk.write("t5.safetensors", &T5Encoder::expected(&LLAMAGEN.text).unwrap(), 1.0);
    desk.tokenizer("t5");
    let eagle1 = LanternHead::expected(&drafter_config(config, 0.0), 36, 40).unwrap();
    let eagle3 = inventory(|source| {
        let config = Eagle3Config::published(config.stack().layer, config.n_layers, 0.0);
        LanternHead::eagle3(source, &config, Mixed::Halves, (36, 40)).map(|_| ())
    });
    let eagle3 = eagle3.unwrap();
    for (name, inventory, quieter, config) in [
        ("eagle1", &eagle1, 1.0, Some(r#"{ "rms_norm_eps": 0.005 }"#)),
        ("eagle1-itself", &eagle1, 1.0, Some(r#"{ "rms_norm_eps": 0.005, "prefix_pads": "itself" }"#)),
        ("eagle1-quiet", &eagle1, 2_f64.powi(-10), None),
        ("eagle3", &eagle3, 1.0, Some(r#"{ "rms_norm_eps": 0.03, "prefix_pads": "earlier" }"#)),
        ("eagle3-itself", &eagle3, 1.0, Some(r#"{ "rms_norm_eps": 0.03, "prefix_pads": "itself" }"#)),
    ] {
        desk.write(&format!("{name}/model.safetensors"), inventory, quieter);
        if let Some(config) = config {
            desk.config(&format!("{name}/config.json"), config);
        }
    }
    desk
}

fn llamagen(desk: &Desk) -> Result<LlamaGen, ModelError> {
    LlamaGen::open(&LLAMAGEN, &desk.places(), Kind::Float, Device::Cpu)
}

/// Asserts that `model` draws tokens as its codes decoded become bytes by `rounding`. `decode`: `[1, rows, columns]`
/// to `[1, 3, height, width]`.
#[track_caller]
pub(crate) fn check_picture(
    model: &LoadedModel,
    side: i64,
    rounding: Rounding,
    decode: impl FnOnce(&Tensor) -> Tensor,
) {
    let ids: Vec<i64> = (0..side * side).map(|at| (7 * at + 3) % 16).collect();
    let tokens: Vec<TokenId> = ids.iter().map(|&id| TokenId(id as u32)).collect();
    let pixels = no_grad(|| decode(&Tensor::from_slice(&ids).view([1, side, side])).get(0));
    assert_eq!(model.picture(&tokens), picture(&pixels, rounding));
}

/// Decodes behind `prompt` and compares what the target and the head of `kind` say with `logits` and with the tensor
/// `drafts` of the golden file, in both ways to run a step.
#[track_caller]
pub(crate) fn check_drafts(model: &LoadedModel, prompt: &str, kind: &DrafterKind, file: &str, drafts: &str) {
    for (way, mut generation) in both_ways(model.open(prompt, &GUIDED, MAX_TREE).unwrap()) {
        let what = format!("{file}, {drafts}, {way}");
        let (mut draft, _) = model.drafter(kind, &generation, MAX_TREE).unwrap();
        check_steps(&mut generation, file, &KNOWN[..2], &what);
        let mut tree = TokenTree::new(TokenId(KNOWN[2]));
        for (parent, token) in TREE {
            tree.push(NodeId((parent + 1) as usize), TokenId(token), Proposal::Chosen);
        }
        let mut found = vec![draft.begin(&KNOWN.map(TokenId))];
        found.resize(tree.len(), found[0].clone());
        for depth in 1..=3 {
            let level: Vec<NodeId> = tree.ids().filter(|&id| tree[id].depth == depth).collect();
            for (node, distribution) in level.iter().zip(draft.expand(&tree, &level)) {
                found[node.0] = distribution;
            }
        }
        let expected = distributions(&tensor(file, drafts), &GUIDED);
        for (at, distribution) in found.iter().enumerate() {
            let row = row_values(&expected.get(at as i64));
            check_distribution(distribution, &row, DISTRIBUTION, &format!("{what}, node {at}"));
        }
    }
}

/// Commits `tokens` in both ways to run a step, and compares every distribution of the target on the way, and the one
/// behind the last of [`KNOWN`].
#[track_caller]
pub(crate) fn check_target(generation: ModelGeneration, file: &str, tokens: &[u32]) {
    for (way, mut generation) in both_ways(generation) {
        check_steps(&mut generation, file, tokens, &format!("{file}, {way}"));
    }
}

#[track_caller]
fn check_steps(generation: &mut ModelGeneration, file: &str, tokens: &[u32], what: &str) {
    let expected = distributions(&tensor(file, "logits"), generation.sampling());
    let row = |at: i64| row_values(&expected.get(at));
    check_distribution(&generation.prefill(), &row(0), DISTRIBUTION, what);
    for (at, &token) in (1..).zip(tokens) {
        let scores = generation.score(&TokenTree::new(TokenId(token)));
        check_distribution(&scores.dist(TokenTree::ROOT), &row(at), DISTRIBUTION, what);
        generation.commit(&[TokenTree::ROOT]);
    }
    let scores = generation.score(&TokenTree::new(TokenId(KNOWN[2])));
    check_distribution(&scores.dist(TokenTree::ROOT), &row(3), DISTRIBUTION, what);
}

fn eagle1(weights: &str) -> DrafterKind {
    DrafterKind::Eagle1(Some(weights.to_owned()))
}

fn eagle3(weights: &str) -> DrafterKind {
    DrafterKind::Eagle3(Some(weights.to_owned()))
}

const DEEP_LLAMAGEN: &str = "deep_llamagen.safetensors";

#[test]
fn llamagen_and_its_heads_have_the_distributions_of_the_reference_from_the_prompt_on() {
    let desk = llamagen_desk();
    let model = llamagen(&desk).unwrap();
    // Features of a prompt that is opened may have been kept by an earlier run: these are made here.
    let text = TextTokenizer::open(&desk.file("tokenizer.json")).unwrap();
    let encoder = T5Encoder::new(&mut Recipe, &LLAMAGEN.text).unwrap();
    let features = CaptionFeatures::new(text, encoder, None).of("a red bus", 12).unwrap();
    let prefix = no_grad(|| model.network.caption_prefix(&features, true));
    check_close(&prefix, &tensor(DEEP_LLAMAGEN, "prefix"), F32, "prefix");
    let model = model.into_model(Device::Cpu).unwrap();
    let vq = Vq16::new(&mut Recipe, &VQ, Vq16Names::Original).unwrap();
    check_picture(&model, 3, Rounding::Nearest, |ids| vq.decode(ids));
    let check = |kind: DrafterKind, drafts| check_drafts(&model, "a red bus", &kind, DEEP_LLAMAGEN, drafts);
    check(DrafterKind::Eagle1(None), "earlier.eagle1");
    check(DrafterKind::Eagle3(None), "earlier.eagle3");
    check(eagle1("quiet"), "quiet.eagle1");
}

#[test]
fn a_head_reads_pads_that_see_earlier_pads_unless_its_configuration_says_otherwise() {
    let desk = llamagen_desk();
    let model = llamagen(&desk).unwrap().into_model(Device::Cpu).unwrap();
    for (kind, head) in [(eagle1("itself"), "eagle1"), (eagle3("itself"), "eagle3")] {
        let (own, other) = (format!("itself.{head}"), format!("earlier.{head}"));
        check_drafts(&model, "a red bus", &kind, DEEP_LLAMAGEN, &own);
        let [own, other] = [own, other].map(|name| distributions(&tensor(DEEP_LLAMAGEN, &name), &GUIDED));
        let apart = (own - other).abs().max().double_value(&[]);
        assert!(apart > 100.0 * f64::from(DISTRIBUTION), "{head}: the two differ by {apart} only");
    }
    desk.config("eagle1/config.json", r#"{ "prefix_pads": "none" }"#);
    let error = llamagen(&desk).map(|_| ()).unwrap_err().to_string();
    for part in ["eagle1/model.safetensors", "`prefix_pads`", "`none`", "`earlier`", "`itself`"] {
        assert!(error.contains(part), "`{part}` is not in `{error}`");
    }
}

#[test]
fn a_head_whose_configuration_is_not_that_of_its_tensors_is_refused_by_entry() {
    let desk = llamagen_desk();
    let config = &LLAMAGEN.config;
    let said = |key: &str, value: &str| {
        desk.config("eagle1/config.json", &format!(r#"{{ "rms_norm_eps": 0.005, "{key}": {value} }}"#));
        llamagen(&desk).map(|_| ()).map_err(|error| error.to_string())
    };
    for (key, value) in [
        ("hidden_size", "10"),
        ("hidden_size", "0"),
        ("intermediate_size", "-1"),
        ("num_attention_heads", "1e9"),
        ("num_key_value_heads", "1"),
        ("num_hidden_layers", "0"),
        ("vocab_size", "16384"),
        ("head_dim", "2"),
        ("taps", "[0, 1]"),
        ("bias", "\"yes\""),
    ] {
        let error = said(key, value).unwrap_err();
        for part in ["eagle1/model.safetensors", "in the config.json beside it", &format!("`{key}` is ")] {
            assert!(error.contains(part), "`{part}` is not in `{error}`");
        }
    }
    for (key, value) in [
        ("hidden_size", config.d_model),
        ("intermediate_size", config.d_ffn),
        ("num_attention_heads", config.n_heads),
        ("vocab_size", config.n_vocab),
    ] {
        assert_eq!(said(key, &value.to_string()), Ok(()), "{key}");
    }
}

#[test]
fn without_a_configuration_the_published_epsilon_holds() {
    let desk = llamagen_desk();
    assert_eq!(llamagen(&desk).unwrap().network.config().norm_eps, 0.02);
    std::fs::remove_file(desk.file("target.json")).unwrap();
    assert_eq!(llamagen(&desk).unwrap().network.config().norm_eps, OVERRULED);
}

#[test]
fn janus_and_its_head_have_the_distributions_of_the_reference_from_the_prompt_on() {
    let (desk, names, file) = (Desk::new(), JanusNames::HuggingFace, "deep_janus.safetensors");
    let mut all = JanusNetwork::expected(&JANUS.config, names).unwrap();
    all.extend(vq("model.vqmodel.", &VQ, names.vq16()));
    desk.write("janus.safetensors", &all, 1.0);
    desk.tokenizer("janus");
    let head = inventory(|source| -> Result<(), LoadError> {
        let config = JANUS.config.headed().eagle1(0.0);
        let mut named = PublishedNames::new(source, LayerNames::HuggingFace, Mixed::Halves, 10);
        EagleHead::new(&mut named, &config, 30).map(|_| ())
    });
    let head = head.unwrap();
    let prompt = "a bus near the sea";
    let check = |drafts| {
        let model = Janus::open(&JANUS, &desk.places(), Kind::Float, Device::Cpu).unwrap();
        assert_eq!(model.prompt.words(prompt).unwrap(), numbers(file, "words"));
        let model = model.into_model(Device::Cpu).unwrap();
        let generation = model.open(prompt, &GUIDED, MAX_TREE).unwrap();
        check_close(generation.prefix(), &tensor(file, "prefix"), 0.0, "prefix");
        check_drafts(&model, prompt, &DrafterKind::Eagle1(None), file, drafts);
        let decoder = Vq16::new(&mut Scoped::new(&mut Recipe, "model.vqmodel."), &VQ, names.vq16()).unwrap();
        check_picture(&model, 3, Rounding::Cut, |ids| decoder.decode(ids));
    };
    desk.write("drafter/model.safetensors", &head, 2_f64.powi(-3));
    check("quiet.eagle1");
    desk.write("drafter/model.safetensors", &head, 1.0);
    desk.config("drafter/config.json", r#"{ "rms_norm_eps": 0.005 }"#);
    check("eagle1");
}

#[test]
fn chameleon_and_its_head_have_the_distributions_of_the_reference_from_the_prompt_on() {
    let desk = Desk::new();
    desk.config("config.json", CHAMELEON);
    let config = ChameleonConfig::read(&desk.file("config.json")).unwrap();
    let config = ChameleonConfig { qk_norm: QkNormShape::Rows(3), ..config };
    let named = |all: Vec<(String, Vec<i64>)>| -> Vec<Expected> {
        all.into_iter().map(|(name, shape)| Expected { name, shape }).collect()
    };
    desk.write("target.safetensors", &named(chameleon::inventory(&config, KeyLayout::Hf)), 1.0);
    let recipe = chameleon::Recipe::of(specimen_catalog::entry("anole-toy").unwrap(), made::vqgan());
    let picture = inventory(|source| Vqgan::new(source, &recipe.vqgan).map(|_| ())).unwrap();
    desk.write("vqgan.safetensors", &picture, 1.0);
    std::fs::write(desk.file("tokenizer.json"), made::TOKENIZER).unwrap();
    let mut of_head: BTreeMap<String, Tensor> =
        all_by_recipe(&named(ChameleonHead::inventory(&config, true)));
    let words = by_recipe(KeyLayout::Hf.embedding(), &[352, 30]);
    of_head.insert(ChameleonHead::embedding_name().to_owned(), words);
    write_safetensors(&desk.file("drafter.safetensors"), &of_head).unwrap();
    let files = ModelFiles {
        config: Some(desk.file("config.json")),
        target: vec![desk.file("target.safetensors")],
        tokenizer: desk.file("tokenizer.json"),
        picture: desk.file("vqgan.safetensors"),
    };
    let heads = [head(HeadKind::Eagle1, "standard", "drafter.safetensors")];
    let placed = (Kind::Float, Device::Cpu);
    let model = Chameleon::load(recipe, &files, (&heads, &desk.places()), placed).unwrap();
    let decoder = Vqgan::new(&mut Recipe, &model.recipe.vqgan).unwrap();
    let model = model.into_model(Device::Cpu).unwrap();
    check_picture(&model, 4, Rounding::Cut, |ids| decoder.decode(ids));
    let kind = DrafterKind::Eagle1(None);
    check_drafts(&model, "a red circle", &kind, "deep_chameleon.safetensors", "eagle1");
}

#[test]
fn the_embedded_models_architecture_has_the_distributions_of_the_reference_in_both_ways_through_it() {
    const FILE: &str = "deep_tiny.safetensors";
    let config = TargetConfig {
        d_model: 30,
        n_layers: 6,
        n_heads: 3,
        d_head: 12,
        d_ffn: 46,
        n_vocab: 40,
        grid: 3,
        caption_len: 5,
        n_words: 7,
        rope_base: 60.0,
        norm_eps: 0.02,
    };
    let words = tensor(FILE, "words");
    let mut backbone = no_grad(|| TinyBackbone::new(&mut Recipe, &config).unwrap());
    // Row `i` predicts token `i`; the last one is not fed.
    let tokens = Tensor::from_slice(&[3_i64, 11, 7, 0, 3, 11, 7, 0]).view([2, 4]);
    let whole = no_grad(|| backbone.features(&words, &tokens).linear(backbone.head(), None::<&Tensor>));
    check_close(&whole, &tensor(FILE, "logits"), F32, "whole sequences");
    backbone.prepare();
    let prefix = no_grad(|| backbone.embed_caption(&words));
    let generation = ModelGeneration::new(Rc::new(backbone), GUIDED, prefix, 9, MAX_TREE);
    check_target(generation, FILE, &KNOWN[..2]);
}

#[test]
fn image_gpt_has_the_distributions_of_the_reference() {
    let config = IgptConfig { d_model: 21, n_layers: 6, n_heads: 3, n_vocab: 16, side: 3 };
    let backbone = IgptBackbone::new(&mut Recipe, &config).unwrap();
    let prefix = backbone.prefix();
    let generation = ModelGeneration::new(Rc::new(backbone), PLAIN, prefix, 9, MAX_TREE);
    check_target(generation, "deep_igpt.safetensors", &KNOWN[..2]);
}

#[test]
fn a_quiet_picture_shows_the_epsilon_of_the_reference() {
    struct Quiet;
    impl ParamSource for Quiet {
        fn param(&mut self, name: &str, shape: &[i64], _: Init) -> Result<Tensor, LoadError> {
            let quieter = if name.starts_with("decoder.conv_in.") { 2_f64.powi(-10) } else { 1.0 };
            Ok(by_recipe(name, shape) * quieter)
        }
    }
    let (file, names) = ("deep_vq16.safetensors", Vq16Names::HuggingFace);
    let vq = Vq16::new(&mut Quiet, &VQ, names).unwrap();
    check_close(&no_grad(|| vq.decode(&tensor(file, "tokens"))), &tensor(file, "pixels"), F32, file);
}
