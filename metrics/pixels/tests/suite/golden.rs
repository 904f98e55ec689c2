//! The committed golden files, and the digest that they are compared by.

use std::path::PathBuf;

use serde_json::Value;
use sha2::{Digest, Sha256};

/// A file below `tests/golden`.
pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// A JSON file below `tests/golden`.
pub(crate) fn json(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(path(name)).unwrap()).unwrap()
}

/// Hexadecimal SHA-256 of bytes.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Hexadecimal SHA-256 of floats in little-endian order.
pub(crate) fn sha256_f32(values: &[f32]) -> String {
    sha256(&values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>())
}

/// A number of a golden file as an index or a length.
pub(crate) fn length(value: &Value) -> usize {
    value.as_u64().unwrap().try_into().unwrap()
}

/// A list of numbers of a golden file.
pub(crate) fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}
