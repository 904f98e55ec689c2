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
    spec::{ModelSpec, Spec},
};

/// What is known of a model without opening it.
#[derive(Clone, Copy)]
struct ModelFacts {
    name: &'static str,
    footprint: Footprint,
    /// Where its weights lie; `None` when they are in the binary or on the hub.
    weights: Option<Weights>,
    /// Repositories of the hub that have its target, one of which will do; none where it is not there.
    repos: &'static [&'static str],
}

/// Published weights.
#[derive(Clone, Copy)]
struct Weights {
    /// Below the data folder.
    file: &'static str,
    /// What to put there.
    fetch: &'static str,
}

const IGPT: Footprint = Footprint { n_tokens: 784, width: 28, height: 28 };

/// A model whose weights are in the binary, or made from a seed.
const fn embedded(name: &'static str, n_tokens: usize, side: usize) -> ModelFacts {
    ModelFacts {
        name,
        footprint: Footprint { n_tokens, width: side, height: side },
        weights: None,
        repos: &[],
    }
}

/// An architecture at toy width.
const fn toy(name: &'static str) -> ModelFacts {
    embedded(name, 16, 8)
}

/// A published model that paints 16 by 16 pixels a token.
const fn published(name: &'static str, side: usize, repos: &'static [&'static str]) -> ModelFacts {
    let along = side / 16;
    ModelFacts { repos, ..embedded(name, along * along, side) }
}

const MODELS: [ModelFacts; 16] = [
    embedded("tiny", 256, 64),
    ModelFacts {
        name: "igpt-mnist",
        footprint: IGPT,
        weights: Some(Weights {
            file: "weights/igpt/mnist_gen.safetensors",
            fetch: "the state dict of teddykoker/image-gpt models/mnist_gen.ckpt as safetensors",
        }),
        repos: &[],
    },
    ModelFacts {
        name: "igpt-fmnist",
        footprint: IGPT,
        weights: Some(Weights {
            file: "weights/igpt/fmnist_gen.safetensors",
            fetch: "the state dict of teddykoker/image-gpt models/fmnist_gen.ckpt as safetensors",
        }),
        repos: &[],
    },
    published("llamagen-c2i-b-256", 256, &["FoundationVision/LlamaGen"]),
    published("llamagen-c2i-b-384", 384, &["FoundationVision/LlamaGen"]),
    published("llamagen-c2i-l-256", 256, &["FoundationVision/LlamaGen"]),
    published("llamagen-c2i-l-384", 384, &["FoundationVision/LlamaGen"]),
    published("llamagen-c2i-xl-384", 384, &["FoundationVision/LlamaGen"]),
    published("llamagen-t2i-xl-256", 256, &["jadohu/LlamaGen-T2I", "peizesun/llamagen_t2i"]),
    published("llamagen-t2i-xl-512", 512, &["jadohu/LlamaGen-T2I-2", "peizesun/llamagen_t2i"]),
    toy("llamagen-toy"),
    toy("llamagen-c2i-toy"),
    published("janus-pro-1b", 384, &["deepseek-community/Janus-Pro-1B", "deepseek-ai/Janus-Pro-1B"]),
    published("janus-pro-7b", 384, &["deepseek-community/Janus-Pro-7B", "deepseek-ai/Janus-Pro-7B"]),
    toy("janus-toy"),
    embedded("stub", 16, 8),
];

/// Feature network of the metric `fd-lenet`.
const LENET: Weights = Weights {
    file: "weights/lenet_mnist/lenet.safetensors",
    fetch: "models/lenet.pth of abdulfatir/gan-metrics-pytorch as safetensors",
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
        let (facts, what) = (facts(name)?, format!("weights of {name}"));
        match facts.weights {
            Some(weights) => absent(&what, weights, root),
            None => absent_on_hub(what, facts, root),
        }
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
    let Weights { file, fetch } = weights;
    let remedy = match root {
        Some(root) if root.path().join(file).is_file() => return None,
        Some(root) => format!("put {fetch} at {}", root.path().join(file).display()),
        None => {
            format!("set {DATA_VARIABLE} to a folder for data, and put {fetch} at ${DATA_VARIABLE}/{file}")
        }
    };
    Some(Missing { what: what.to_owned(), remedy })
}

/// What to do where no repository of the target lies below the data folder or in the hub's cache. Its other parts are
/// looked for when it is opened.
fn absent_on_hub(what: String, facts: &ModelFacts, root: Option<&DataRoot>) -> Option<Missing> {
    let hub = hub_cache();
    let is_there = |repo: &&str| {
        let own = root.map(|root| root.path().join("weights").join(repo));
        let cached = hub.as_ref().map(|hub| hub.join(format!("models--{}", repo.replace('/', "--"))));
        [own, cached].into_iter().flatten().any(|folder| folder.is_dir())
    };
    if facts.repos.is_empty() || facts.repos.iter().any(|repo| is_there(&repo)) {
        return None;
    }
    Some(Missing { what, remedy: format!("fetch them with `specimen data fetch {}`", facts.name) })
}

/// The cache of the Hugging Face hub, as the models look for it.
fn hub_cache() -> Option<PathBuf> {
    let set = |name: &str| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let user = || set("XDG_CACHE_HOME").or_else(|| Some(set("HOME")?.join(".cache")));
    let home = || set("HF_HOME").or_else(|| Some(user()?.join("huggingface")));
    set("HF_HUB_CACHE").or_else(|| Some(home()?.join("hub")))
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

    #[test]
    fn a_model_of_the_hub_is_missed_until_one_of_its_repositories_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = DataRoot::new(folder.path());
        let facts = facts("janus-pro-1b").unwrap();
        // No such repository is in anybody's cache.
        let facts = ModelFacts { repos: &["nobody/nothing"], ..*facts };
        let found = absent_on_hub("weights".into(), &facts, Some(&root)).unwrap();
        assert_eq!(found.remedy, "fetch them with `specimen data fetch janus-pro-1b`");
        std::fs::create_dir_all(folder.path().join("weights/nobody/nothing")).unwrap();
        assert_eq!(absent_on_hub("weights".into(), &facts, Some(&root)), None);
    }

    #[cfg(feature = "torch")]
    #[test]
    fn weights_are_looked_for_where_the_models_look() {
        use specimen_models::igpt::IgptWeights;
        for which in IgptWeights::ALL {
            assert_eq!(facts(which.model_name()).unwrap().weights.unwrap().file, which.file());
        }
        assert_eq!(LENET.file, specimen_extract::lenet::FILE);
    }
}
