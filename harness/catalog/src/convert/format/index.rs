//! Checkpoints in several files: an index names the file of each tensor.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Deserialize;
use specimen_foundation::plain_words::plain_words;

use crate::convert::{
    error::{ConvertError, FETCH_AGAIN},
    mapping::Mapping,
    tensor::TensorView,
};

use super::{Contents, Opening};

/// The part of an index that matters.
#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

pub(super) fn open(file: Mapping, opening: &Opening<'_>) -> Result<Contents, ConvertError> {
    let path = file.path();
    let format = |expected: &str, found: String, remedy: &str| ConvertError::Format {
        path: path.to_owned(),
        offset: 0,
        expected: expected.to_owned(),
        found,
        remedy: remedy.to_owned(),
    };
    let not_an_index = "it must have a `weight_map` from names of tensors to files beside it";
    if file.bytes().len() as u64 > opening.limits.pickle_bytes {
        return Err(format("an index of shards", format!("{} bytes", file.bytes().len()), not_an_index));
    }
    let index: Index = serde_json::from_slice(file.bytes())
        .map_err(|error| format("an index of shards", plain_words(&error.to_string()), not_an_index))?;
    let shards: BTreeSet<&String> = index.weight_map.values().collect();
    if shards.is_empty() || shards.len() > opening.limits.entries {
        return Err(format("shards", format!("{} of them", shards.len()), FETCH_AGAIN));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let (mut files, mut tensors, mut dropped) = (Vec::new(), BTreeMap::new(), Vec::new());
    for shard in shards {
        let is_plain = Path::new(shard).file_name().is_some_and(|name| name == shard.as_str())
            && !shard.contains(['/', '\\', '\0']);
        if !is_plain || shard.ends_with(".json") {
            let found = format!("the shard `{}`", shard.escape_debug());
            return Err(format("names of files beside the index", found, "do not trust the file"));
        }
        let contents = super::open(&folder.join(shard), opening)?;
        let first = files.len();
        for (name, view) in contents.tensors {
            if index.weight_map.get(&name) != Some(shard) {
                let found = format!("`{name}` in `{shard}`");
                return Err(format("tensors where the index has them", found, FETCH_AGAIN));
            }
            let file = first + view.storage().file;
            tensors.insert(name, TensorView::in_file(view, file));
        }
        files.extend(contents.files);
        dropped.extend(contents.dropped);
    }
    if let Some((name, shard)) = index.weight_map.iter().find(|(name, _)| !tensors.contains_key(*name)) {
        let expected = format!("tensor `{name}` in `{shard}`");
        return Err(format(&expected, "no such tensor".to_owned(), FETCH_AGAIN));
    }
    Ok(Contents { format: "shards with an index", key: String::new(), files, tensors, dropped })
}
