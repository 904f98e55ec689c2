//! Weights by the rule of `golden/make.py`: splitmix64 of the FNV-1a of a tensor's name and the index, uniform, scaled
//! by what the tensor is.

use std::{collections::BTreeMap, path::Path};

use specimen_weights::{Init, LoadError, ParamSource, write_safetensors};
use tch::{Kind, Tensor};

/// The tensor `name` of shape `shape`, f32.
pub(crate) fn values(name: &str, shape: &[i64]) -> Tensor {
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let seed = name.bytes().fold(0xcbf2_9ce4_8422_2325, fnv);
    let draw = |i: u64| {
        let z = seed.wrapping_add((i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        let u = ((z ^ (z >> 31)) >> 40) as f32 / 8_388_608.0 - 1.0;
        if name.contains("norm") && name.ends_with("weight") {
            1.0 + 0.3 * u
        } else if name.ends_with("bias") {
            0.3 * u
        } else {
            let gain = if name == "lm_head.weight" { 4.0 } else { 1.0 };
            let fan_in: i64 = shape[1..].iter().product();
            (gain * (3.0 / fan_in as f64).sqrt()) as f32 * u
        }
    };
    let n: i64 = shape.iter().product();
    let all: Vec<f32> = (0..n as u64).map(draw).collect();
    Tensor::from_slice(&all).view(shape)
}

/// Hands out parameters by the rule, in this kind.
pub(crate) struct ByRule(pub(crate) Kind);

impl ParamSource for ByRule {
    fn param(&mut self, name: &str, shape: &[i64], _: Init) -> Result<Tensor, LoadError> {
        Ok(values(name, shape).to_kind(self.0))
    }
}

/// Writes a checkpoint of the tensors in `inventory`.
pub(crate) fn write(path: &Path, inventory: &[(String, Vec<i64>)]) {
    let tensors: BTreeMap<String, Tensor> =
        inventory.iter().map(|(name, shape)| (name.clone(), values(name, shape))).collect();
    write_safetensors(path, &tensors).unwrap();
}
