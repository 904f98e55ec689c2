//! A safetensors file, written tensor by tensor: whole under its name, or not at all.

use std::{
    collections::BTreeMap,
    io::{BufWriter, Write},
    path::{Path, PathBuf},
};

use specimen_foundation::failure;

use crate::convert::{
    ConvertError, Element, Source, conversion::Progress, partial, tensor, tensor::TensorView,
};

/// What was written.
pub(crate) struct Written {
    /// Bytes of the file.
    pub(crate) n_bytes: u64,
    /// Its BLAKE3 in hex.
    pub(crate) blake3: String,
    /// What killed conversions had left beside it.
    pub(crate) removed: Vec<PathBuf>,
}

/// Writes `tensors` of `source` and `notes` to `path`; floats are cast to `dtype` where it is given.
pub(crate) fn write(
    path: &Path,
    source: &Source,
    tensors: &BTreeMap<String, TensorView>,
    dtype: Option<Element>,
    notes: &BTreeMap<String, String>,
    progress: &mut dyn FnMut(&Progress),
) -> Result<Written, ConvertError> {
    let error =
        |source: std::io::Error| failure!(Environment: "{}: cannot write it: {source}", path.display());
    let element = |view: &TensorView| match dtype {
        Some(to) if view.element().is_float() => to,
        _ => view.element(),
    };
    // The widest elements first, so that every tensor is aligned to its own.
    let mut order: Vec<(&String, &TensorView)> = tensors.iter().collect();
    order.sort_by_key(|(name, view)| (std::cmp::Reverse(element(view).n_bytes()), *name));
    let (header, n_data) = header(&order, element, notes);

    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let removed = partial::remove_left(folder).map_err(error)?;
    let file = partial::begin(folder).map_err(error)?;
    let mut out = BufWriter::with_capacity(1 << 20, file);
    let mut hasher = blake3::Hasher::new();
    let mut put = |bytes: &[u8], out: &mut BufWriter<_>| {
        hasher.update(bytes);
        Write::write_all(out, bytes)
    };
    put(&(header.len() as u64).to_le_bytes(), &mut out).map_err(error)?;
    put(header.as_bytes(), &mut out).map_err(error)?;
    let mut reported = Progress { n_done: 0, n_total: n_data };
    let mut cast = Vec::new();
    for (_, view) in order {
        let (from, to) = (view.element(), element(view));
        source
            .read(view, &mut |block| {
                let block = if from == to {
                    block
                } else {
                    cast.clear();
                    tensor::cast(from, to, block, &mut cast);
                    &cast
                };
                put(block, &mut out)?;
                reported.n_done += block.len() as u64;
                progress(&reported);
                Ok(())
            })
            .map_err(error)?;
    }
    let file = out.into_inner().map_err(|failed| error(failed.into_error()))?;
    file.as_file().sync_all().map_err(error)?;
    file.persist(path).map_err(|failed| error(failed.error))?;
    let n_bytes = 8 + header.len() as u64 + n_data;
    Ok(Written { n_bytes, blake3: hasher.finalize().to_hex().to_string(), removed })
}

/// The header, padded to whole words, and how many bytes of data follow.
fn header(
    order: &[(&String, &TensorView)],
    element: impl Fn(&TensorView) -> Element,
    notes: &BTreeMap<String, String>,
) -> (String, u64) {
    let mut header = serde_json::Map::new();
    if !notes.is_empty() {
        header.insert("__metadata__".to_owned(), serde_json::json!(notes));
    }
    let mut at = 0;
    for (name, view) in order {
        let end = at + view.n_elements() * element(view).n_bytes();
        let entry = serde_json::json!({
            "dtype": element(view).name(),
            "shape": view.shape(),
            "data_offsets": [at, end],
        });
        header.insert((*name).clone(), entry);
        at = end;
    }
    let mut text = serde_json::Value::Object(header).to_string();
    while !text.len().is_multiple_of(8) {
        text.push(' ');
    }
    (text, at)
}
