//! Files of `torch.save` before 1.6: pickles one behind the other (a magic number, a version, the machine, the objects,
//! the keys of the storages), then the storages, each with its length. FID's Inception network is published so.

use std::collections::BTreeMap;

use crate::convert::{
    error::{ConvertError, FETCH_AGAIN},
    mapping::Mapping,
    pickle::{self, Dialect, Heap, Id, Loaded, Node, StorageKey},
    state_dict,
    tensor::Storage,
};

use super::{Contents, Opening, pickle_error, storage_bytes, view};

/// 0x1950a86a20f9469cfc6c, its lowest byte first.
const MAGIC: [u8; 10] = [0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];
const VERSION: i64 = 1001;

pub(super) fn open(file: Mapping, opening: &Opening<'_>) -> Result<Contents, ConvertError> {
    let mut at = 0;
    let dialect = Dialect { has_script: false, inert: opening.inert };
    let mut next = || -> Result<(u64, Loaded<'_>), ConvertError> {
        let start = at as u64;
        let loaded = pickle::load(&file.bytes()[at..], dialect, opening.limits)
            .map_err(|fault| pickle_error(&file, start, fault))?;
        at += loaded.n_bytes;
        Ok((start, loaded))
    };
    let format = |offset: u64, expected: &str, found: String, remedy: &str| ConvertError::Format {
        path: file.path().to_owned(),
        offset,
        expected: expected.to_owned(),
        found,
        remedy: remedy.to_owned(),
    };
    let (_, magic) = next()?;
    if magic.heap.get(magic.root) != &Node::Long(&MAGIC) {
        let remedy = "it is a pickle of something else: save its tensors with torch.save";
        return Err(format(0, "the magic number of torch.save", magic.heap.get(magic.root).kind(), remedy));
    }
    let (start, version) = next()?;
    if version.heap.get(version.root) != &Node::Int(VERSION) {
        let found = version.heap.get(version.root).kind();
        return Err(format(start, "version 1001", found, "save it again with torch.save"));
    }
    let (start, machine) = next()?;
    if item(&machine.heap, machine.root, "little_endian") != Some(&Node::Bool(true)) {
        let remedy = "bytes are not turned around: save it again on a little-endian machine";
        return Err(format(start, "a file of a little-endian machine", "one of another".to_owned(), remedy));
    }
    let (_, objects) = next()?;
    let (start, keys) = next()?;
    let Node::List(listed) = keys.heap.get(keys.root) else {
        let found = keys.heap.get(keys.root).kind();
        return Err(format(start, "the list of storages", found, FETCH_AGAIN));
    };
    let listed: Vec<&Node<'_>> = listed.iter().map(|&id| keys.heap.get(id)).collect();
    let storages = storages(&file, at as u64, &listed, &objects.heap)?;
    let found = state_dict::find(&objects.heap, objects.root, opening).map_err(|missing| {
        let state_dict::NotFound { found, remedy } = missing;
        crate::convert::error::no_tensors(file.path(), found, remedy)
    })?;
    let mut tensors = BTreeMap::new();
    for (name, tensor) in found.tensors {
        let Some(storage) = storages.get(tensor.storage.key) else {
            let expected = format!("the storage `{}` of tensor `{name}`", tensor.storage.key);
            return Err(format(start, &expected, "no such storage".to_owned(), FETCH_AGAIN));
        };
        tensors.insert(name.clone(), view(&file, &objects.heap, &name, tensor, *storage)?);
    }
    let (key, dropped) = (found.key, found.dropped);
    drop((magic, version, machine, objects, keys));
    Ok(Contents { format: "a file of torch.save before 1.6", key, files: vec![file], tensors, dropped })
}

/// Where each storage is, from byte `at` to the end of the file, in the order of `keys`.
fn storages(
    file: &Mapping,
    mut at: u64,
    keys: &[&Node<'_>],
    heap: &Heap<'_>,
) -> Result<BTreeMap<String, Storage>, ConvertError> {
    let format = |offset: u64, expected: String, found: String| ConvertError::Format {
        path: file.path().to_owned(),
        offset,
        expected,
        found,
        remedy: FETCH_AGAIN.to_owned(),
    };
    let mut described: BTreeMap<&str, &StorageKey<'_>> = BTreeMap::new();
    for node in heap.nodes() {
        let Node::Storage(storage) = node else { continue };
        let known = described.insert(storage.key, storage);
        if known.is_some_and(|known| (known.element, known.n) != (storage.element, storage.n)) {
            let found = format!("storage `{}` with two types or lengths", storage.key);
            return Err(format(0, "one type and length for each storage".to_owned(), found));
        }
    }
    let n_file = file.bytes().len() as u64;
    let mut found = BTreeMap::new();
    for (idx, key) in keys.iter().enumerate() {
        let described = match key {
            Node::Text(key) => described.get(key),
            _ => None,
        };
        let Some(storage) = described else {
            return Err(format(at, "keys of storages that tensors use".to_owned(), key.kind()));
        };
        let whole = format!("storage {} of {} (`{}`)", idx + 1, keys.len(), storage.key);
        let cut =
            || format(at, format!("{whole}, {} elements", storage.n), format!("the end at byte {n_file}"));
        let start = at.checked_add(8).filter(|&start| start <= n_file).ok_or_else(cut)?;
        let n = file.bytes()[at as usize..start as usize].try_into().map(i64::from_le_bytes);
        let n = n.expect("eight bytes were cut out");
        if u64::try_from(n) != Ok(storage.n) {
            return Err(format(at, format!("{whole}, {} elements", storage.n), format!("the length {n}")));
        }
        let n_bytes = storage_bytes(storage).ok_or_else(cut)?;
        let end = start.checked_add(n_bytes).filter(|&end| end <= n_file).ok_or_else(cut)?;
        if found.insert(storage.key.to_owned(), Storage { file: 0, start, n_bytes }).is_some() {
            return Err(format(at, "every storage once".to_owned(), format!("`{}` twice", storage.key)));
        }
        at = end;
    }
    if at != n_file {
        let expected = format!("the end of the file behind storage {}", keys.len());
        return Err(format(at, expected, format!("{} more bytes", n_file - at)));
    }
    Ok(found)
}

fn item<'h, 'a>(heap: &'h Heap<'a>, id: Id, name: &str) -> Option<&'h Node<'a>> {
    let Node::Dict(items) = heap.get(id) else { return None };
    let (_, value) = items.iter().find(|(key, _)| heap.get(*key) == &Node::Text(name))?;
    Some(heap.get(*value))
}
