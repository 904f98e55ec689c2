//! The prompts that a spec asks for.

use specimen_datasets::{
    DatasetError, PromptSet,
    catalog::{self, ENTRIES, OpenOptions},
    data_root::DataRoot,
    subset::{self, Subset},
};

use crate::spec::DatasetSpec;

/// How many prompts a spec asks for, where that is known without reading them: its limit, and what the dataset is published
/// to have.
pub fn published_number(dataset: &DatasetSpec) -> Option<usize> {
    let known = ENTRIES.iter().find(|entry| entry.name == dataset.name).and_then(|entry| entry.n_prompts);
    match (dataset.limit, known) {
        (Some(limit), Some(all)) => Some(limit.min(all)),
        (limit, all) => limit.or(all),
    }
}

/// Opens the dataset of a spec with its limit, subset, part and caption rule. `root` is where data lies; datasets
/// that are generated need none.
pub fn open(dataset: &DatasetSpec, root: Option<&DataRoot>) -> Result<PromptSet, DatasetError> {
    let (subset, limit) = match (dataset.subset_seed, dataset.limit) {
        (Some(seed), Some(n)) => (Some(Subset { n, seed }), None),
        (_, limit) => (None, limit),
    };
    let options = OpenOptions { root: root.cloned(), caption: dataset.caption, subset, limit };
    let set = catalog::open(&dataset.name, &options)?;
    match dataset.part {
        Some(part) => subset::part(&set, part),
        None => Ok(set),
    }
}
