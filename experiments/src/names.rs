//! The names a spec may use for models, datasets, diagnostics and measures. Models and metrics are those of the catalog.

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

/// Looks into a cell's images that no number sums up, each with what it is; a `[[diagnostic]]` asks for one.
pub const DIAGNOSTICS: &[(&str, &str)] = &[
    ("feature-rows", "cosines of the target's features between image rows and within the last one"),
    ("feature-pairs", "cosines of the target's features between positions of the whole image, at most 64"),
    ("draft-paths", "how alike the paths of each draft tree are in the codebook, as VVS measures it"),
    ("confidence", "the target's largest probabilities, and acceptance by the drafter's probability"),
    (
        "risen-tokens",
        "guesses of a Jacobi window by the change of their probability: how many are correct, or accepted later",
    ),
];

/// The most images that a diagnostic looks at: its file stays below a few megabytes for any model.
pub const MOST_DIAGNOSED: usize = 8;

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
pub fn is_prompt_file(name: &str) -> bool {
    let name = name.to_lowercase();
    let name = name.strip_suffix(".gz").unwrap_or(&name);
    PROMPT_FILE_ENDINGS.iter().any(|ending| name.ends_with(ending))
}
