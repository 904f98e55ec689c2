//! The heads of LAION's aesthetic predictor, version 2 (christophschuhmann/improved-aesthetic-predictor): five linear layers
//! that make a score, about 1 to 10, of an embedding of CLIP ViT-L/14. In two of the three published heads nothing is
//! between the layers, so that they are one affine map together; in the third a ReLU is behind each but the last.
//!
//! Tensors have the names of the published files, `layers.0.weight` and so on: the number counts the layers of dropout and
//! ReLU too, which have no tensors.

use std::{collections::BTreeMap, path::Path};

use specimen_catalog::{Entry, entry};
use specimen_weights::{Checkpoint, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

use crate::{
    extractor::ExtractError,
    open::{to_vec, words_of},
    recipe_weights::RecipeWeights,
    transformer::Linear,
};

/// Width of an embedding, and of each layer's output.
const WIDTHS: [i64; 6] = [768, 1024, 128, 64, 16, 1];

/// The published heads, by what they were trained on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AestheticName {
    /// Simulacra aesthetic captions, logos and AVA: the head that tools take.
    SacLogosAva1Linear,
    /// AVA and logos.
    AvaLogosLinear,
    /// AVA and logos, with a ReLU behind each layer but the last.
    AvaLogosRelu,
}

impl AestheticName {
    /// Every head.
    pub const ALL: [Self; 3] = [Self::SacLogosAva1Linear, Self::AvaLogosLinear, Self::AvaLogosRelu];

    /// Its stable name, as protocols, identities and the catalog spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::SacLogosAva1Linear => "aesthetic-sac-logos-ava1",
            Self::AvaLogosLinear => "aesthetic-ava-logos",
            Self::AvaLogosRelu => "aesthetic-ava-logos-relu",
        }
    }

    /// What the catalog has of it.
    ///
    /// # Panics
    /// Without an entry of its name, which a test excludes.
    pub fn entry(self) -> &'static Entry {
        entry(self.name()).expect("every head is tested to be in the catalog")
    }

    /// The numbers of its linear layers: between them are dropout and, in the third head, ReLU.
    fn indices(self) -> [usize; 5] {
        match self {
            Self::SacLogosAva1Linear | Self::AvaLogosLinear => LINEAR,
            Self::AvaLogosRelu => [0, 3, 6, 9, 11],
        }
    }

    fn layers(self, source: &mut dyn ParamSource) -> Result<Vec<Linear>, LoadError> {
        linear_layers(source, "layers.", self.indices(), WIDTHS[0])
    }
}

/// The numbers of the linear layers of a head with nothing but dropout between them.
pub(crate) const LINEAR: [usize; 5] = [0, 2, 4, 6, 7];

/// The linear layers of a head on rows of `width` numbers, called `prefix` and their numbers; in f32.
pub(crate) fn linear_layers(
    source: &mut dyn ParamSource,
    prefix: &str,
    numbers: [usize; 5],
    width: i64,
) -> Result<Vec<Linear>, LoadError> {
    let n_in = |at: usize| if at == 0 { width } else { WIDTHS[at] };
    let layer = |(at, number): (usize, usize)| {
        Linear::new(source, &format!("{prefix}{number}"), [n_in(at), WIDTHS[at + 1]], Kind::Float)
    };
    numbers.into_iter().enumerate().map(layer).collect()
}

/// A head with its weights, in f32.
pub struct AestheticHead {
    name: AestheticName,
    device: Device,
    /// First 12 digits of the weights' digest.
    digest: String,
    layers: Vec<Linear>,
}

impl AestheticHead {
    /// Opens `name` with the safetensors file `weights`, to compute on `device`. Tensors of a tower of pictures may be in
    /// the file too.
    pub fn open_on(device: Device, name: AestheticName, weights: &Path) -> Result<Self, ExtractError> {
        let _guard = tch::no_grad_guard();
        let mut checkpoint = Checkpoint::open(weights, Some(Kind::Float), device)?;
        let digest = checkpoint.digest()[..12].to_owned();
        checkpoint.ignore(|name| !is_of_head(name));
        let layers = name.layers(&mut checkpoint)?;
        checkpoint.finish()?;
        Ok(Self { name, device, digest, layers })
    }

    /// Opens `name` with weights made from the names of its tensors: known scores for a machine without published weights.
    pub fn open_recipe(name: AestheticName) -> Self {
        let _guard = tch::no_grad_guard();
        let layers = name.layers(&mut RecipeWeights::new()).expect(ANY_TENSOR);
        Self { name, device: Device::Cpu, digest: "recipe".to_owned(), layers }
    }

    /// The head, the device and the digest of the weights: part of every score's identity.
    pub fn identity(&self) -> String {
        format!("{}-f32{}@{}", self.name.name(), words_of(self.device), self.digest)
    }

    /// The score of each of `embeddings`, `[n, n_dims]` by rows of any length; they are scaled to length 1 first.
    pub fn scores(&self, embeddings: &[f32], n_dims: usize) -> Result<Vec<f64>, ExtractError> {
        let width = WIDTHS[0] as usize;
        if n_dims != width || !embeddings.len().is_multiple_of(width) {
            return Err(crate::extractor::batch(
                self.name.name(),
                format!("embeddings of {width} numbers"),
                format!("rows of {n_dims} in {} values", embeddings.len()),
            ));
        }
        let _guard = tch::no_grad_guard();
        let rows = Tensor::from_slice(embeddings).view([-1, WIDTHS[0]]).to_device(self.device);
        let length = rows.square().sum_dim_intlist([1_i64].as_slice(), true, Kind::Float).sqrt();
        // A row of zeros stays one.
        let mut x = &rows / length.where_self(&length.ne(0.0), &length.ones_like());
        let last = self.layers.len() - 1;
        for (at, layer) in self.layers.iter().enumerate() {
            x = layer.forward(&x);
            if self.name == AestheticName::AvaLogosRelu && at < last {
                x = x.relu();
            }
        }
        Ok(to_vec(&x).into_iter().map(f64::from).collect())
    }
}

/// Whether a tensor is one of a head's.
pub(crate) fn is_of_head(name: &str) -> bool {
    name.starts_with("layers.")
}

const ANY_TENSOR: &str = "a recipe has every tensor that is asked for";

/// The weights of [`AestheticHead::open_recipe`] by name.
pub fn recipe_tensors(name: AestheticName) -> BTreeMap<String, Tensor> {
    let mut recipe = RecipeWeights::keeping();
    name.layers(&mut recipe).expect(ANY_TENSOR);
    recipe.into_made()
}
