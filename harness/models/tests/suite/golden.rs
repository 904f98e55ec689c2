//! Golden values from `tests/golden`, and the weights they were made with, which follow from the tensors' names
//! (`recipe.py` there).

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use specimen_models::files::inventory::Expected;
use specimen_weights::{Checkpoint, Init, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

/// A file below `tests/golden`.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// The tensor `name` of the golden file `file`.
pub(crate) fn tensor(file: &str, name: &str) -> Tensor {
    let mut checkpoint = Checkpoint::open(&path(file), None, Device::Cpu).unwrap();
    let shape = checkpoint.shape(name).unwrap().to_vec();
    checkpoint.take(name, &shape).unwrap()
}

/// A list of whole numbers of the golden file `file`.
pub(crate) fn numbers(file: &str, name: &str) -> Vec<i64> {
    Vec::try_from(tensor(file, name).reshape([-1])).unwrap()
}

/// `n` values in `[-1, 1)`: the top 24 bits of splitmix64, from the FNV-1a hash of `name` on.
fn uniform(name: &str, n: i64) -> impl Iterator<Item = f64> {
    let mixed = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325, mixed);
    (1..=n as u64).map(move |i| {
        let z = i.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed);
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 40) as f64 / (1_u64 << 23) as f64 - 1.0
    })
}

/// The tensor that belongs to `name`.
pub(crate) fn by_recipe(name: &str, shape: &[i64]) -> Tensor {
    let fan_in: i64 = shape[1..].iter().product();
    let (centre, spread) = if name.contains("norm") && name.ends_with("weight") {
        (1.0, 0.3)
    } else if name.ends_with(".bias") || name.ends_with(".running_mean") {
        (0.0, 0.2)
    } else if name.ends_with(".running_var") {
        (1.0, 0.3)
    } else if ["embed", "shared", "relative_attention_bias"].iter().any(|part| name.contains(part)) {
        (0.0, 1.0)
    } else {
        (0.0, (3.0 / fan_in as f64).sqrt())
    };
    let values: Vec<f32> =
        uniform(name, shape.iter().product()).map(|u| (centre + spread * u) as f32).collect();
    Tensor::from_slice(&values).view(shape)
}

/// Parameters by recipe.
pub(crate) struct Recipe;

impl ParamSource for Recipe {
    fn param(&mut self, name: &str, shape: &[i64], _: Init) -> Result<Tensor, LoadError> {
        Ok(by_recipe(name, shape))
    }
}

/// The tensors of an inventory by recipe, as a checkpoint holds them.
pub(crate) fn all_by_recipe(inventory: &[Expected]) -> BTreeMap<String, Tensor> {
    inventory.iter().map(|entry| (entry.name.clone(), by_recipe(&entry.name, &entry.shape))).collect()
}

#[track_caller]
pub(crate) fn check_close(found: &Tensor, expected: &Tensor, tolerance: f64, what: &str) {
    assert_eq!(found.size(), expected.size(), "{what}");
    let distance =
        (found.to_kind(Kind::Double) - expected.to_kind(Kind::Double)).abs().max().double_value(&[]);
    assert!(distance <= tolerance, "{what}: off by {distance:e}, at most {tolerance:e}");
}
