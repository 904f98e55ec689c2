//! The names a spec may use for models, datasets, metrics and measures. Flat lists: adding one is a line
//! here and its implementation elsewhere.

use specimen_datasets::catalog::ENTRIES;

/// Models that can be run. `tiny` is the embedded one, `stub` draws noise for tests of the harness itself, and so do
/// those named `-toy`, by the networks of the models they are named after; the others need their weights on disk.
pub const MODELS: &[&str] = &[
    "tiny",
    "igpt-mnist",
    "igpt-fmnist",
    "stub",
    "lumina-mgpt-7b-768",
    "lumina-mgpt-7b-512",
    "anole-7b",
    "lumina-toy",
    "anole-toy",
];

/// The dataset without prompts, for models that take none; its size is the spec's `limit`.
pub const UNCONDITIONAL: &str = "unconditional";

/// Endings of prompt files; each may also be followed by `.gz`.
pub const PROMPT_FILE_ENDINGS: &[&str] = &[".txt", ".csv", ".jsonl", ".tsv", ".json"];

/// Name of the baseline cell, which must have no drafter.
pub const BASELINE: &str = "ar";

/// A quantity computed from the images or tokens of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Metric {
    /// As a spec names it.
    pub name: &'static str,
    /// What it is, in a line.
    pub what: &'static str,
    /// Whether it compares distributions. Such a value is biased for few images, and `min_n` is expected.
    pub compares_distributions: bool,
}

/// All metrics.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "target-nll",
        what: "mean negative log-likelihood of the tokens under the target, bits per token, before top-k and top-p",
        compares_distributions: false,
    },
    Metric {
        name: "scene-clip",
        what: "cosine between image and caption in the scenes evaluator's joint space",
        compares_distributions: false,
    },
    Metric {
        name: "attribute-accuracy",
        what: "share of a caption's attributes that the scenes evaluator sees in the image",
        compares_distributions: false,
    },
    Metric {
        name: "fd-scenes",
        what: "Frechet distance to rendered scenes in the scenes evaluator's features",
        compares_distributions: true,
    },
    Metric {
        name: "fd-lenet",
        what: "Frechet distance to the MNIST test images in LeNet-5 features",
        compares_distributions: true,
    },
];

/// Quantities of every cell's summary that an `[[expect]]` row may speak about, besides metrics.
pub const MEASURES: &[&str] = &[
    "speedup",
    "speedup_e2e",
    "accepted_per_step",
    "tokens_per_forward",
    "nfe",
    "step_compression",
    "tvd_spent",
];

/// Columns of the tables of published numbers by which a `[[published]]` row selects.
pub const PUBLISHED_COLUMNS: &[&str] =
    &["source", "table", "model", "dataset", "drafter", "method", "params", "metric"];

/// Datasets that have a name; a prompt file is named by its path instead.
pub fn datasets() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|entry| entry.name)
}

/// Whether `name` looks like the path of a prompt file.
pub fn is_prompt_file(name: &str) -> bool {
    let name = name.to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    PROMPT_FILE_ENDINGS.iter().any(|ending| name.ends_with(ending))
}
