//! Safetensors, to rename or cast what they hold.

use std::collections::BTreeMap;

use safetensors::SafeTensors;

use crate::convert::{
    Element,
    error::{ConvertError, FETCH_AGAIN},
    mapping::Mapping,
    tensor::{Storage, TensorView},
};

use super::Contents;

pub(super) fn open(file: Mapping) -> Result<Contents, ConvertError> {
    let format = |found: String| ConvertError::Format {
        path: file.path().to_owned(),
        offset: 0,
        expected: "a whole safetensors file".to_owned(),
        found,
        remedy: FETCH_AGAIN.to_owned(),
    };
    let (n_header, header) =
        SafeTensors::read_metadata(file.bytes()).map_err(|error| format(error.to_string()))?;
    let mut tensors = BTreeMap::new();
    for (name, info) in header.tensors() {
        let kind = info.dtype.to_string();
        let element = Element::of_name(&kind).ok_or_else(|| format(format!("`{name}` of {kind}")))?;
        let (from, to) = (info.data_offsets.0 as u64, info.data_offsets.1 as u64);
        let storage = Storage { file: 0, start: 8 + n_header as u64 + from, n_bytes: to - from };
        let shape = info.shape.iter().map(|&n| n as u64).collect();
        let view = TensorView::contiguous(storage, element, shape)
            .map_err(|misfit| format(format!("`{name}`: {}", misfit.found)))?;
        tensors.insert(name, view);
    }
    let (format, key, files) = ("safetensors", String::new(), vec![file]);
    Ok(Contents { format, key, files, tensors, dropped: Vec::new() })
}
