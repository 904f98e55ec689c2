//! What a spec needs on disk beside its prompts, and how large a model's images are: known without libtorch,
//! so that a plan can be made anywhere.

use std::path::PathBuf;

use specimen_datasets::{
    data_root::{DATA_VARIABLE, DataRoot},
    error::DatasetError,
    manifest::{DataItem, MNIST_IMAGES, MNIST_LABELS},
};
use specimen_experiments::{
    estimate::{Footprint, Missing},
    spec::{ModelSpec, Spec},
};

/// What is known of a model without opening it.
struct ModelFacts {
    name: &'static str,
    footprint: Footprint,
    /// Where its weights lie; `None` when they are in the binary.
    weights: Option<Weights>,
}

/// Published weights.
#[derive(Clone, Copy)]
struct Weights {
    /// Below the data folder.
    file: &'static str,
    /// What to put there.
    fetch: &'static str,
    /// Repository of the Hugging Face hub in whose cache they may lie instead.
    hub: Option<&'static str>,
}

const IGPT: Footprint = Footprint { n_tokens: 784, width: 28, height: 28 };

/// A transformer of the Chameleon family.
const fn chameleon(
    name: &'static str,
    n_tokens: usize,
    side: usize,
    file: &'static str,
    hub: &'static str,
) -> ModelFacts {
    let footprint = Footprint { n_tokens, width: side, height: side };
    let fetch = "its files with `specimen data fetch`";
    ModelFacts { name, footprint, weights: Some(Weights { file, fetch, hub: Some(hub) }) }
}

const MODELS: [ModelFacts; 9] = [
    ModelFacts { name: "tiny", footprint: Footprint { n_tokens: 256, width: 64, height: 64 }, weights: None },
    ModelFacts {
        name: "igpt-mnist",
        footprint: IGPT,
        weights: Some(Weights {
            file: "weights/igpt/mnist_gen.safetensors",
            fetch: "the state dict of teddykoker/image-gpt models/mnist_gen.ckpt as safetensors",
            hub: None,
        }),
    },
    ModelFacts {
        name: "igpt-fmnist",
        footprint: IGPT,
        weights: Some(Weights {
            file: "weights/igpt/fmnist_gen.safetensors",
            fetch: "the state dict of teddykoker/image-gpt models/fmnist_gen.ckpt as safetensors",
            hub: None,
        }),
    },
    ModelFacts { name: "stub", footprint: Footprint { n_tokens: 16, width: 8, height: 8 }, weights: None },
    chameleon(
        "lumina-mgpt-7b-768",
        2356,
        768,
        "weights/lumina-mgpt-7b-768/config.json",
        "Alpha-VLLM/Lumina-mGPT-7B-768",
    ),
    chameleon(
        "lumina-mgpt-7b-512",
        1060,
        512,
        "weights/lumina-mgpt-7b-512/config.json",
        "Alpha-VLLM/Lumina-mGPT-7B-512",
    ),
    chameleon("anole-7b", 1024, 512, "weights/anole-7b/config.json", "leloy/Anole-7b-v0.1-hf"),
    ModelFacts {
        name: "lumina-toy",
        footprint: Footprint { n_tokens: 32, width: 12, height: 8 },
        weights: None,
    },
    ModelFacts {
        name: "anole-toy",
        footprint: Footprint { n_tokens: 16, width: 8, height: 8 },
        weights: None,
    },
];

/// Feature network of the metric `fd-lenet`.
const LENET: Weights = Weights {
    file: "weights/lenet_mnist/lenet.safetensors",
    fetch: "models/lenet.pth of abdulfatir/gan-metrics-pytorch as safetensors",
    hub: None,
};

/// Size of a model's output; `None` for a model that is not known here.
pub(crate) fn footprint(model: &ModelSpec) -> Option<Footprint> {
    facts(&model.name).map(|facts| facts.footprint)
}

/// Weights and data that `spec` needs and that are not below `root`, each once, in the order of the spec.
pub(crate) fn missing(spec: &Spec, root: Option<&DataRoot>) -> Vec<Missing> {
    let drafters = spec.cells.iter().filter_map(|cell| cell.method.drafter.model.as_deref());
    let models = spec.cells.iter().map(|cell| cell.model.name.as_str()).chain(drafters);
    let of_models = models.filter_map(|name| {
        let weights = facts(name)?.weights?;
        absent(&format!("weights of {name}"), weights, root)
    });
    let wants_lenet = spec.metrics.iter().any(|metric| metric.name == "fd-lenet");
    let lenet = wants_lenet.then(|| absent("weights of LeNet-5, for fd-lenet", LENET, root)).flatten();
    let mnist = [MNIST_IMAGES, MNIST_LABELS].into_iter().filter(|_| wants_lenet);
    let mnist = mnist.filter_map(|item| absent_item(&item, root));
    let mut missing: Vec<Missing> = Vec::new();
    for entry in of_models.chain(lenet).chain(mnist) {
        if !missing.contains(&entry) {
            missing.push(entry);
        }
    }
    missing
}

fn facts(name: &str) -> Option<&'static ModelFacts> {
    MODELS.iter().find(|facts| facts.name == name)
}

fn absent(what: &str, weights: Weights, root: Option<&DataRoot>) -> Option<Missing> {
    let Weights { file, fetch, hub } = weights;
    let remedy = match root {
        _ if hub.is_some_and(is_cached) => return None,
        Some(root) if root.path().join(file).is_file() => return None,
        Some(root) => format!("put {fetch} at {}", root.path().join(file).display()),
        None => {
            format!("set {DATA_VARIABLE} to a folder for data, and put {fetch} at ${DATA_VARIABLE}/{file}")
        }
    };
    Some(Missing { what: what.to_owned(), remedy })
}

/// Whether the cache of the Hugging Face hub that the environment names holds something of `repository`.
fn is_cached(repository: &str) -> bool {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let hub = set("HF_HUB_CACHE")
        .or_else(|| Some(set("HF_HOME")?.join("hub")))
        .or_else(|| Some(set("XDG_CACHE_HOME")?.join("huggingface/hub")))
        .or_else(|| Some(set("HOME")?.join(".cache/huggingface/hub")));
    let folder = format!("models--{}/snapshots", repository.replace('/', "--"));
    hub.is_some_and(|hub| hub.join(folder).is_dir())
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
    fn target_drafter_and_metric_weights_are_missed_once_each_with_what_to_fetch() {
        let spec = SpecText::parse("t.toml", SPEC).unwrap().resolve().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let root = DataRoot::new(folder.path());
        let found = missing(&spec, Some(&root));
        let keys: Vec<&str> = found.iter().map(|entry| entry.what.as_str()).collect();
        let expected = [
            "weights of igpt-mnist",
            "weights of igpt-fmnist",
            "weights of LeNet-5, for fd-lenet",
            "mnist-test-images",
            "mnist-test-labels",
        ];
        assert_eq!(keys, expected);
        assert!(found[0].remedy.contains("teddykoker/image-gpt"), "{}", found[0].remedy);
        assert!(missing(&spec, None)[0].remedy.starts_with("set SPECIMEN_DATA to"), "{found:?}");

        let file = folder.path().join(MODELS[1].weights.unwrap().file);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
        assert_eq!(missing(&spec, Some(&root)).len(), expected.len() - 1);
    }

    #[cfg(feature = "torch")]
    #[test]
    fn weights_are_looked_for_where_the_models_look() {
        use specimen_models::igpt::IgptWeights;
        for which in IgptWeights::ALL {
            assert_eq!(facts(which.model_name()).unwrap().weights.unwrap().file, which.file());
        }
        assert_eq!(LENET.file, specimen_extract::lenet::FILE);
        for source in specimen_models::chameleon::SOURCES {
            let weights = facts(source.model).unwrap().weights.unwrap();
            assert_eq!((weights.file, weights.hub), (source.config_file().as_str(), Some(source.target)));
        }
    }
}
