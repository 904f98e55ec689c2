//! The parts of a model, such as target and picture decoder, and the ways in which each can be on a disk. Loading and
//! planning both go by them.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The list of shards of a transformer. In a [`Choice`] it stands for itself and the shards it lists.
pub const INDEX: &str = "model.safetensors.index.json";

/// A part of a model, such as its target or its tokenizer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// What it is.
    pub role: String,
    /// Where it is published; the first that is found whole is taken.
    pub choices: Vec<Choice>,
    /// The files of its entry that are fetched to have it.
    pub fetched: Vec<String>,
}

/// One of the ways to have a part. A pickle is taken under the same name as safetensors, or where converting puts it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// A repository of the hub, `owner/name`, or a folder of the model's own. Its files are below `weights/` under this
    /// name; those of a repository in the cache of the hub too.
    pub repo: String,
    /// Files that are needed together, shards in order.
    pub files: Vec<String>,
    /// The revision at which its entry fetches files of that repository; `None` where it fetches none.
    #[serde(skip)]
    pub revision: Option<String>,
}

/// The configuration beside a file of weights: the file of their name that ends in `.json`, or else the `config.json` of
/// their folder; `None` where neither is there.
pub fn config_beside(weights: &Path) -> Option<PathBuf> {
    let known = [weights.with_extension("json"), weights.with_file_name("config.json")];
    known.into_iter().find(|path| path.is_file())
}
