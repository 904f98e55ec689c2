//! From the name of a network and a file of weights to an open network.
//!
//! A network is one file that implements `Network`, and its line in `Architecture::of`.

use std::{collections::BTreeMap, path::Path};

use specimen_pixels::network::{Batch, FeatureNetwork, NetworkFault, Part};
use specimen_weights::{Checkpoint, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

pub use specimen_weights::cuda::named;

use crate::{
    aesthetic::is_of_head,
    clip::{
        shape::{ClipLayout, ClipShapes, VisionShape, is_configured, words},
        vision::ClipVision,
    },
    conv::channels_last,
    dinov2::{DinoLayout, DinoShape, Dinov2},
    extractor::ExtractError,
    inception::Inception,
    network::{Dtype, Layer, NetworkName},
    recipe_weights::RecipeWeights,
    vgg::Vgg16,
};

/// What the file of one network implements.
pub trait Network {
    /// The output of each of `layers`, `[n, n_dims]` in f32. `x`: `[n, 3, h, w]`, channels last, in the kind that the
    /// network was made for.
    fn run(&self, x: &Tensor, layers: &[Layer]) -> Vec<Tensor>;
}

/// Opens `network` with the safetensors file `weights`, for layers that one pass computes.
///
/// # Panics
/// Without a layer.
pub fn open(
    network: NetworkName,
    layers: &[&str],
    dtype: Dtype,
    weights: &Path,
) -> Result<OpenNet, ExtractError> {
    open_on(Device::Cpu, network, layers, dtype, weights)
}

/// As [`open`], to compute on `device`.
///
/// # Panics
/// Without a layer.
pub fn open_on(
    device: Device,
    network: NetworkName,
    layers: &[&str],
    dtype: Dtype,
    weights: &Path,
) -> Result<OpenNet, ExtractError> {
    assert!(!layers.is_empty(), "a network is opened for at least one layer");
    let layers = layers.iter().map(|name| network.layer(name)).collect::<Result<Vec<_>, _>>()?;
    let _guard = tch::no_grad_guard();
    let mut checkpoint = Checkpoint::open(weights, Some(Kind::Float), device)?;
    let digest = checkpoint.digest()[..12].to_owned();
    let Loaded { net, stand_in, n_dims } = load(network, kind_of(dtype), &mut checkpoint)?;
    checkpoint.finish()?;
    let layers = layers.into_iter().map(|layer| Layer { n_dims: n_dims.unwrap_or(layer.n_dims), ..layer });
    let name = stand_in.map_or(network.to_string(), |size| format!("{network}[{size}]"));
    Ok(OpenNet { network, name, layers: layers.collect(), dtype, device, digest, net })
}

/// Opens `network` with weights made from the names of its tensors, for several layers: known features for a machine
/// without published weights.
///
/// # Panics
/// Without a layer.
pub fn open_recipe(network: NetworkName, layers: &[&str], dtype: Dtype) -> Result<OpenNet, ExtractError> {
    assert!(!layers.is_empty(), "a network is opened for at least one layer");
    let layers = layers.iter().map(|name| network.layer(name)).collect::<Result<Vec<_>, _>>()?;
    let _guard = tch::no_grad_guard();
    let net = published(network, &mut RecipeWeights::new(), kind_of(dtype))?;
    let name = network.to_string();
    let device = Device::Cpu;
    Ok(OpenNet { network, name, layers, dtype, device, digest: "recipe".to_owned(), net })
}

/// The weights of [`open_recipe`] by name, in the layout of the release; of CLIP, those of its tower of pictures.
pub fn recipe_tensors(network: NetworkName) -> BTreeMap<String, Tensor> {
    let _guard = tch::no_grad_guard();
    let mut recipe = RecipeWeights::keeping();
    published(network, &mut recipe, Kind::Float).expect("weights by recipe have every name and shape");
    recipe.into_made()
}

/// What a network is built of.
enum Architecture {
    Inception,
    Vgg16,
    Clip(ClipShapes),
    Dinov2(DinoShape),
}

impl Architecture {
    /// The registry of networks.
    fn of(network: NetworkName) -> Self {
        match network {
            NetworkName::InceptionFid => Self::Inception,
            NetworkName::Vgg16 => Self::Vgg16,
            NetworkName::ClipVitB32 => Self::Clip(ClipShapes::B32),
            NetworkName::ClipVitB16 => Self::Clip(ClipShapes::B16),
            NetworkName::ClipVitL14 => Self::Clip(ClipShapes::L14),
            NetworkName::ClipVitL14At336 => Self::Clip(ClipShapes::L14_AT_336),
            NetworkName::ClipVitH14
            | NetworkName::PickScoreV1
            | NetworkName::HpsV20
            | NetworkName::HpsV21 => Self::Clip(ClipShapes::H14),
            NetworkName::Dinov2VitB14 => Self::Dinov2(DinoShape::B14),
            NetworkName::Dinov2VitL14 => Self::Dinov2(DinoShape::L14),
        }
    }
}

/// The published towers of `network`; `None` of one without a tower of texts.
pub fn clip_shapes(network: NetworkName) -> Option<ClipShapes> {
    match Architecture::of(network) {
        Architecture::Clip(shapes) => Some(shapes),
        _ => None,
    }
}

/// `network` in the layout of its release and of published shape; of CLIP in that of OpenAI and open_clip.
fn published(
    network: NetworkName,
    source: &mut dyn ParamSource,
    kind: Kind,
) -> Result<Box<dyn Network>, LoadError> {
    Ok(match Architecture::of(network) {
        Architecture::Inception => Box::new(Inception::new(source, kind)?),
        Architecture::Vgg16 => Box::new(Vgg16::new(source, kind)?),
        Architecture::Clip(ClipShapes { vision, .. }) => {
            Box::new(ClipVision::new(source, ClipLayout::OpenAi, &vision, kind)?)
        }
        Architecture::Dinov2(shape) => Box::new(Dinov2::new(source, DinoLayout::Release, &shape, kind)?),
    })
}

/// A network, and where it is not the one that its name stands for.
struct Loaded {
    net: Box<dyn Network>,
    /// Width, depth, heads and activation where they are not the published ones or not known: part of the identity.
    stand_in: Option<String>,
    /// Width of a row where it is not the published one.
    n_dims: Option<usize>,
}

impl Loaded {
    fn published(net: impl Network + 'static) -> Self {
        Self { net: Box::new(net), stand_in: None, n_dims: None }
    }
}

fn load(network: NetworkName, kind: Kind, checkpoint: &mut Checkpoint) -> Result<Loaded, LoadError> {
    Ok(match Architecture::of(network) {
        Architecture::Inception => {
            checkpoint.ignore(|name| name.ends_with(".num_batches_tracked"));
            Loaded::published(Inception::new(checkpoint, kind)?)
        }
        Architecture::Vgg16 => {
            checkpoint.ignore(|name| name.starts_with("classifier.6."));
            Loaded::published(Vgg16::new(checkpoint, kind)?)
        }
        Architecture::Clip(shapes) => clip_vision(checkpoint, network, &shapes, kind)?,
        Architecture::Dinov2(shape) => dinov2(checkpoint, &shape, kind)?,
    })
}

/// The tower of pictures. Patches and size are the network's, without which its pixels would be others; width and
/// depth are those of the file, so that small stand-ins open too and are named as such.
fn clip_vision(
    checkpoint: &mut Checkpoint,
    network: NetworkName,
    &ClipShapes { vision: published, family, .. }: &ClipShapes,
    kind: Kind,
) -> Result<Loaded, LoadError> {
    let layout = ClipLayout::of(checkpoint)?;
    let shape = VisionShape::of(checkpoint, layout, family)?;
    if (shape.patch, shape.grid) != (published.patch, published.grid) {
        return Err(LoadError::Config {
            path: checkpoint.path().to_owned(),
            reason: format!(
                "{network} has patches of {} in {} pixels, these weights have patches of {} in {}",
                published.patch,
                published.side(),
                shape.patch,
                shape.side()
            ),
        });
    }
    // A file that is given may hold the head of a metric too.
    checkpoint.ignore(|name| layout.is_beside_vision(name) || is_of_head(name));
    let is_configured = is_configured(checkpoint, layout, family, (&shape.stack, &published.stack));
    let stands_in = shape.stack != published.stack || !is_configured;
    Ok(Loaded {
        stand_in: stands_in.then(|| words(&shape.stack, is_configured)),
        n_dims: Some(shape.n_joint as usize),
        ..Loaded::published(ClipVision::new(checkpoint, layout, &shape, kind)?)
    })
}

fn dinov2(checkpoint: &mut Checkpoint, shape: &DinoShape, kind: Kind) -> Result<Loaded, LoadError> {
    let layout = DinoLayout::of(checkpoint)?;
    checkpoint.ignore(|name| name == layout.mask_token());
    Ok(Loaded::published(Dinov2::new(checkpoint, layout, shape, kind)?))
}

/// A published network with its weights, opened for one or several of its layers.
pub struct OpenNet {
    network: NetworkName,
    /// As in identities.
    name: String,
    layers: Vec<Layer>,
    dtype: Dtype,
    device: Device,
    /// First 12 digits of the weights' digest.
    digest: String,
    net: Box<dyn Network>,
}

impl FeatureNetwork for OpenNet {
    fn parts(&self) -> Vec<Part> {
        let Self { name, layers, dtype, digest, .. } = self;
        let on = words_of(self.device);
        let identity = |layer: &Layer| format!("{name}-{}-{}{on}@{digest}", layer.name, dtype.name());
        layers.iter().map(|layer| Part { identity: identity(layer), n_dims: layer.n_dims }).collect()
    }

    fn rows(&self, batch: &Batch) -> Result<Vec<f32>, NetworkFault> {
        let _guard = tch::no_grad_guard();
        let x = to_tensor(batch, &self.name, self.network.input_side(), self.device)?;
        let outputs = self.net.run(&channels_last(&x.to_kind(kind_of(self.dtype))), &self.layers);
        for (layer, output) in self.layers.iter().zip(&outputs) {
            let expected = [batch.n as i64, layer.n_dims as i64];
            assert_eq!(output.size(), expected, "{} of {}", layer.name, self.network);
        }
        let outputs: Vec<Tensor> = outputs.iter().map(|output| output.to_kind(Kind::Float)).collect();
        Ok(to_vec(&Tensor::cat(&outputs, 1)))
    }
}

/// `[n, 3, side, side]` in f32 on `device`. Fails for other sizes, as pictures for `network`.
pub(crate) fn to_tensor(
    batch: &Batch,
    network: &str,
    side: usize,
    device: Device,
) -> Result<Tensor, ExtractError> {
    let &Batch { n, height, width, ref values } = batch;
    if n == 0 || (height, width) != (side, side) || values.len() != n * 3 * side * side {
        return Err(crate::extractor::batch(
            network,
            format!("at least one picture of {side}x{side} with 3 planes"),
            format!("{n} of {width}x{height} in {} values", values.len()),
        ));
    }
    let size = [n as i64, 3, side as i64, side as i64];
    if device == Device::Cpu {
        return Ok(Tensor::from_slice(values).view(size));
    }
    // Another copy on the host would take longer than the network.
    #[expect(
        unsafe_code,
        reason = "the values outlive this tensor, whose copy on the device is done when it is returned"
    )]
    let on_host = unsafe {
        Tensor::from_blob(values.as_ptr().cast(), &size, &strides_of(size), Kind::Float, Device::Cpu)
    };
    Ok(on_host.to_device(device))
}

/// Of a tensor whose last axis is side by side in memory.
fn strides_of(size: [i64; 4]) -> [i64; 4] {
    let [_, c, h, w] = size;
    [c * h * w, h * w, w, 1]
}

/// The part of an identity that says on which kind of device rows are computed; empty for the CPU. Other kinds round
/// otherwise, so their rows are others.
pub(crate) fn words_of(device: Device) -> &'static str {
    match device {
        Device::Cpu => "",
        Device::Cuda(_) => "-cuda",
        Device::Mps => "-mps",
        Device::Vulkan => "-vulkan",
    }
}

pub(crate) fn kind_of(dtype: Dtype) -> Kind {
    match dtype {
        Dtype::F32 => Kind::Float,
        Dtype::Bf16 => Kind::BFloat16,
        Dtype::F16 => Kind::Half,
    }
}

/// The values of `x` in f32, row-major.
pub(crate) fn to_vec(x: &Tensor) -> Vec<f32> {
    let flat = x.to_kind(Kind::Float).contiguous();
    let mut values = vec![0.0; flat.numel()];
    let n = values.len();
    flat.copy_data(&mut values, n);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A network that nobody runs.
    struct Never;

    impl Network for Never {
        fn run(&self, _: &Tensor, _: &[Layer]) -> Vec<Tensor> {
            unreachable!("only its identity is asked for")
        }
    }

    fn identity_on(device: Device) -> String {
        let layers = vec![Layer { name: "2048", n_dims: 2048 }];
        let (network, digest) = (NetworkName::InceptionFid, "0123456789ab".to_owned());
        let name = network.to_string();
        let net = OpenNet { network, name, layers, dtype: Dtype::Bf16, device, digest, net: Box::new(Never) };
        net.identity()
    }

    #[test]
    fn the_kind_of_device_is_part_of_the_identity_and_which_gpu_is_not() {
        let on_cpu = identity_on(Device::Cpu);
        let on_gpu = identity_on(Device::Cuda(0));
        assert_ne!(on_cpu, on_gpu);
        assert_eq!(on_gpu, identity_on(Device::Cuda(1)));
        assert_ne!(on_gpu, identity_on(Device::Mps));
        // Features that are kept were made under this name.
        assert_eq!(on_cpu, "inception-fid-2048-bf16@0123456789ab");
    }
}
