//! Files of the full layout at toy width: they are found, load strictly, and every kind of damage is named.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use specimen_catalog::hub::{Places, places::Given};
use specimen_decode::{dist::TokenId, generation::Generation, tree::TokenTree};
use specimen_models::families::chameleon::{
    Chameleon, ChameleonConfig, ChameleonHead, KeyLayout, ModelFiles, QkNormShape, Source, inventory, made,
};
use specimen_weights::{LoadError, write_safetensors};
use tch::{Device, Kind, Tensor};

use crate::{
    rule::{values, write},
    support::{MAX_TREE, Model, PLAIN, PROMPT, lumina},
};

type Inventory = Vec<(String, Vec<i64>)>;

/// `config.json` of the toy.
const CONFIG: &str = r#"{
    "model_type": "chameleon", "vocab_size": 352, "hidden_size": 16, "intermediate_size": 24,
    "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 2, "max_position_embeddings": 160
}"#;

/// The tensors of the picture decoder, by asking.
fn picture_inventory() -> Inventory {
    struct Asked(Inventory);
    impl specimen_weights::ParamSource for Asked {
        fn param(
            &mut self,
            name: &str,
            shape: &[i64],
            _: specimen_weights::Init,
        ) -> Result<Tensor, LoadError> {
            self.0.push((name.to_owned(), shape.to_vec()));
            Ok(values(name, shape))
        }
    }
    let mut asked = Asked(Vec::new());
    specimen_models::families::chameleon::Vqgan::new(&mut asked, &lumina().vqgan).unwrap();
    asked.0
}

/// Writes the files of a model into `folder`: two shards with their index, or one file in Meta's layout.
fn lay_out(folder: &Path, qk_norm: QkNormShape, layout: KeyLayout) {
    std::fs::create_dir_all(folder).unwrap();
    let config = ChameleonConfig { qk_norm, ..made::config() };
    let all = inventory(&config, layout);
    match layout {
        KeyLayout::Meta => write(&folder.join("consolidated.safetensors"), &all),
        KeyLayout::Hf => {
            std::fs::write(folder.join("config.json"), CONFIG).unwrap();
            let beside = ("model.vqmodel.encoder.conv_in.weight".to_owned(), vec![2, 3]);
            let (first, second) = all.split_at(5);
            let mut map = BTreeMap::new();
            for (file, part) in
                [("a.safetensors", first.to_vec()), ("b.safetensors", [second, &[beside]].concat())]
            {
                write(&folder.join(file), &part);
                map.extend(part.into_iter().map(|(name, _)| (name, file)));
            }
            let index = serde_json::json!({ "metadata": {}, "weight_map": map });
            std::fs::write(folder.join("model.safetensors.index.json"), index.to_string()).unwrap();
        }
    }
    std::fs::write(folder.join("tokenizer.json"), made::TOKENIZER).unwrap();
    let beside =
        [("encoder.conv_in.weight", vec![2, 3]), ("quant_conv.bias", vec![2]), ("loss.logvar", vec![1])];
    let beside = beside.map(|(name, shape)| (name.to_owned(), shape));
    write(&folder.join("vqgan.safetensors"), &[picture_inventory(), beside.to_vec()].concat());
    // The head repeats the target's embedding.
    let mut head: BTreeMap<String, Tensor> = ChameleonHead::inventory(&config, true)
        .iter()
        .map(|(name, shape)| (name.clone(), values(name, shape)))
        .collect();
    let words = values(layout.embedding(), &[config.n_words, config.d_model]);
    head.insert(ChameleonHead::embedding_name().to_owned(), words);
    write_safetensors(&folder.join("drafter.safetensors"), &head).unwrap();
}

/// The model whose files are laid out.
const LUMINA: &str = "lumina-mgpt-7b-768";

/// Lumina-mGPT from `files`, with the heads in `places`.
fn load(files: &ModelFiles, places: &Places, kind: Kind) -> Result<Model, LoadError> {
    let heads = Source::of(specimen_catalog::entry(LUMINA).unwrap()).heads;
    Chameleon::load(lumina(), files, (&heads, places), (kind, Device::Cpu)).map(Model::from)
}

/// A data folder with the files of Lumina-mGPT at toy width.
struct Desk {
    data: tempfile::TempDir,
}

impl Desk {
    fn new() -> Self {
        let desk = Self { data: tempfile::tempdir().unwrap() };
        lay_out(&desk.folder(), QkNormShape::Rows(1), KeyLayout::Hf);
        desk
    }

    fn folder(&self) -> PathBuf {
        self.data.path().join("weights").join(LUMINA)
    }

    fn places(&self) -> Places {
        Places { own: vec![self.data.path().to_owned()], ..Places::default() }
    }

    fn files(&self) -> ModelFiles {
        Source::of(specimen_catalog::entry(LUMINA).unwrap()).locate(&self.places()).unwrap()
    }

    fn load(&self) -> Result<Model, LoadError> {
        load(&self.files(), &self.places(), Kind::Float)
    }

    /// Rewrites the shard or file `name` with its tensors changed by `change`.
    fn change(&self, name: &str, change: impl FnOnce(&mut BTreeMap<String, Tensor>)) -> PathBuf {
        let path = self.folder().join(name);
        let mut tensors: BTreeMap<String, Tensor> =
            Tensor::read_safetensors(&path).unwrap().into_iter().collect();
        change(&mut tensors);
        write_safetensors(&path, &tensors).unwrap();
        path
    }

    #[track_caller]
    fn check_refused(&self, parts: &[&str]) {
        let message = self.load().map(|_| ()).unwrap_err().to_string();
        for part in parts {
            assert!(message.contains(part), "`{part}` is not in `{message}`");
        }
    }
}

#[test]
fn a_whole_layout_loads_and_decodes_whatever_the_shape_of_the_norms() {
    let mut pictures = Vec::new();
    for (qk_norm, layout) in [
        (QkNormShape::Rows(1), KeyLayout::Hf),
        (QkNormShape::Vector, KeyLayout::Hf),
        (QkNormShape::Rows(2), KeyLayout::Hf),
    ] {
        let desk = Desk::new();
        lay_out(&desk.folder(), qk_norm, layout);
        let model = desk.load().unwrap();
        let roles: Vec<String> = model.weights.iter().map(|id| id.role.clone()).collect();
        assert_eq!(roles, ["target", "target 2", "picture", "drafter"]);
        assert_eq!(model.network.config().qk_norm, qk_norm);
        let mut generation = model.open(PROMPT, &PLAIN, MAX_TREE).unwrap();
        let uniforms = specimen_decode::rng::Uniforms::new(1);
        let mut ar = specimen_decode::method::MethodConfig::ar().build(None).unwrap();
        let clock = specimen_decode::clock::MonotonicClock::new();
        let decoded = specimen_decode::decoder::decode(&mut ar, &mut generation, &uniforms, &clock);
        pictures.push(model.picture(&decoded.tokens));
    }
    assert_eq!(pictures[0], pictures[1], "one row of norms is one row in either shape");
    assert_ne!(pictures[0], pictures[2]);
}

#[test]
fn metas_layout_is_told_by_its_names() {
    let desk = Desk::new();
    std::fs::remove_file(desk.folder().join("config.json")).unwrap();
    lay_out(&desk.folder(), QkNormShape::Vector, KeyLayout::Meta);
    // Meta's file comes without a config and is Chameleon-7B, which a toy is not.
    desk.check_refused(&[
        "consolidated.safetensors",
        "`tok_embeddings.weight`",
        "[352, 16]",
        "[65536, 4096]",
    ]);
    let files = ModelFiles { config: Some(desk.folder().join("toy.json")), ..desk.files() };
    std::fs::write(desk.folder().join("toy.json"), CONFIG).unwrap();
    let model = load(&files, &desk.places(), Kind::Float).unwrap();
    assert_eq!(model.network.config().qk_norm, QkNormShape::Vector);
}

#[test]
fn every_tensor_of_the_inventory_is_needed_in_its_shape() {
    let config = ChameleonConfig { qk_norm: QkNormShape::Rows(1), ..made::config() };
    let desk = Desk::new();
    for (name, shape) in inventory(&config, KeyLayout::Hf) {
        let file = ["a.safetensors", "b.safetensors"]
            .into_iter()
            .find(|file| {
                let tensors = Tensor::read_safetensors(desk.folder().join(file)).unwrap();
                tensors.iter().any(|(found, _)| *found == name)
            })
            .unwrap();
        let path = desk.change(file, |tensors| drop(tensors.remove(&name)));
        // A tensor may lie in any shard, so what none has is said of the first.
        desk.check_refused(&["a.safetensors", &format!("tensor `{name}` is missing")]);
        let wrong = [&shape[..shape.len() - 1], &[shape[shape.len() - 1] + 1]].concat();
        desk.change(file, |tensors| drop(tensors.insert(name.clone(), values(&name, &wrong))));
        desk.check_refused(&[path.to_str().unwrap(), &format!("`{name}`"), &format!("{wrong:?}")]);
        desk.change(file, |tensors| drop(tensors.insert(name.clone(), values(&name, &shape))));
    }
    desk.load().unwrap();
}

#[test]
fn a_tensor_that_is_no_part_of_a_file_is_named() {
    for (file, extra) in [
        ("b.safetensors", "model.layers.2.input_layernorm.weight"),
        ("vqgan.safetensors", "decoder.up.2.block.0.conv1.weight"),
        ("drafter.safetensors", "layers.1.input_layernorm.weight"),
    ] {
        let desk = Desk::new();
        let path = desk.change(file, |tensors| {
            tensors.insert(extra.into(), values(extra, &[16]));
        });
        desk.check_refused(&[path.to_str().unwrap(), "1 tensors are not part of the model", extra]);
    }
}

#[test]
fn a_tensor_that_picture_decoder_or_head_lacks_or_has_in_another_shape_is_named() {
    for (file, name) in
        [("vqgan.safetensors", "decoder.conv_out.weight"), ("drafter.safetensors", "fc.weight")]
    {
        let desk = Desk::new();
        let mut taken = None;
        let path = desk.change(file, |tensors| taken = tensors.remove(name));
        desk.check_refused(&[path.to_str().unwrap(), &format!("tensor `{name}` is missing")]);
        let mut wrong = taken.unwrap().size();
        wrong[0] += 1;
        desk.change(file, |tensors| drop(tensors.insert(name.into(), values(name, &wrong))));
        desk.check_refused(&[path.to_str().unwrap(), &format!("`{name}`"), &format!("{wrong:?}")]);
    }
}

#[test]
fn a_head_of_another_precision_loads_and_the_largest_difference_is_a_warning() {
    assert_eq!(Desk::new().load().unwrap().warnings, [""; 0]);
    let name = "embed_tokens.weight";
    let words = values(KeyLayout::Hf.embedding(), &[made::config().n_words, made::config().d_model]);
    for (kind, shown) in [(Kind::BFloat16, "BFloat16"), (Kind::Half, "Half")] {
        let desk = Desk::new();
        let path = desk.change("drafter.safetensors", |tensors| {
            tensors.values_mut().for_each(|tensor| *tensor = tensor.to_kind(kind));
        });
        let wide = |x: &Tensor| x.to_kind(Kind::Double);
        let largest = (wide(&words) - wide(&words.to_kind(kind))).abs().max().double_value(&[]);
        let model = desk.load().unwrap();
        let [warning] = &*model.warnings else { panic!("{:?}", model.warnings) };
        for part in [path.to_str().unwrap(), name, shown, "Float there", &format!("at most {largest:.1e}")] {
            assert!(warning.contains(part), "`{part}` is not in `{warning}`");
        }
        // In the kind that both are rounded to they are one.
        let rounded = load(&desk.files(), &desk.places(), Kind::BFloat16).unwrap();
        assert_eq!(rounded.warnings.len(), usize::from(kind == Kind::Half), "{kind:?}");
    }
    let desk = Desk::new();
    desk.change("drafter.safetensors", |tensors| {
        let rounded = tensors[name].to_kind(Kind::BFloat16);
        let _ = rounded.get(17).get(3).fill_(9.0);
        tensors.insert(name.into(), rounded);
    });
    desk.check_refused(&["`embed_tokens.weight` is not the target's embedding", "up to 9.", "rounding"]);
}

#[test]
fn parts_that_do_not_belong_together_are_refused() {
    let desk = Desk::new();
    desk.change("drafter.safetensors", |tensors| {
        let words = tensors.get("embed_tokens.weight").unwrap() * 2.0;
        tensors.insert("embed_tokens.weight".into(), words);
    });
    desk.check_refused(&["drafter.safetensors", "`embed_tokens.weight` is not the target's embedding"]);

    let desk = Desk::new();
    let query_norm = "model.layers.0.self_attn.q_norm.weight";
    desk.change("a.safetensors", |tensors| {
        tensors.remove(query_norm);
    });
    desk.change("b.safetensors", |tensors| {
        tensors.insert(query_norm.into(), values(query_norm, &[3, 8]));
    });
    desk.check_refused(&[query_norm, "[3, 8]", "rows that divide 2 heads"]);

    let desk = Desk::new();
    std::fs::write(desk.folder().join("config.json"), CONFIG.replace("352", "300")).unwrap();
    desk.check_refused(&["tokenizer.json", "the model's config has 300 words"]);

    let desk = Desk::new();
    let tokenizer =
        std::str::from_utf8(made::TOKENIZER).unwrap().replace("<reserved08799>", "<reserved09799>");
    std::fs::write(desk.folder().join("tokenizer.json"), tokenizer).unwrap();
    desk.check_refused(&["tokenizer.json", "no word `<reserved08799>`"]);
}

#[test]
fn embeddings_of_a_head_are_multiplied_by_the_factor_that_its_config_names() {
    /// The first distribution that the head of the files in `desk` drafts.
    fn drafted(desk: &Desk) -> Vec<f32> {
        let model = desk.load().unwrap();
        let mut generation = model.open(PROMPT, &PLAIN, MAX_TREE).unwrap();
        let kind = specimen_models::heads::drafters::DrafterKind::Eagle1(None);
        let (mut drafter, _) = model.drafter(&kind, &generation, MAX_TREE).unwrap();
        // The header is forced; behind it a distribution depends on the head.
        generation.prefill();
        let header: Vec<TokenId> = (0..3).map(|position| generation.forced(position).unwrap()).collect();
        for &token in &header {
            generation.score(&TokenTree::new(token));
            generation.commit(&[TokenTree::ROOT]);
        }
        let distribution = drafter.begin(&header);
        distribution.probs().to_vec()
    }
    let desk = Desk::new();
    let config = desk.folder().join("drafter.json");
    let plain = drafted(&desk);
    for ignored in ["1.0", "0.5"] {
        std::fs::write(&config, format!("{{ \"embed_upscale\": {ignored} }}")).unwrap();
        assert_eq!(drafted(&desk), plain, "{ignored}");
    }
    std::fs::write(&config, "{ \"embed_upscale\": 2.0 }").unwrap();
    let scaled = drafted(&desk);
    assert_ne!(scaled, plain);
    std::fs::remove_file(&config).unwrap();
    desk.change("drafter.safetensors", |tensors| {
        // Twice the embeddings are twice the columns that read them.
        let fc = tensors.get("fc.weight").unwrap();
        let fc = Tensor::cat(&[fc.narrow(1, 0, 16) * 2.0, fc.narrow(1, 16, 16)], 1);
        tensors.insert("fc.weight".into(), fc);
    });
    assert_eq!(drafted(&desk), scaled);
}

#[test]
fn files_are_found_in_the_cache_of_the_hub_by_its_main_revision() {
    let hub = tempfile::tempdir().unwrap();
    let places = Places { hub: Some(hub.path().to_owned()), ..Places::default() };
    let cached = hub.path().join("models--Alpha-VLLM--Lumina-mGPT-7B-768");
    lay_out(&cached.join("snapshots/abc"), QkNormShape::Rows(1), KeyLayout::Hf);
    std::fs::create_dir_all(cached.join("refs")).unwrap();
    std::fs::write(cached.join("refs/main"), "abc\n").unwrap();
    let files = Source::of(specimen_catalog::entry(LUMINA).unwrap()).locate(&places).unwrap();
    assert_eq!(files.target.len(), 2);
    assert!(files.tokenizer.starts_with(cached.join("snapshots/abc")), "{files:?}");
    // Without a head the target runs, and says what is missing when it is asked to draft.
    let model = load(&files, &places, Kind::Float).unwrap();
    let generation = model.open(PROMPT, &PLAIN, MAX_TREE).unwrap();
    let kind = specimen_models::heads::drafters::DrafterKind::Eagle1(None);
    let error = model.drafter(&kind, &generation, MAX_TREE).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("specimen data fetch lumina-mgpt-7b-768-drafter"), "{error}");
}

#[test]
fn a_folder_that_a_user_names_has_every_part_of_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let model = specimen_catalog::entry(LUMINA).unwrap();
    let locate = || {
        let given = Given::of(model, folder.path().to_owned());
        Source::of(model).locate(&Places { given: Some(given), ..Places::default() })
    };
    let message = locate().map(|_| ()).unwrap_err().to_string();
    assert!(message.contains("has no target; expected a file of tensors, or a folder with"), "{message}");
    lay_out(folder.path(), QkNormShape::Rows(1), KeyLayout::Hf);
    let files = locate().unwrap();
    assert!(files.target.iter().all(|path| path.starts_with(folder.path())), "{files:?}");
    assert!(files.tokenizer.starts_with(folder.path()), "{files:?}");
}
