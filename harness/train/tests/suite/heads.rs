//! Heads of several families trained a little: the loss falls, the file is that of the published layout and loads, and the
//! trained head is accepted more often.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    rc::Rc,
    sync::{Mutex, PoisonError},
};

use specimen_decode::{dist::TokenId, generation::Generation};
use specimen_foundation::failure::{Failure, FailureKind, FailureMessage};
use specimen_models::{
    catalog::{self, Made, OpenModel},
    families::{
        chameleon::{self, ChameleonHead},
        llamagen::{LlamaGenConfig, drafter_config},
    },
    files::published_names::Mixed,
    heads::{
        described_head::HeadKind, eagle3::Eagle3Config, eagle3_file, head_sources::OpenedHeads,
        lantern_head::LanternHead,
    },
    seam::{draft_time::DraftTime, loaded_model::LoadedModel},
};
use specimen_train::{
    head_estimate::TrainingEstimate,
    head_spec::HeadSpec,
    head_trainer::{HeadResult, HeadTraining, train_head},
};
use specimen_weights::{Checkpoint, Init, ParamSource, write_safetensors};
use tch::{Device, Kind, Tensor};

const SPEC: &str = r#"
name         = "test"
seed         = 3
save_every   = 20
n_validation = 8
model    = { name = "MODEL", dtype = "f32", device = "cpu" }
dataset  = { name = "scenes-train", limit = 40 }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 3.0 }
head     = { proposer = "eagle1" }
loss     = { depth = 1, depth_decay = 1.0, feature_weight = 1.0, row_weight = 0.1, guided_weight = 0.0, hard_ce_weight = 0.0, feature_noise = 0.0 }
schedule = { n_steps = 80, batch = 4, learning_rate = 5e-3, n_warmup = 5, weight_decay = 0.01, clip = { value = 0.5 } }
trial    = { drafter = { proposer = "eagle1", shape = "static", tree = "tiny_13" } }
"#;

/// Held by the training that is under way.
static ALONE: Mutex<()> = Mutex::new(());

/// The specification above for `model`, as EAGLE-1 is trained.
pub(crate) fn eagle1(model: &str) -> String {
    SPEC.replace("MODEL", model)
}

/// The same as EAGLE-3 is trained.
pub(crate) fn eagle3(model: &str) -> String {
    let text = eagle1(model).replace("\"eagle1\"", "\"eagle3\"");
    let text =
        text.replace("depth = 1, depth_decay = 1.0, feature_weight = 1.0", "depth = 7, depth_decay = 0.8");
    text.replace("row_weight = 0.1", "row_weight = 1.0")
}

fn model(name: &str, kind: Kind) -> Rc<LoadedModel> {
    let options = OpenModel {
        kind,
        device: Device::Cpu,
        data_root: None,
        weights: None,
        heads: Vec::new(),
        made: Made::Not,
        encode_caption: |_| Err("the embedded model is not asked here".to_owned()),
        three_way_guidance: false,
        graphs: None,
    };
    catalog::open(name, &options).unwrap()
}

/// What `run` gives of the training by `text`.
pub(crate) fn with_training<T>(
    text: &str,
    run: impl FnOnce(&HeadTraining<'_>) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let spec = HeadSpec::parse(&PathBuf::from("spec.toml"), text)?;
    let (name, dtype) = (spec.model.name.clone(), spec.model.dtype.name());
    let set = specimen_experiments::prompts::open(&spec.dataset, None)?;
    let kind = if dtype == "f32" { Kind::Float } else { Kind::BFloat16 };
    // Fresh parameters come from torch's generator, which the whole process shares.
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    run(&HeadTraining {
        spec: &spec,
        model: &model(&name, kind),
        kind,
        device: Device::Cpu,
        prompts: set.prompts().iter().map(|prompt| prompt.text.as_str()).collect(),
        dataset: set.digest().to_string(),
    })
}

/// What training by `text` gives in `folder`.
pub(crate) fn train(text: &str, folder: &Path) -> anyhow::Result<HeadResult> {
    with_training(text, |training| train_head(training, folder))
}

/// Trains, and looks at the curve and the trial.
fn check_learns(text: &str, folder: &Path) {
    let result = train(text, folder).unwrap();
    let curve = std::fs::read_to_string(folder.join("model.csv")).unwrap();
    let losses: Vec<f64> =
        curve.lines().skip(1).map(|row| row.split(',').nth(2).unwrap().parse().unwrap()).collect();
    assert!(losses.len() == 4 && losses[3] < 0.97 * losses[0], "{text}\n{losses:?}");
    let trial = result.trial;
    assert!(trial.untrained < trial.trained, "{text}\n{trial:?}");
}

/// The tensors of the file in `folder` that training leaves, without its reader complaining of one.
fn check_loads(folder: &Path, read: impl FnOnce(&mut dyn ParamSource)) {
    let mut file = Checkpoint::open(&folder.join("model.safetensors"), None, Device::Cpu).unwrap();
    read(&mut file);
    file.finish().unwrap();
}

fn toy() -> LlamaGenConfig {
    LlamaGenConfig::of(specimen_catalog_entry("llamagen-toy"))
}

fn specimen_catalog_entry(name: &str) -> &'static specimen_catalog::Entry {
    specimen_catalog::entry::entry(name).unwrap()
}

#[test]
fn an_eagle1_head_of_llamagen_learns_and_is_a_file_in_lanterns_layout() {
    let folder = tempfile::tempdir().unwrap();
    check_learns(&eagle1("llamagen-toy"), folder.path());
    let expected = LanternHead::expected(&drafter_config(&toy(), 1e-6), 32, 64).unwrap();
    let file = Checkpoint::open(&folder.path().join("model.safetensors"), None, Device::Cpu).unwrap();
    assert!(expected.iter().all(|tensor| file.shape(&tensor.name) == Some(tensor.shape.as_slice())));
    check_loads(folder.path(), |file| {
        LanternHead::eagle1(file, &drafter_config(&toy(), 1e-6), Mixed::Pairs, (32, 64)).unwrap();
    });
    let config = std::fs::read_to_string(folder.path().join("config.json")).unwrap();
    for part in ["\"rms_norm_eps\": 1e-6", "\"prefix_pads\": \"earlier\"", "\"bias\": true"] {
        assert!(config.contains(part), "{part} in {config}");
    }
}

#[test]
fn an_eagle3_head_of_llamagen_learns_and_is_a_file_in_its_authors_layout() {
    let folder = tempfile::tempdir().unwrap();
    check_learns(&eagle3("llamagen-toy"), folder.path());
    check_loads(folder.path(), |file| {
        let config = Eagle3Config::published(toy().stack().layer, toy().n_layers, 1e-6);
        eagle3_file::published(file, &config, Mixed::Pairs, (32, 64)).unwrap();
    });
}

#[test]
fn heads_of_janus_emu3_liquid_and_of_the_chameleon_family_learn() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["janus-toy", "emu3-toy", "liquid-toy"] {
        check_learns(&eagle1(name), &folder.path().join(name));
    }
    for name in ["lumina-toy", "anole-toy"] {
        let folder = folder.path().join(name);
        check_learns(&eagle1(name), &folder);
        check_loads(&folder, |file| {
            let config = chameleon::made::config();
            ChameleonHead::new(file, &config, true).unwrap();
            let shape = [config.n_words, config.d_model];
            let _ = file.param(ChameleonHead::embedding_name(), &shape, Init::Constant(0.0)).unwrap();
        });
    }
}

#[test]
fn an_eagle3_head_of_any_family_learns_and_the_file_is_read_again() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["janus-toy", "emu3-toy", "liquid-toy", "lumina-toy", "anole-toy"] {
        let folder = folder.path().join(name);
        check_learns(&eagle3(name), &folder);
        let model = model(name, Kind::Float);
        let mut opened = OpenedHeads::default();
        let path = folder.join("model.safetensors");
        let read = |opened: &mut OpenedHeads, kind| {
            let placed = (Kind::Float, Device::Cpu);
            opened
                .read((kind, "drafter"), std::slice::from_ref(&path), &model.describe_head, placed)
                .map(|_| ())
        };
        read(&mut opened, HeadKind::Eagle3).unwrap();
        assert_eq!((opened.weights.len(), opened.warnings.len()), (1, 0), "{name}");
        let error = read(&mut opened, HeadKind::Eagle1).unwrap_err().to_string();
        assert!(error.contains("model.safetensors: tensor `fc.weight` has shape"), "{error}");
    }
    // The draft vocabulary of a Chameleon is its picture codes, by their words.
    let names = |file: &Checkpoint| ["d2t", "t2d"].map(|name| file.shape(name).map(<[i64]>::to_vec));
    let open = |name: &str| Checkpoint::open(&folder.path().join(name), None, Device::Cpu).unwrap();
    assert_eq!(names(&open("anole-toy/model.safetensors")), [Some(vec![16]), Some(vec![352])]);
    assert_eq!(names(&open("janus-toy/model.safetensors")), [None, None]);
}

#[test]
fn rows_of_a_chameleons_eagle3_head_may_be_in_any_order_and_are_those_of_its_codes() {
    let folder = tempfile::tempdir().unwrap();
    train(&eagle3("anole-toy").replace("n_steps = 80", "n_steps = 2"), folder.path()).unwrap();
    let path = folder.path().join("model.safetensors");
    let model = model("anole-toy", Kind::Float);
    let first_draft = |path: &Path| -> Result<Vec<f32>, String> {
        let mut opened = OpenedHeads::default();
        let placed = (Kind::Float, Device::Cpu);
        let paths = [path.to_owned()];
        let start = opened.read((HeadKind::Eagle3, "drafter"), &paths, &model.describe_head, placed);
        let start = start.map_err(|error| error.to_string())?;
        let sampling = HeadSpec::parse(Path::new("s"), &eagle3("anole-toy")).unwrap().sampling;
        let mut generation = model.open("a red circle", &sampling, 8).unwrap();
        let mut draft = start(&generation, 8, DraftTime::new(Device::Cpu));
        generation.prefill();
        Ok(draft.begin(&[TokenId(3)]).probs().to_vec())
    };
    let written = first_draft(&path).unwrap();
    let mut tensors: BTreeMap<String, Tensor> =
        Tensor::read_safetensors(&path).unwrap().into_iter().collect();
    let order = Tensor::from_slice(&(0..16_i64).map(|row| (row * 5 + 3) % 16).collect::<Vec<_>>());
    let counted = Tensor::arange(16, (Kind::Int64, Device::Cpu));
    let words = (&tensors["d2t"] + &counted).index_select(0, &order);
    tensors.insert("d2t".into(), words - counted);
    let rows = tensors["lm_head.weight"].index_select(0, &order);
    tensors.insert("lm_head.weight".into(), rows);
    write_safetensors(&path, &tensors).unwrap();
    assert_eq!(first_draft(&path).unwrap(), written);
    let foreign = &tensors["d2t"] + 1;
    tensors.insert("d2t".into(), foreign);
    write_safetensors(&path, &tensors).unwrap();
    let error = first_draft(&path).unwrap_err();
    assert!(error.contains("is not the 16 picture codes of the model; is it the head of"), "{error}");
}

#[test]
fn a_head_learns_in_bf16_with_a_master_copy_in_f32() {
    let folder = tempfile::tempdir().unwrap();
    let text = eagle1("llamagen-toy").replace("\"f32\"", "\"bf16\"");
    train(&text, folder.path()).unwrap();
    let kind = |file: &str, name: &str| {
        Checkpoint::open(&folder.path().join(file), None, Device::Cpu).unwrap().stored_kind(name)
    };
    assert_eq!(kind("model.safetensors", "fc.weight"), Some(Kind::BFloat16));
    assert_eq!(kind("model.state.safetensors", "params"), Some(Kind::Float));
}

#[test]
fn cascades_weights_with_c_of_1_give_the_base_heads_bytes_and_others_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let short = eagle1("llamagen-toy").replace("n_steps = 80", "n_steps = 6");
    let weights = |name: &str, text: &str| {
        let folder = folder.path().join(name);
        train(text, &folder).unwrap();
        std::fs::read(folder.join("model.safetensors")).unwrap()
    };
    let weighed = |c: &str| {
        let of_it = format!("feature_noise = 0.0, redundancy = {{ c = {c}, tau_seq = 0.2 }}");
        short.replace("feature_noise = 0.0", &of_it)
    };
    let base = weights("base", &short);
    assert!(base == weights("one", &weighed("1.0")));
    assert!(base != weights("two", &weighed("2.0")));
}

/// The message and the kind of the error that training by `text` in `folder` gives.
pub(crate) fn refusal(text: &str, folder: &Path) -> (String, FailureKind) {
    let error = train(text, folder).map(|_| ()).unwrap_err();
    let kind = error.downcast_ref::<FailureMessage>().unwrap_or_else(|| panic!("{error:#}")).kind();
    (format!("{error:#}"), kind.unwrap())
}

#[test]
fn what_cannot_be_trained_is_refused_in_a_sentence_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let base = eagle1("llamagen-toy");
    let tapped = |taps: &str| {
        let text = eagle3("llamagen-toy");
        text.replace(
            "proposer = \"eagle3\" }\nloss",
            &format!("proposer = \"eagle3\", taps = {taps} }}\nloss"),
        )
    };
    for (text, part) in [
        (tapped("[0, 1, 9]"), "taps are [0, 1, 9], expected ascending layers below 2"),
        (eagle3("stub"), "model `stub` has no head that can be trained"),
        (eagle1("llamagen-c2i-toy"), "has no head that can be trained; LlamaGen of captions"),
        (base.replace("n_validation = 8", "n_validation = 40"), "nothing is left to train on"),
        (base.replace("depth = 1", "depth = 16"), "loss.depth is 16, expected less than the 16 tokens"),
        (base.replace("batch = 4", "batch = 0"), "schedule.batch is 0, expected at least 1"),
        (base.replace("row_weight = 0.1", "row_weight = -0.1"), "loss.row_weight is -0.1"),
        (base.replace("\"f32\"", "\"f16\""), "model.dtype is f16"),
        (base.replace("guidance = 3.0", "guidence = 3.0"), "guidence"),
        (
            base.replace("row_weight", "raw_weight"),
            "spec.toml:10:66: unknown key `raw_weight`; did you mean `row_weight`?",
        ),
        (
            base.replace("batch = 4", "batch = \"4\""),
            "spec.toml:11:36: found the text \"4\", expected a whole number",
        ),
        (
            base.replace("drafter = { proposer = \"eagle1\"", "drafter = { proposer = \"eagle3\""),
            "trial.drafter",
        ),
    ] {
        let (message, kind) = refusal(&text, folder.path());
        assert!(message.contains("spec.toml") && message.contains(part), "{message}");
        assert_eq!(kind, FailureKind::Spec, "{message}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn files_of_another_training_and_weights_that_do_not_fit_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let short = eagle1("llamagen-toy").replace("n_steps = 80", "n_steps = 2");
    train(&short, folder.path()).unwrap();
    let files = ["model.safetensors", "model.state.safetensors", "model.csv", "config.json"];
    let all = || files.map(|file| std::fs::read(folder.path().join(file)).unwrap());
    let before = all();
    let (message, kind) = refusal(&short.replace("guidance = 3.0", "guidance = 4.0"), folder.path());
    assert!(
        message.contains("images-00000.safetensors") && message.contains("\"guidance\":4.0"),
        "{message}"
    );
    assert_eq!(kind, FailureKind::Missing);
    let (message, _) = refusal(&short.replace("5e-3", "4e-3"), folder.path());
    assert!(
        message.contains("model.state.safetensors") && message.contains("Remove it to begin again"),
        "{message}"
    );
    let from = |model: &str| {
        let path = folder.path().join("model.safetensors");
        let head = format!("head     = {{ proposer = \"eagle1\", from = {path:?} }}");
        eagle1(model).replace("head     = { proposer = \"eagle1\" }", &head)
    };
    let other = folder.path().join("other");
    let (message, _) = refusal(&from("lumina-toy"), &other);
    assert!(
        message.contains("do not fit a head of `lumina-toy`") && message.contains("leave head.from out"),
        "{message}"
    );
    assert!(all() == before);
    assert!(!other.exists(), "weights to begin with are read before anything is made");
    // Its own weights fit.
    let (on, further) =
        (folder.path().join("on"), from("llamagen-toy").replace("n_steps = 80", "n_steps = 2"));
    train(&further, &on).unwrap();
    train(&further, &on).unwrap();
    // Others under the same name are not taken for them.
    let path = folder.path().join("model.safetensors");
    let tensors = Tensor::read_safetensors(&path).unwrap().into_iter();
    let moved = tensors.map(|(name, tensor)| (name, tensor + 0.01)).collect::<BTreeMap<_, _>>();
    write_safetensors(&path, &moved).unwrap();
    let (message, kind) = refusal(&further, &on);
    assert!(message.contains("model.state.safetensors") && message.contains("begun with "), "{message}");
    assert_eq!(kind, FailureKind::Missing);
}

#[test]
fn a_loss_that_is_no_number_ends_the_training_and_nothing_of_it_is_saved() {
    let folder = tempfile::tempdir().unwrap();
    let text = eagle1("llamagen-toy").replace("5e-3", "1e8").replace("save_every   = 20", "save_every   = 1");
    let (message, kind) = refusal(&text, folder.path());
    assert!(message.contains("training diverged; lower schedule.learning_rate"), "{message}");
    assert_eq!(kind, FailureKind::Failed);
    assert!(!folder.path().join("model.safetensors").exists());
    let mut state =
        Checkpoint::open(&folder.path().join("model.state.safetensors"), None, Device::Cpu).unwrap();
    let n = state.shape("params").unwrap()[0];
    let saved = state.take("params", &[n]).unwrap();
    assert!(bool::try_from(saved.isfinite().all()).unwrap());
}

#[test]
fn the_committed_specifications_are_read_name_what_they_train_and_are_planned() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/specs/train");
    let mut n = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let spec = HeadSpec::read(&path).unwrap();
        assert_eq!(spec.rest.name.replace('-', "_"), path.file_stem().unwrap().to_str().unwrap());
        assert!(spec.rest.analysis.len() > 200 && !spec.rest.sources.is_empty(), "{}", path.display());
        let n_prompts = spec.dataset.limit.unwrap() as u64;
        let planned = TrainingEstimate::of(&spec, n_prompts).unwrap();
        let is_published = spec.model.device == "cuda";
        // How many parameters Chameleon's picture decoder has, which Liquid needs, the catalog does not say.
        let has_memory = is_published && spec.model.name != "liquid-7b";
        assert_eq!(
            (
                planned.time.len(),
                planned.disk.total().is_some(),
                planned.features.is_some(),
                planned.memory.is_some()
            ),
            match is_published {
                true => (5, true, true, has_memory),
                false => (0, false, false, false),
            },
            "{}",
            path.display()
        );
        assert!(
            planned.n_held_out < planned.n_images && planned.to_string().contains("passes over"),
            "{planned}"
        );
        n += 1;
    }
    assert_eq!(n, 18);
}

#[test]
fn an_estimate_is_the_arithmetic_of_what_it_assumes() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../experiments/specs/train/llamagen_t2i_xl_512_eagle3.toml");
    let mut spec = HeadSpec::read(&path).unwrap();
    (spec.rest.schedule.n_steps, spec.rest.schedule.batch) = (10, 4);
    let planned = TrainingEstimate::of(&spec, 1000).unwrap();
    assert_eq!((planned.n_images, planned.n_drawn, planned.n_trained), (1000, 1_024_000, 40_960));
    // Parameters of an EAGLE-3 head by its tensors: fc, q k v, o, the feed-forward part, four norms and an output head.
    let (d, ffn, vocab) = (1280_u64, 3584, 16_384);
    let head = 3 * d * d + 6 * d * d + d * d + 3 * d * ffn + 4 * d + vocab * d;
    assert_eq!(planned.disk.head, Some(2 * head));
    assert_eq!(planned.disk.state, Some(24 * head));
    assert_eq!(planned.disk.images, 8 * 1_024_000);
    // A stream after the norm and three inner ones, of two rows at 120 slots of the caption and 1024 of the image.
    let exported = 1000 * (2 * (120 + 1024) * d * 4 * 2 + 8 * 1024);
    let found = planned.features.unwrap();
    assert!((found as f64 / exported as f64 - 1.0).abs() < 1e-3, "{found} {exported}");
    let memory = planned.memory.unwrap();
    // Logits and their like of two rows of 1,024 tokens, scores of 20 heads at 1,144 positions, and the layer.
    let graph = 2048 * (6 * 4 * vocab + 5 * 2 * 20 * 1144 + 2 * (10 * d + 3 * ffn));
    assert_eq!((memory.graph, memory.kept), (graph, 6 * 6 * 2048 * d * 2));
    assert_eq!(memory.head, (28 + 4) * head);
    // Its weights and its text encoder, with keys and values.
    assert!(memory.target > 2 * (752_446_720 + 1_223_527_424) + 422_000_000, "{memory:?}");
    assert_eq!(memory.total(), memory.target + memory.head + memory.graph + memory.kept);
    assert!(planned.to_string().contains("\nmemory  about "), "{planned}");
    let h200 = planned.time.iter().find(|time| time.device == "NVIDIA H200").unwrap();
    // A forward reads 752,446,720 parameters in bf16 and half of 422 MB of keys and values.
    let draw = 1_024_000.0 * (2.0 * 752_446_720.0 + 211e6) / 4.8e12;
    // Two rows; 2 operations a parameter of the target, 6 a parameter of the head at each of 7 depths, and 2 more at 6.
    let train = 40_960.0 * 2.0 * (2.0 * 752_446_720.0 + 54.0 * head as f64) / (0.3 * 989e12);
    assert!(
        (h200.draw_s / draw - 1.0).abs() < 1e-12 && (h200.train_s / train - 1.0).abs() < 1e-12,
        "{h200:?}"
    );
}
