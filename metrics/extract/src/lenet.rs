//! LeNet-5 on MNIST (abdulfatir/gan-metrics-pytorch): the feature network of `fd-lenet`, small enough to run
//! anywhere. Tanh after every layer, max pooling; 98.21 % of the MNIST test digits are classified right.
//!
//! Preprocessing: grey bytes to `[0, 1]`, zero-padded from 28 to 32. The feature is the 84-d layer after tanh; the layer
//! of classes behind it is not read.

use specimen_catalog::entry;
use specimen_pixels::network::{Batch, FeatureNetwork, NetworkFault, Part};
use specimen_weights::{Checkpoint, Init, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

use crate::{
    extractor::ExtractError,
    open::{to_tensor, to_vec},
    weights_lookup::{Places, find},
};

/// Pixels along an edge.
pub const SIDE: usize = 28;
/// Width of the feature.
pub const N_FEATURES: usize = 84;

/// Pictures in one pass.
pub const BATCH: usize = 250;
/// Zeros on each side.
const PADDING: i64 = 2;

struct Layer {
    /// `[out, in, 5, 5]` or `[out, in]`
    weight: Tensor,
    /// `[out]`
    bias: Tensor,
}

impl Layer {
    fn new(source: &mut dyn ParamSource, name: &str, shape: &[i64]) -> Result<Self, LoadError> {
        let bound = Init::Uniform((shape[1..].iter().product::<i64>() as f64).powf(-0.5));
        Ok(Self {
            weight: source.param(&format!("{name}.weight"), shape, bound)?,
            bias: source.param(&format!("{name}.bias"), &shape[..1], bound)?,
        })
    }

    fn conv_tanh(&self, x: &Tensor) -> Tensor {
        x.conv2d(&self.weight, Some(&self.bias), [1, 1], [0, 0], [1, 1], 1).tanh()
    }

    fn linear(&self, x: &Tensor) -> Tensor {
        x.linear(&self.weight, Some(&self.bias))
    }
}

/// The network, in f32 on the CPU.
pub struct LeNet {
    convs: [Layer; 3],
    feature: Layer,
    digest: String,
}

impl LeNet {
    /// Loads the weights found in `places`.
    pub fn open(places: &Places) -> Result<Self, ExtractError> {
        let path = find(places, entry("lenet-mnist").expect("the catalog has it"))?.path;
        let _guard = tch::no_grad_guard();
        let mut checkpoint = Checkpoint::open(&path, Some(Kind::Float), Device::Cpu)?;
        let digest = checkpoint.digest().to_owned();
        checkpoint.ignore(|name| name.starts_with("fc.f7."));
        let net = Self {
            convs: [
                Layer::new(&mut checkpoint, "convnet.c1", &[6, 1, 5, 5])?,
                Layer::new(&mut checkpoint, "convnet.c3", &[16, 6, 5, 5])?,
                Layer::new(&mut checkpoint, "convnet.c5", &[120, 16, 5, 5])?,
            ],
            feature: Layer::new(&mut checkpoint, "fc.f6", &[N_FEATURES as i64, 120])?,
            digest,
        };
        checkpoint.finish()?;
        Ok(net)
    }

    /// `x`: `[n, 1, 32, 32]` in `[0, 1]`; returns `[n, 84]`.
    fn run(&self, x: &Tensor) -> Tensor {
        let [c1, c3, c5] = &self.convs;
        let x = c1.conv_tanh(x).max_pool2d_default(2);
        let x = c3.conv_tanh(&x).max_pool2d_default(2);
        let x = c5.conv_tanh(&x).flatten(1, -1);
        self.feature.linear(&x).tanh()
    }
}

/// It takes grey pictures: three equal planes of `byte / 255`.
impl FeatureNetwork for LeNet {
    fn parts(&self) -> Vec<Part> {
        vec![Part { identity: format!("lenet@28-pad32-grey@{}", &self.digest[..12]), n_dims: N_FEATURES }]
    }

    fn rows(&self, batch: &Batch) -> Result<Vec<f32>, NetworkFault> {
        let _guard = tch::no_grad_guard();
        let x = to_tensor(batch, "LeNet-5", SIDE, Device::Cpu)?;
        let grey = x.narrow(1, 0, 1);
        if let Some(at) = (0..batch.n as i64).find(|&at| x.get(at) != grey.get(at).expand_as(&x.get(at))) {
            return Err(Box::new(crate::extractor::batch(
                "LeNet-5",
                "grey pictures (equal channels)",
                format!("picture {at} in colour"),
            )));
        }
        Ok(to_vec(&self.run(&grey.contiguous().constant_pad_nd([PADDING; 4]))))
    }
}
