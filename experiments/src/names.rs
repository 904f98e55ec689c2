//! The names a spec may use for models, datasets, metrics and measures. Flat lists: adding one is a line
//! here and its implementation elsewhere.

use specimen_catalog::entry::targets;
use specimen_datasets::catalog::ENTRIES;

use crate::{cells, expect, parse};

/// The embedded model, which knows the words of the scenes.
pub const EMBEDDED: &str = "tiny";

/// Models that can be run, in the order of their names.
pub fn models() -> impl Iterator<Item = &'static str> {
    targets().map(|(entry, _)| entry.name.as_str())
}

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
    /// What its table in a spec must say besides.
    pub needs: Needs,
    /// Names of its values where there are several.
    pub values: &'static [&'static str],
}

/// What a metric's table must say besides its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Nothing: there is one way to compute it.
    Nothing,
    /// The protocol.
    Protocol,
    /// The protocol, and what to compare with.
    ProtocolAndReal,
}

const PRDC_VALUES: &[&str] = &["precision", "recall", "density", "coverage"];

/// All metrics.
pub const METRICS: &[Metric] = &[
    Metric {
        name: "target-nll",
        what: "mean negative log-likelihood of the tokens under the target, bits per token, before top-k and top-p",
        compares_distributions: false,
        needs: Needs::Nothing,
        values: &[],
    },
    Metric {
        name: "scene-clip",
        what: "cosine between image and caption in the scenes evaluator's joint space",
        compares_distributions: false,
        needs: Needs::Nothing,
        values: &[],
    },
    Metric {
        name: "attribute-accuracy",
        what: "share of a caption's attributes that the scenes evaluator sees in the image",
        compares_distributions: false,
        needs: Needs::Nothing,
        values: &[],
    },
    Metric {
        name: "fd-scenes",
        what: "Frechet distance to rendered scenes in the scenes evaluator's features",
        compares_distributions: true,
        needs: Needs::Nothing,
        values: &[],
    },
    Metric {
        name: "fd-lenet",
        what: "Frechet distance to the MNIST test images in LeNet-5 features",
        compares_distributions: true,
        needs: Needs::Nothing,
        values: &[],
    },
    Metric {
        name: "fid",
        what: "Frechet distance to pictures, features or statistics under a named protocol",
        compares_distributions: true,
        needs: Needs::ProtocolAndReal,
        values: &[],
    },
    Metric {
        name: "kid",
        what: "kernel distance to pictures or features under a named protocol",
        compares_distributions: true,
        needs: Needs::ProtocolAndReal,
        values: &[],
    },
    Metric {
        name: "prdc",
        what: "precision, recall, density and coverage against pictures or features under a named protocol",
        compares_distributions: true,
        needs: Needs::ProtocolAndReal,
        values: PRDC_VALUES,
    },
    Metric {
        name: "cmmd",
        what: "maximum mean discrepancy of CLIP embeddings to pictures or features under a named protocol",
        compares_distributions: true,
        needs: Needs::ProtocolAndReal,
        values: &[],
    },
    Metric {
        name: "is",
        what: "Inception Score under a named protocol",
        compares_distributions: false,
        needs: Needs::Protocol,
        values: &[],
    },
    Metric {
        name: "vendi",
        what: "effective number of different images under a named protocol",
        compares_distributions: false,
        needs: Needs::Protocol,
        values: &[],
    },
    Metric {
        name: "clip-score",
        what: "cosine of image and prompt under a named protocol, on its scale",
        compares_distributions: false,
        needs: Needs::Protocol,
        values: &[],
    },
];

/// Looks into a cell's images that no number sums up, each with what it is; a `[[diagnostic]]` asks for one.
pub const DIAGNOSTICS: &[(&str, &str)] = &[
    ("feature-rows", "cosines of the target's features between image rows and within the last one"),
    ("draft-paths", "how alike the paths of each draft tree are in the codebook, as VVS measures it"),
];

/// The most images that a diagnostic looks at: its file stays below a few megabytes for any model.
pub const MOST_DIAGNOSED: usize = 8;

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

/// Every key that a table of a spec may have, table by table; those of `external`, `[slurm]` and of methods apart.
pub fn keys() -> impl Iterator<Item = &'static str> {
    let tables = [
        parse::SPEC_KEYS,
        parse::DATASET_KEYS,
        parse::TIMING_KEYS,
        parse::DIAGNOSTIC_KEYS,
        parse::METRIC_KEYS,
        cells::MODEL_KEYS,
        cells::SAMPLING_KEYS,
        cells::CELL_KEYS,
        expect::PUBLISHED_KEYS,
        expect::EXPECT_KEYS,
    ];
    tables.into_iter().flatten().copied()
}

/// Datasets that have a name; a prompt file is named by its path instead.
pub fn datasets() -> impl Iterator<Item = &'static str> {
    ENTRIES.iter().map(|entry| entry.name)
}

/// Whether `name` looks like the path of a prompt file.
#[must_use]
pub fn is_prompt_file(name: &str) -> bool {
    let name = name.to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    PROMPT_FILE_ENDINGS.iter().any(|ending| name.ends_with(ending))
}
