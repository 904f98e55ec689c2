//! The prompts that a spec asks for.

use specimen_datasets::{
    DatasetError, PromptSet,
    catalog::{self, OpenOptions},
    data_root::DataRoot,
    subset::{self, Subset},
};

use crate::spec::DatasetSpec;

/// Opens the dataset of a spec with its limit, subset, part and caption rule. `root` is where data lies; datasets
/// that are generated need none.
///
/// # Errors
/// If the data is absent or not what was published; the error says how to get it.
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
