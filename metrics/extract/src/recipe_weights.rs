//! Weights made from the names of tensors: every network runs, and gives known features, where its published weights
//! are absent. They mean nothing as features of pictures.
//!
//! Value `i` of tensor `name` begins as `u = 2 (z >> 11) / 2^53 - 1`, `z` being the SplitMix64 output for the state
//! `fnv1a64(name) + (i + 1) * 0x9E3779B97F4A7C15`. A weight is `u` times the bound that its network starts training
//! with, anything that starts constant (norms, biases) is that constant and `0.1 u`, variances are `1 + 0.5 u`. For
//! Inception this is the recipe under which values of pytorch-fid, clean-fid, torch-fidelity and torchmetrics were
//! computed.

use std::{collections::BTreeMap, path::Path};

use specimen_weights::{Init, LoadError, ParamSource, write_safetensors};
use tch::{Kind, Tensor};

use crate::clip::{
    shape::{ClipLayout, TextShape, VisionShape},
    text::TextTower,
    vision::ClipVision,
};

/// The source of such weights.
#[derive(Debug, Default)]
pub struct RecipeWeights {
    made: Option<BTreeMap<String, Tensor>>,
}

impl RecipeWeights {
    /// Hands out weights and keeps none.
    pub fn new() -> Self {
        Self::default()
    }

    /// Keeps what it hands out.
    pub fn keeping() -> Self {
        Self { made: Some(BTreeMap::new()) }
    }

    /// Every tensor that was asked for, by name; empty unless it was made to keep them.
    pub fn into_made(self) -> BTreeMap<String, Tensor> {
        self.made.unwrap_or_default()
    }
}

/// Writes both towers of a CLIP of these shapes, in f32 and with the names of `layout`, to one file.
pub fn write_clip(
    path: &Path,
    layout: ClipLayout,
    vision: &VisionShape,
    text: &TextShape,
) -> std::io::Result<()> {
    write_safetensors(path, &clip_tensors(layout, vision, text))
}

/// The tensors of [`write_clip`] by name.
pub fn clip_tensors(layout: ClipLayout, vision: &VisionShape, text: &TextShape) -> BTreeMap<String, Tensor> {
    const ANY_TENSOR: &str = "a recipe has every tensor that is asked for";
    let mut recipe = RecipeWeights::keeping();
    ClipVision::new(&mut recipe, layout, vision, Kind::Float).expect(ANY_TENSOR);
    TextTower::new(&mut recipe, layout, text, Kind::Float).expect(ANY_TENSOR);
    recipe.into_made()
}

/// `n` values in `[-1, 1)` that belong to `name`.
pub fn uniform(name: &str, n: usize) -> impl Iterator<Item = f64> {
    let state = name.bytes().fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
    });
    (1..=n as u64).map(move |i| {
        let z = state.wrapping_add(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 * (-53_f64).exp2() * 2.0 - 1.0
    })
}

impl ParamSource for RecipeWeights {
    /// Never fails.
    fn param(&mut self, name: &str, shape: &[i64], init: Init) -> Result<Tensor, LoadError> {
        let (centre, spread) = match init {
            Init::Uniform(bound) => (0.0, bound),
            // Of the same variance.
            Init::Normal(deviation) => (0.0, deviation * 3_f64.sqrt()),
            Init::Constant(value) if name.ends_with("running_var") => (value, 0.5),
            Init::Constant(value) => (value, 0.1),
        };
        let n = shape.iter().product::<i64>() as usize;
        let values: Vec<f32> = uniform(name, n).map(|u| (centre + spread * u) as f32).collect();
        let tensor = Tensor::from_slice(&values).view(shape);
        if let Some(made) = &mut self.made {
            made.insert(name.to_owned(), tensor.shallow_clone());
        }
        Ok(tensor)
    }
}
