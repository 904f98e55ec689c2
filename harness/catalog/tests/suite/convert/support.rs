//! Reading what a conversion wrote, and what the fixtures' script says should be there.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use safetensors::SafeTensors;
use specimen_catalog::convert::{ConvertError, Limits, Options, Report};

/// Element in safetensors' words, shape, bytes.
pub(crate) type Plain = (String, Vec<usize>, Vec<u8>);

/// The options that a plain conversion has.
pub(crate) fn plain() -> Options<'static> {
    Options { recipe: None, dtype: None, key: None, inert: &[], limits: Limits::PUBLISHED }
}

/// A file of the folder of fixtures.
pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

/// The tensors of a safetensors file.
pub(crate) fn tensors(path: &Path) -> BTreeMap<String, Plain> {
    let bytes = std::fs::read(path).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let plain = |view: &safetensors::tensor::TensorView<'_>| {
        (view.dtype().to_string(), view.shape().to_vec(), view.data().to_vec())
    };
    file.tensors().iter().map(|(name, view)| (name.clone(), plain(view))).collect()
}

/// Converts `from` into a folder of its own, and returns what came of it; a refused file must leave nothing behind.
#[track_caller]
pub(crate) fn convert(
    from: &Path,
    options: &Options<'_>,
) -> Result<(Report, BTreeMap<String, Plain>), ConvertError> {
    let folder = tempfile::tempdir().unwrap();
    let to = folder.path().join("out.safetensors");
    let converted = specimen_catalog::convert::convert(from, &to, options, &mut |_| {});
    let left = std::fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, usize::from(converted.is_ok()), "{}", from.display());
    converted.map(|report| (report, tensors(&to)))
}

/// What `make.py` put into the file `name`.
pub(crate) fn expected(name: &str) -> BTreeMap<String, Plain> {
    let text = std::fs::read_to_string(fixture("expected.json")).unwrap();
    let all: serde_json::Value = serde_json::from_str(&text).unwrap();
    let of = |tensor: &serde_json::Value| {
        let dtype = match tensor["dtype"].as_str().unwrap() {
            "float8_e4m3fn" => "F8_E4M3".to_owned(),
            "float8_e5m2" => "F8_E5M2".to_owned(),
            "bfloat16" => "BF16".to_owned(),
            "complex64" => "C64".to_owned(),
            "bool" => "BOOL".to_owned(),
            other => other.replace("float", "F").replace("uint", "U").replace("int", "I"),
        };
        let shape =
            tensor["shape"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap() as usize).collect();
        let hex = tensor["bytes"].as_str().unwrap();
        let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap());
        (dtype, shape, bytes.collect())
    };
    let tensors = all[name].as_object().unwrap_or_else(|| panic!("make.py wrote no {name}"));
    tensors.iter().map(|(name, tensor)| (name.clone(), of(tensor))).collect()
}
