//! The index of a checkpoint in several files: which file has which tensors.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Deserialize;

use specimen_foundation::{bounded_read::read_side_file, plain_words::plain_words};

use crate::LoadError;

/// The part of an index that matters.
#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// The names of the tensors in each file of the index at `path`, by file.
pub(crate) fn read(path: &Path) -> Result<BTreeMap<String, BTreeSet<String>>, LoadError> {
    let text = read_side_file(path).map_err(|source| LoadError::Read { path: path.to_owned(), source })?;
    let wrong = |reason: String| LoadError::Config { path: path.to_owned(), reason };
    let index: Index = serde_json::from_slice(&text).map_err(|error| {
        wrong(format!("not an index of weights: {}; fetch it again", plain_words(&error.to_string())))
    })?;
    let mut files: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (name, file) in index.weight_map {
        if Path::new(&file).file_name().is_none_or(|plain| plain != file.as_str()) || file.contains('\\') {
            return Err(wrong(format!("tensor `{name}` in `{file}`, which is no name of a file beside it")));
        }
        files.entry(file).or_default().insert(name);
    }
    if files.is_empty() {
        return Err(wrong("it lists no tensors; fetch it again".to_owned()));
    }
    Ok(files)
}
