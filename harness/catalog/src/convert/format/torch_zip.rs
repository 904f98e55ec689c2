//! Archives of `torch.save` since 1.6 and of `torch.jit.save`: one pickle, and one stored entry for each storage.

use std::collections::BTreeMap;

use crate::convert::{
    error::{ConvertError, FETCH_AGAIN},
    mapping::Mapping,
    pickle::{self, Dialect},
    state_dict,
    tensor::Storage,
    zip::Archive,
};

use super::{Contents, Opening, pickle_error, storage_bytes, view};

const PICKLE: &str = "data.pkl";

pub(super) fn open(file: Mapping, opening: &Opening<'_>) -> Result<Contents, ConvertError> {
    let archive = Archive::open(&file, opening.limits)?;
    let format = |offset: u64, expected: String, found: String, remedy: &str| ConvertError::Format {
        path: file.path().to_owned(),
        offset,
        expected,
        found,
        remedy: remedy.to_owned(),
    };
    let is_pickle = |name: &&str| name.split_once('/').is_some_and(|(_, rest)| rest == PICKLE);
    let mut pickles = archive.names().filter(is_pickle);
    let Some(prefix) = pickles.next().map(|name| &name[..name.len() - PICKLE.len()]) else {
        let names: Vec<&str> = archive.names().take(4).collect();
        let found = format!("an archive of {}", names.join(", "));
        let remedy = "it is no archive of torch.save; name the file of weights itself";
        return Err(format(0, format!("the entry {PICKLE} in one folder"), found, remedy));
    };
    if let Some(second) = pickles.next() {
        let found = format!("`{prefix}{PICKLE}` and `{second}`").escape_debug().to_string();
        let remedy = "it is not known which of them counts: name the file that torch.save wrote";
        return Err(format(0, format!("one {PICKLE}"), found, remedy));
    }
    if let Some(range) = archive.range(&file, &format!("{prefix}byteorder"))? {
        let order = &file.bytes()[range.start as usize..range.end as usize];
        if order != b"little" {
            let found =
                format!("`{}`", String::from_utf8_lossy(&order[..order.len().min(16)]).escape_debug());
            let remedy = "bytes are not turned around: save it again on a little-endian machine";
            return Err(format(range.start, "the byte order `little`".to_owned(), found, remedy));
        }
    }
    let has_script =
        archive.names().any(|name| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with("code/")));
    let range = archive.range(&file, &format!("{prefix}{PICKLE}"))?.expect("the entry was found by its name");
    if range.end - range.start > opening.limits.pickle_bytes {
        let expected = format!("a pickle of at most {} bytes", opening.limits.pickle_bytes);
        let found = (range.end - range.start).to_string();
        return Err(format(
            range.start,
            expected,
            found,
            "tensors do not belong into the pickle: do not trust the file",
        ));
    }
    let bytes = &file.bytes()[range.start as usize..range.end as usize];
    let dialect = Dialect { has_script, inert: opening.inert };
    let loaded = pickle::load(bytes, dialect, opening.limits)
        .map_err(|fault| pickle_error(&file, range.start, fault))?;
    let found = state_dict::find(&loaded.heap, loaded.root, opening).map_err(|missing| {
        let state_dict::NotFound { found, remedy } = missing;
        crate::convert::error::no_tensors(file.path(), found, remedy)
    })?;
    let mut tensors = BTreeMap::new();
    for (name, tensor) in found.tensors {
        let entry = format!("{prefix}data/{}", tensor.storage.key);
        let Some(range) = archive.range(&file, &entry)? else {
            let expected = format!("the entry `{}` for tensor `{name}`", entry.escape_debug());
            return Err(format(0, expected, "no such entry".to_owned(), FETCH_AGAIN));
        };
        let n_bytes = range.end - range.start;
        let width = tensor.storage.element.map_or(1, |element| element.n_bytes());
        if storage_bytes(&tensor.storage).is_none_or(|n| n > n_bytes || n_bytes - n >= width) {
            let expected =
                format!("{} elements of {width} bytes in `{}`", tensor.storage.n, entry.escape_debug());
            return Err(format(range.start, expected, format!("{n_bytes} bytes"), FETCH_AGAIN));
        }
        let storage = Storage { file: 0, start: range.start, n_bytes };
        tensors.insert(name.clone(), view(&file, &loaded.heap, &name, tensor, storage)?);
    }
    let (key, dropped) = (found.key, found.dropped);
    let format = match (has_script, archive.has_checksums()) {
        (true, true) => "a TorchScript archive",
        (true, false) => "a TorchScript archive without checksums",
        (false, true) => "a zip archive of torch.save",
        (false, false) => "a zip archive of torch.save without checksums",
    };
    drop(loaded);
    Ok(Contents { format, key, files: vec![file], tensors, dropped })
}
