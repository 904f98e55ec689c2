//! LPIPS, version 0.1 (Zhang et al., arXiv 1801.03924; the package `lpips` 0.1.4): how far two pictures are apart in the
//! features of a network that was trained on ImageNet.
//!
//! Both pictures go through the trunk. In each of its layers the features of a place are scaled to length 1, the squared
//! differences are weighted by channel (the heads, which were fitted to judgements of people) and averaged over the places;
//! the distance is the sum over the layers. Trunks have torchvision's names of tensors (`features.0.weight`), heads those of
//! the package (`lin0.model.1.weight`).
//!
//! Takes `[n, 3, h, w]` of -1 to 1. Version 0.0 did not shift and scale the pixels; it is not here.

mod trunk;

use std::{collections::BTreeMap, path::Path};

use specimen_catalog::{Entry, entry};
use specimen_foundation::fail;
use specimen_pixels::network::{Batch, NetworkFault, PairNetwork};
use specimen_weights::{Checkpoint, Init, LoadError, ParamSource, write_safetensors};
use tch::{Device, Kind, Tensor};

use crate::{
    conv::channels_last,
    extractor::ExtractError,
    lpips::trunk::{Trunk, alexnet, squeezenet, vgg16},
    network::Dtype,
    open::{kind_of, to_vec, words_of},
    recipe_weights::RecipeWeights,
};

/// What the package subtracts from red, green and blue of -1 to 1, and divides them by.
const SHIFT: [f32; 3] = [-0.030, -0.088, -0.188];
const SCALE: [f32; 3] = [0.458, 0.448, 0.450];
/// What is added to the length of the features of a place.
const LENGTH_EPS: f64 = 1e-10;

/// The published kinds of LPIPS, by their trunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LpipsName {
    /// AlexNet: the package's default.
    Alex,
    /// VGG16.
    Vgg,
    /// SqueezeNet 1.1.
    Squeeze,
}

impl LpipsName {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Alex, Self::Vgg, Self::Squeeze];

    /// Its stable name, as protocols, identities and the catalog spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alex => "lpips-alex",
            Self::Vgg => "lpips-vgg",
            Self::Squeeze => "lpips-squeeze",
        }
    }

    /// What the catalog has of its heads.
    ///
    /// # Panics
    /// Without an entry of its name, which a test excludes.
    pub fn heads(self) -> &'static Entry {
        entry(self.name()).expect("every kind is tested to be in the catalog")
    }

    /// What the catalog has of its trunk: what its heads need.
    ///
    /// # Panics
    /// Without such an entry, which a test excludes.
    pub fn trunk(self) -> &'static Entry {
        let needed = self.heads().needs.first().and_then(|name| entry(name).ok());
        needed.expect("every kind is tested to have a trunk in the catalog")
    }

    /// Least pixels along an edge: of fewer, a layer of the trunk has no place left.
    pub fn smallest(self) -> usize {
        match self {
            Self::Alex => 31,
            Self::Vgg => 16,
            Self::Squeeze => 17,
        }
    }

    fn read_trunk(self, source: &mut dyn ParamSource, kind: Kind) -> Result<Trunk, LoadError> {
        match self {
            Self::Alex => alexnet(source, kind),
            Self::Vgg => vgg16(source, kind),
            Self::Squeeze => squeezenet(source, kind),
        }
    }

    /// The heads of a trunk with layers of these `widths`, `[1, width, 1, 1]` each.
    fn read_heads(source: &mut dyn ParamSource, widths: &[i64]) -> Result<Vec<Tensor>, LoadError> {
        let head = |(layer, &width): (usize, &i64)| {
            let name = format!("lin{layer}.model.1.weight");
            // Published weights are not below 0.
            Ok(source.param(&name, &[1, width, 1, 1], Init::Constant(0.1))?.to_kind(Kind::Float))
        };
        widths.iter().enumerate().map(head).collect()
    }
}

/// Where the weights are.
#[derive(Clone, Copy, Debug)]
pub enum LpipsFiles<'a> {
    /// Trunk and heads, as they are published.
    Published {
        /// The trunk.
        trunk: &'a Path,
        /// The heads.
        heads: &'a Path,
    },
    /// One file of both.
    Together(&'a Path),
    /// The published heads on a trunk with weights made from the names of its tensors: known distances by heads that are a
    /// few kilobytes, for a machine without trunks.
    Heads(&'a Path),
}

/// A published kind of LPIPS with its weights.
pub struct OpenLpips {
    name: LpipsName,
    identity: String,
    kind: Kind,
    device: Device,
    trunk: Trunk,
    /// `[1, width, 1, 1]` each, f32.
    heads: Vec<Tensor>,
    /// `[1, 3, 1, 1]` each, f32.
    shift: Tensor,
    scale: Tensor,
}

impl OpenLpips {
    /// Opens `name` with the weights in safetensors `files`, to compute on `device`.
    pub fn open_on(
        device: Device,
        name: LpipsName,
        dtype: Dtype,
        files: LpipsFiles<'_>,
    ) -> Result<Self, ExtractError> {
        let _guard = tch::no_grad_guard();
        let open = |path: &Path| Checkpoint::open(path, Some(Kind::Float), device);
        let kind = kind_of(dtype);
        let is_class_layer = |name: &str| name.starts_with("classifier.");
        let (trunk, heads, digests) = match files {
            LpipsFiles::Published { trunk, heads } => {
                let [mut of_trunk, mut of_heads] = [open(trunk)?, open(heads)?];
                let digests = [of_trunk.digest().to_owned(), of_heads.digest().to_owned()];
                of_trunk.ignore(is_class_layer);
                let trunk = name.read_trunk(&mut of_trunk, kind)?;
                let heads = LpipsName::read_heads(&mut of_heads, &trunk.widths)?;
                of_trunk.finish()?;
                of_heads.finish()?;
                (trunk, heads, digests)
            }
            LpipsFiles::Together(path) => {
                let mut both = open(path)?;
                let digest = both.digest().to_owned();
                both.ignore(is_class_layer);
                let trunk = name.read_trunk(&mut both, kind)?;
                let heads = LpipsName::read_heads(&mut both, &trunk.widths)?;
                both.finish()?;
                (trunk, heads, [digest.clone(), digest])
            }
            LpipsFiles::Heads(path) => {
                let mut of_heads = open(path)?;
                let digests = ["recipe".to_owned(), of_heads.digest().to_owned()];
                let trunk = name.read_trunk(&mut RecipeWeights::new(), kind)?;
                let heads = LpipsName::read_heads(&mut of_heads, &trunk.widths)?;
                of_heads.finish()?;
                (trunk, heads, digests)
            }
        };
        let [of_trunk, of_heads] = digests.map(|digest| digest.chars().take(12).collect::<String>());
        Ok(Self::of(name, (trunk, heads), dtype, device, [&of_trunk, &of_heads]))
    }

    /// Opens `name` with weights made from the names of its tensors: known distances for a machine without published
    /// weights.
    pub fn open_recipe(name: LpipsName, dtype: Dtype) -> Self {
        let _guard = tch::no_grad_guard();
        let parts = by_recipe(name, &mut RecipeWeights::new(), kind_of(dtype));
        Self::of(name, parts, dtype, Device::Cpu, ["recipe"; 2])
    }

    /// `digests` are the beginnings of those of trunk and heads.
    fn of(
        name: LpipsName,
        (trunk, heads): (Trunk, Vec<Tensor>),
        dtype: Dtype,
        device: Device,
        [of_trunk, of_heads]: [&str; 2],
    ) -> Self {
        let (dtype, on) = (dtype.name(), words_of(device));
        let identity = format!(
            "{name}-{dtype}{on}@{of_heads} + {trunk}-{dtype}{on}@{of_trunk}",
            name = name.name(),
            trunk = name.trunk().name
        );
        let planes = |values: [f32; 3]| Tensor::from_slice(&values).view([1, 3, 1, 1]).to_device(device);
        let (shift, scale) = (planes(SHIFT), planes(SCALE));
        Self { name, identity, kind: trunk.kind, device, trunk, heads, shift, scale }
    }

    /// The part of each layer in the distance of each pair, `[n, n_layers]` by rows; a distance is the sum of its row.
    pub fn layers(&self, sides: [&Batch; 2]) -> Result<Vec<f32>, ExtractError> {
        let _guard = tch::no_grad_guard();
        self.check(sides)?;
        let n = sides[0].n as i64;
        let tensor = |side: &Batch| {
            Tensor::from_slice(&side.values).view([n, 3, side.height as i64, side.width as i64])
        };
        let pixels = Tensor::cat(&sides.map(tensor), 0).to_device(self.device);
        let mut x = channels_last(&((pixels - &self.shift) / &self.scale).to_kind(self.kind));
        let mut parts = Vec::with_capacity(self.heads.len());
        for (slice, head) in self.trunk.slices.iter().zip(&self.heads) {
            x = slice.forward(&x);
            let features = unit_length(&x.to_kind(Kind::Float));
            let squared = (features.narrow(0, 0, n) - features.narrow(0, n, n)).square();
            let weighted = squared.conv2d(head, None::<Tensor>, [1, 1], [0, 0], [1, 1], 1);
            parts.push(weighted.mean_dim([2_i64, 3].as_slice(), false, Kind::Float));
        }
        Ok(to_vec(&Tensor::cat(&parts, 1)))
    }

    /// Fails unless both sides are as many pictures of one size that the trunk takes.
    fn check(&self, sides: [&Batch; 2]) -> Result<(), ExtractError> {
        let [a, b] = sides;
        let size = |side: &Batch| (side.n, side.width, side.height);
        let n_values = a.n * 3 * a.width * a.height;
        if a.n == 0 || size(a) != size(b) || sides.iter().any(|side| side.values.len() != n_values) {
            return Err(crate::extractor::batch(
                self.name.name(),
                "as many pictures of one size on both sides, at least one",
                format!("{} of {}x{} and {} of {}x{}", a.n, a.width, a.height, b.n, b.width, b.height),
            ));
        }
        let least = self.name.smallest();
        if a.width.min(a.height) < least {
            let (network, width, height) = (self.name.name(), a.width, a.height);
            fail!(Missing: "{network} takes pictures of at least {least}x{least} pixels, found \
                {width}x{height}; give larger pictures");
        }
        Ok(())
    }
}

impl PairNetwork for OpenLpips {
    fn identity(&self) -> String {
        self.identity.clone()
    }

    fn distances(&self, sides: [&Batch; 2]) -> Result<Vec<f64>, NetworkFault> {
        self.check(sides)?;
        // Of equal pictures every difference is 0.
        if sides[0].values == sides[1].values {
            return Ok(vec![0.0; sides[0].n]);
        }
        let layers = self.layers(sides)?;
        // In single precision from the first layer on, as the package adds.
        Ok(layers.chunks_exact(self.heads.len()).map(|row| f64::from(row.iter().sum::<f32>())).collect())
    }
}

/// The weights of [`OpenLpips::open_recipe`] by name, those of the trunk and of the heads together.
pub fn recipe_tensors(name: LpipsName) -> BTreeMap<String, Tensor> {
    let _guard = tch::no_grad_guard();
    let mut recipe = RecipeWeights::keeping();
    by_recipe(name, &mut recipe, Kind::Float);
    recipe.into_made()
}

/// Writes [`recipe_tensors`] to one file, as [`LpipsFiles::Together`] takes it.
pub fn write_recipe(path: &Path, name: LpipsName) -> std::io::Result<()> {
    write_safetensors(path, &recipe_tensors(name))
}

fn by_recipe(name: LpipsName, recipe: &mut RecipeWeights, kind: Kind) -> (Trunk, Vec<Tensor>) {
    const ANY_TENSOR: &str = "a recipe has every tensor that is asked for";
    let trunk = name.read_trunk(recipe, kind).expect(ANY_TENSOR);
    let heads = LpipsName::read_heads(recipe, &trunk.widths).expect(ANY_TENSOR);
    (trunk, heads)
}

/// `x`: `[n, c, h, w]`; each place over the length of its features.
fn unit_length(x: &Tensor) -> Tensor {
    let length = x.square().sum_dim_intlist([1_i64].as_slice(), true, Kind::Float).sqrt();
    x / (length + LENGTH_EPS)
}
