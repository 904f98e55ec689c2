//! The containers in which weights are published, one file each, told apart by their first bytes.

mod index;
mod legacy;
mod safetensors_file;
mod torch_zip;

use std::{collections::BTreeMap, path::Path};

use crate::convert::{
    Limits,
    error::{ConvertError, FETCH_AGAIN},
    mapping::Mapping,
    pickle::{Fault, Heap, StorageKey, TensorNode, Unresolved, check_stored},
    tensor::{Storage, TensorView},
};

/// How to open a file.
pub(crate) struct Opening<'o> {
    /// Where in a pickle the model's tensors are.
    pub(crate) key: Option<&'o str>,
    /// Further classes whose objects are left out.
    pub(crate) inert: &'o [String],
    /// What the file may ask for.
    pub(crate) limits: &'o Limits,
}

/// What a container holds.
pub(crate) struct Contents {
    /// What it is, in words.
    pub(crate) format: &'static str,
    /// Keys on the way to the tensors.
    pub(crate) key: String,
    /// Files that were mapped, in the order that views count them in.
    pub(crate) files: Vec<Mapping>,
    /// Tensors by name.
    pub(crate) tensors: BTreeMap<String, TensorView>,
    /// Places of tensors that have no name, and of arrays of NumPy.
    pub(crate) dropped: Vec<String>,
}

/// Opens the file at `path`.
pub(crate) fn open(path: &Path, opening: &Opening<'_>) -> Result<Contents, ConvertError> {
    let file = Mapping::open(path)?;
    let bytes = file.bytes();
    if path.to_string_lossy().ends_with(".json") {
        return index::open(file, opening);
    }
    // First, for its length may begin with the bytes of any other. No archive and no pickle has a brace there.
    if bytes.get(8) == Some(&b'{') {
        return safetensors_file::open(file);
    }
    if bytes.starts_with(b"PK") {
        return torch_zip::open(file, opening);
    }
    if bytes.first() == Some(&0x80) {
        return legacy::open(file, opening);
    }
    let shown: String = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Err(ConvertError::Format {
        path: path.to_owned(),
        offset: 0,
        expected: "a zip archive or a pickle of PyTorch, safetensors, or an index of shards (.index.json)"
            .to_owned(),
        found: if bytes.is_empty() { "an empty file".to_owned() } else { format!("the bytes {shown}") },
        remedy: "fetch it again; text at this place is often an error page or a pointer of Git LFS"
            .to_owned(),
    })
}

/// The fault of a pickle that begins at byte `start` of `file`.
fn pickle_error(file: &Mapping, start: u64, fault: Fault) -> ConvertError {
    let Fault { offset, opcode, expected, found, remedy } = fault;
    ConvertError::Pickle {
        path: file.path().to_owned(),
        offset: start + offset,
        opcode,
        expected,
        found,
        remedy: remedy.into(),
    }
}

/// The view that `tensor` describes, its storage lying where `storage` says.
fn view(
    file: &Mapping,
    heap: &Heap<'_>,
    name: &str,
    tensor: &TensorNode<'_>,
    storage: Storage,
) -> Result<TensorView, ConvertError> {
    let TensorNode { storage: StorageKey { part, element, .. }, offset, ref shape, ref strides, .. } =
        *tensor;
    let width = element.map_or(1, |element| element.n_bytes());
    let within = match part {
        None => Some(storage),
        Some((from, n)) => {
            let bytes = from.checked_mul(width).zip(n.checked_mul(width));
            bytes
                .filter(|(from, n)| from.checked_add(*n).is_some_and(|end| end <= storage.n_bytes))
                .map(|(from, n_bytes)| Storage { start: storage.start + from, n_bytes, ..storage })
        }
    };
    let reported = |expected: String, found: String, remedy: &str| {
        crate::convert::error::tensor(file.path(), name, expected, found, remedy)
    };
    check_stored(heap, tensor).map_err(|Unresolved { found, remedy }| {
        reported("a tensor whose values are those in the file".to_owned(), found, remedy)
    })?;
    let error = |expected: String, found: String| reported(expected, found, FETCH_AGAIN);
    let within = within.ok_or_else(|| {
        error(format!("a part of a storage of {} bytes", storage.n_bytes), format!("{part:?}"))
    })?;
    TensorView::new(within, tensor.element, offset, shape.clone(), strides)
        .map_err(|misfit| error(misfit.expected, misfit.found))
}

/// How many bytes the storage `key` must have; `None` where the number cannot be.
fn storage_bytes(key: &StorageKey<'_>) -> Option<u64> {
    key.n.checked_mul(key.element.map_or(1, |element| element.n_bytes()))
}
