//! What a spec needs on disk beside its prompts, and how large a model's images are: known without libtorch,
//! so that a plan can be made anywhere.

use std::{env, path::PathBuf};

use specimen_datasets::{
    data_root::{DATA_VARIABLE, DataRoot},
    error::DatasetError,
    manifest::{DataItem, MNIST_IMAGES, MNIST_LABELS},
};
use specimen_experiments::{
    estimate::{Footprint, Missing},
    spec::{Cell, MetricSpec, ModelSpec, Spec},
};
use specimen_hub::{
    Places, manifest,
    manifest::{Origin, PublishedFile},
    memory::need,
};
use specimen_measure::protocol::Protocol;

use crate::spec_args::data_root;

/// What is known of a model without opening it.
#[derive(Clone, Copy)]
struct ModelFacts {
    name: &'static str,
    footprint: Footprint,
}

const IGPT: Footprint = Footprint { n_tokens: 784, width: 28, height: 28 };

/// A model whose weights are in the binary, or made from a seed.
const fn embedded(name: &'static str, n_tokens: usize, side: usize) -> ModelFacts {
    ModelFacts { name, footprint: Footprint { n_tokens, width: side, height: side } }
}

/// An architecture at toy width.
const fn toy(name: &'static str) -> ModelFacts {
    embedded(name, 16, 8)
}

/// A published model that paints 16 by 16 pixels a token.
const fn published(name: &'static str, side: usize) -> ModelFacts {
    let along = side / 16;
    embedded(name, along * along, side)
}

const MODELS: [ModelFacts; 21] = [
    embedded("tiny", 256, 64),
    ModelFacts { name: "igpt-mnist", footprint: IGPT },
    ModelFacts { name: "igpt-fmnist", footprint: IGPT },
    published("llamagen-c2i-b-256", 256),
    published("llamagen-c2i-b-384", 384),
    published("llamagen-c2i-l-256", 256),
    published("llamagen-c2i-l-384", 384),
    published("llamagen-c2i-xl-384", 384),
    published("llamagen-t2i-xl-256", 256),
    published("llamagen-t2i-xl-512", 512),
    toy("llamagen-toy"),
    toy("llamagen-c2i-toy"),
    published("janus-pro-1b", 384),
    published("janus-pro-7b", 384),
    toy("janus-toy"),
    embedded("stub", 16, 8),
    embedded("lumina-mgpt-7b-768", 2356, 768),
    embedded("lumina-mgpt-7b-512", 1060, 512),
    embedded("anole-7b", 1024, 512),
    ModelFacts { name: "lumina-toy", footprint: Footprint { n_tokens: 32, width: 12, height: 8 } },
    embedded("anole-toy", 16, 8),
];

/// Where published weights are looked for, as the environment says.
pub(crate) fn places() -> Places {
    places_with(data_root().as_ref())
}

fn places_with(root: Option<&DataRoot>) -> Places {
    Places::of_environment(root.map(DataRoot::path), |name| env::var_os(name).map(PathBuf::from))
}

/// Bytes of memory that the models of `spec` take before any activation, the largest of its cells; `None` where no
/// manifest says.
pub(crate) fn memory(spec: &Spec) -> Option<u64> {
    let of_cell = |cell: &Cell| {
        let need = need(&cell.model.name, cell.method.drafter.head(), cell.model.dtype.n_bytes());
        need.map(|need| if cell.model.three_way_guidance { need.of_three_rows() } else { need }.total())
    };
    spec.cells.iter().map(of_cell).collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// Manifest of the head that drafts in `cell`, where there is one.
fn head_of(cell: &Cell) -> Option<&'static str> {
    let (proposer, weights) = cell.method.drafter.head()?;
    manifest(&cell.model.name).ok()?.head(proposer, weights)
}

/// Bytes that a forward of `model` over a few tokens reads at least; `None` where no manifest says.
pub(crate) fn streamed_bytes(model: &ModelSpec) -> Option<u64> {
    manifest(&model.name).ok()?.streamed_bytes(model.dtype.n_bytes())
}

/// Size of a model's output; `None` for a model that is not known here.
pub(crate) fn footprint(model: &ModelSpec) -> Option<Footprint> {
    facts(&model.name).map(|facts| facts.footprint)
}

/// Weights and data that `spec` needs and that are not below `root`, each once, in the order of the spec.
pub(crate) fn missing(spec: &Spec, root: Option<&DataRoot>) -> Vec<Missing> {
    let drafters = spec.cells.iter().filter_map(|cell| cell.method.drafter.model.as_deref());
    let models = spec.models().into_iter().map(|model| model.name.as_str()).chain(drafters);
    let places = places_with(root);
    let of_models = models.flat_map(|name| unfetched(name, &places));
    let of_heads = spec.cells.iter().filter(|cell| cell.external.is_none()).filter_map(head_of);
    let of_heads: Vec<Missing> = of_heads.flat_map(|name| unfetched(name, &places)).collect();
    let wants_lenet = spec.metrics.iter().any(|metric| metric.name == "fd-lenet");
    let lenet = if wants_lenet { unfetched("lenet-mnist", &places) } else { Vec::new() };
    let mnist = [MNIST_IMAGES, MNIST_LABELS].into_iter().filter(|_| wants_lenet);
    let mnist = mnist.filter_map(|item| absent_item(&item, root));
    let mut missing: Vec<Missing> = Vec::new();
    let of_metrics = spec.metrics.iter().flat_map(|metric| of_protocol(metric, &places, root));
    for entry in of_models.chain(of_heads).chain(lenet).chain(mnist).chain(of_metrics) {
        if !missing.contains(&entry) {
            missing.push(entry);
        }
    }
    missing
}

/// What a metric under a protocol lacks: its network's weights, where no file is named for them, and what it compares
/// with. A protocol that does not exist is told when the run begins.
fn of_protocol(metric: &MetricSpec, places: &Places, root: Option<&DataRoot>) -> Vec<Missing> {
    let Some(protocol) = metric.protocol.as_deref().and_then(|name| Protocol::find(name).ok()) else {
        return Vec::new();
    };
    let value = metric.values().join(", ");
    let network = &protocol.recipe().network.name;
    let mut missing = if metric.weights.is_none() { unfetched(network, places) } else { Vec::new() };
    let paths = [("weights", &metric.weights), ("what it compares with", &metric.real)];
    for (what, path) in paths.into_iter().filter_map(|(what, path)| Some((what, path.as_ref()?))) {
        let path = root.map_or_else(|| PathBuf::from(path), |root| root.path().join(path));
        if !path.exists() {
            let remedy = format!("put it at {}, or give another path", path.display());
            missing.push(Missing { what: format!("{what}, for {value}"), remedy });
        }
    }
    missing
}

fn facts(name: &str) -> Option<&'static ModelFacts> {
    MODELS.iter().find(|facts| facts.name == name)
}

/// What is missing of the published model `name` and of what it needs, one entry a manifest; nothing where there is no
/// manifest, as for models that are part of the binary.
fn unfetched(name: &str, places: &Places) -> Vec<Missing> {
    let Ok(model) = manifest(name) else { return Vec::new() };
    let of_part = |part: &specimen_hub::Manifest| {
        let files = places.missing(part);
        (!files.is_empty()).then(|| Missing {
            what: format!("weights of {}: {} of {} files", part.name, files.len(), part.files.len()),
            remedy: remedy(&part.name, &files),
        })
    };
    model.with_needs().into_iter().filter_map(of_part).collect()
}

/// How to come by `files` of the model `name`: by its command, and by hand what a program cannot fetch.
fn remedy(name: &str, files: &[&PublishedFile]) -> String {
    let (mut fetched, mut by_hand) = (Vec::new(), Vec::new());
    for file in files {
        match (&file.origin, file.n_bytes.get()) {
            (Origin::ByHand { by_hand: how, place }, _) => {
                by_hand.push(format!("{how}; it belongs at {place} below {DATA_VARIABLE}"));
            }
            (_, Some(n_bytes)) => fetched.push(format!("{} ({n_bytes} bytes)", file.described())),
            (_, None) => fetched.push(format!("{} (of unknown size)", file.described())),
        }
    }
    let by_command = (!fetched.is_empty())
        .then(|| format!("run `specimen data fetch {name}`, which gets {}", fetched.join(", ")));
    by_command.into_iter().chain(by_hand).collect::<Vec<_>>().join("; ")
}

fn absent_item(item: &DataItem, root: Option<&DataRoot>) -> Option<Missing> {
    match item.locate(root) {
        Err(DatasetError::Absent { what, remedy }) => Some(Missing { what, remedy }),
        _ => None,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use specimen_experiments::{names, parse::SpecText};

    use super::*;

    const SPEC: &str = r#"
schema = 1
name = "t"
seed = 1
dataset = { name = "unconditional", limit = 2 }
model = { name = "igpt-mnist", dtype = "f32" }
sampling = { temperature = 1.0, top_k = 0, top_p = 1.0, guidance = 1.0 }
timing = { warmup = 0, blocks = 1 }
cell = [
  { name = "ar" },
  { name = "sd", drafter = { proposer = "model", model = "igpt-fmnist", shape = "chain", depth = 2 } },
]
metric = [{ name = "fd-lenet", min_n = 2 }]
"#;

    #[test]
    fn every_model_that_a_spec_can_name_is_known() {
        assert_eq!(MODELS.map(|facts| facts.name).as_slice(), names::MODELS);
    }

    #[test]
    fn every_network_of_the_metrics_can_be_fetched() {
        for network in specimen_extract::network::NetworkName::ALL {
            let model = manifest(network.name()).unwrap();
            let wanted = specimen_extract::weights_lookup::published(network).file;
            assert!(
                model.files.iter().any(|file| file.name == wanted || file.name == "model.safetensors"),
                "{network}"
            );
        }
    }

    #[test]
    fn target_drafter_and_metric_weights_are_missed_once_each_with_what_to_fetch() {
        let spec = SpecText::parse("t.toml", SPEC).unwrap().resolve().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = DataRoot::new(folder.path());
        let found = missing(&spec, Some(&root));
        let keys: Vec<&str> = found.iter().map(|entry| entry.what.as_str()).collect();
        let expected = [
            "weights of igpt-mnist: 1 of 1 files",
            "weights of igpt-fmnist: 1 of 1 files",
            "weights of lenet-mnist: 1 of 1 files",
            "mnist-test-images",
            "mnist-test-labels",
        ];
        assert_eq!(keys, expected);
        assert!(found[0].remedy.contains("teddykoker/image-gpt"), "{}", found[0].remedy);
        assert!(found[2].remedy.contains("`specimen data fetch lenet-mnist`"), "{}", found[2].remedy);
        assert!(missing(&spec, None)[3].remedy.starts_with("set SPECIMEN_DATA to"), "{found:?}");

        let file = folder.path().join("weights/igpt/mnist_gen.safetensors");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
        assert_eq!(missing(&spec, Some(&root)).len(), expected.len() - 1);
    }

    #[test]
    fn files_of_a_published_model_are_missed_with_size_and_command_until_they_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { own: vec![folder.path().to_owned()], hub: None, torch: None };
        let found = unfetched("llamagen-t2i-xl-512", &places);
        let whats: Vec<&str> = found.iter().map(|entry| entry.what.as_str()).collect();
        let expected = [
            "weights of llamagen-t2i-xl-512: 1 of 1 files",
            "weights of llamagen-vq-t2i: 1 of 1 files",
            "weights of flan-t5-xl: 3 of 3 files",
        ];
        assert_eq!(whats, expected);
        let remedy = "run `specimen data fetch llamagen-t2i-xl-512`, which gets t2i_XL_stage2_512.pt of \
                      peizesun/llamagen_t2i (of unknown size)";
        assert_eq!(found[0].remedy, remedy);
        assert!(unfetched("inception-fid", &places)[0].remedy.ends_with(".pth (95628359 bytes)"));
        let file = folder.path().join("weights/peizesun/llamagen_t2i/t2i_XL_stage2_512.safetensors");
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
        assert_eq!(unfetched("llamagen-t2i-xl-512", &places).len(), expected.len() - 1);
        assert_eq!(unfetched("tiny", &places), []);
    }

    #[test]
    fn a_metric_under_a_protocol_misses_its_network_and_what_it_compares_with() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { own: vec![folder.path().to_owned()], hub: None, torch: None };
        let root = DataRoot::new(folder.path());
        let metric = MetricSpec {
            protocol: Some("lantern".to_owned()),
            real: Some("coco/val2017".to_owned()),
            ..MetricSpec::named("fid")
        };
        let whats = |metric: &MetricSpec| -> Vec<String> {
            of_protocol(metric, &places, Some(&root)).into_iter().map(|entry| entry.what).collect()
        };
        let compared = "what it compares with, for fid:lantern";
        assert_eq!(whats(&metric), ["weights of inception-fid: 1 of 1 files", compared]);
        std::fs::create_dir_all(folder.path().join("coco/val2017")).unwrap();
        let given = MetricSpec { weights: Some("mine.safetensors".to_owned()), ..metric };
        assert_eq!(whats(&given), ["weights, for fid:lantern"]);
        assert_eq!(whats(&MetricSpec::named("target-nll")), [""; 0]);
    }

    #[test]
    fn a_head_that_nobody_publishes_is_missed_with_how_to_make_it_and_where_to_put_it() {
        let spec = SPEC.replace("igpt-mnist", "llamagen-t2i-xl-512").replace(
            "drafter = { proposer = \"model\", model = \"igpt-fmnist\",",
            "drafter = { proposer = \"eagle1\", weights = \"cascade\",",
        );
        let spec = SpecText::parse("t.toml", &spec).unwrap().resolve().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let head = |root: &DataRoot| {
            let found = missing(&spec, Some(root)).into_iter();
            found.filter(|entry| entry.what.contains("drafter")).collect::<Vec<_>>()
        };
        let root = DataRoot::new(folder.path());
        let found = head(&root);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].what, "weights of llamagen-t2i-xl-512-drafter-cascade: 1 of 1 files");
        let place = "weights/llamagen-t2i-xl-512/drafter-cascade/model.safetensors";
        assert!(found[0].remedy.starts_with("nobody publishes it: train LANTERN's"), "{found:?}");
        assert!(
            found[0].remedy.ends_with(&format!("it belongs at {place} below SPECIMEN_DATA")),
            "{found:?}"
        );
        let file = folder.path().join(place);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
        assert_eq!(head(&root), []);
    }

    #[cfg(feature = "torch")]
    #[test]
    fn what_a_forward_reads_is_what_the_networks_ask_their_files_for() {
        use specimen_models::{
            inventory::n_parameters,
            janus::{self, JanusNames, JanusNetwork},
            llamagen::{self, LlamaGenNames, LlamaGenNetwork},
        };
        let streamed = |name: &str| manifest(name).unwrap().memory.n_streamed.unwrap();
        for model in llamagen::PUBLISHED {
            let all = LlamaGenNetwork::expected(&model.config, LlamaGenNames::Original).unwrap();
            let read: Vec<_> = all.into_iter().filter(|entry| !entry.name.contains("embedding")).collect();
            assert_eq!(n_parameters(&read) as u64, streamed(model.name), "{}", model.name);
        }
        for model in janus::PUBLISHED {
            let all = JanusNetwork::expected(&model.config, JanusNames::Original).unwrap();
            let is_table = |name: &str| name.contains("embed_tokens") || name == "gen_embed.weight";
            let read: Vec<_> = all.into_iter().filter(|entry| !is_table(&entry.name)).collect();
            assert_eq!(n_parameters(&read) as u64, streamed(model.name), "{}", model.name);
        }
    }
}
