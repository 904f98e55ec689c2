//! LeNet-5 on MNIST (abdulfatir/gan-metrics-pytorch): the feature network of `fd-lenet`, small enough to run
//! anywhere. Tanh after every layer, max pooling; 98.21 % of the MNIST test digits are classified right.
//!
//! Preprocessing: grey bytes to `[0, 1]`, zero-padded from 28 to 32. The feature is the 84-d layer after tanh.

use specimen_catalog::entry;
use specimen_weights::{Checkpoint, Init, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

use crate::{
    extractor::{ExtractError, FeatureExtractor, Features, Pictures},
    weights_lookup::{Places, find},
};

/// Pixels along an edge.
pub const SIDE: usize = 28;
/// Width of the feature.
pub const N_FEATURES: usize = 84;

/// Pictures run at once.
const BATCH: usize = 250;
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
    classes: Layer,
    digest: String,
}

impl LeNet {
    /// Loads the weights found in `places`.
    ///
    /// # Errors
    /// Absent or damaged weights.
    pub fn open(places: &Places) -> Result<Self, ExtractError> {
        let path = find(places, entry("lenet-mnist").expect("the catalog has it"))?.path;
        let _guard = tch::no_grad_guard();
        let mut checkpoint = Checkpoint::open(&path, Some(Kind::Float), Device::Cpu)?;
        let digest = checkpoint.digest().to_owned();
        let net = Self {
            convs: [
                Layer::new(&mut checkpoint, "convnet.c1", &[6, 1, 5, 5])?,
                Layer::new(&mut checkpoint, "convnet.c3", &[16, 6, 5, 5])?,
                Layer::new(&mut checkpoint, "convnet.c5", &[120, 16, 5, 5])?,
            ],
            feature: Layer::new(&mut checkpoint, "fc.f6", &[N_FEATURES as i64, 120])?,
            classes: Layer::new(&mut checkpoint, "fc.f7", &[10, N_FEATURES as i64])?,
            digest,
        };
        checkpoint.finish()?;
        Ok(net)
    }

    /// The digit seen in each picture, 0 to 9, ties to the lowest.
    ///
    /// # Errors
    /// Pictures of another size, or in colour.
    pub fn classify(&self, pictures: &Pictures) -> Result<Vec<u8>, ExtractError> {
        let _guard = tch::no_grad_guard();
        let logits = self.classes.linear(&self.feature_tensor(pictures)?);
        Ok(to_vec(&logits).chunks_exact(10).map(argmax).collect())
    }

    /// `[n, 84]`
    fn feature_tensor(&self, pictures: &Pictures) -> Result<Tensor, ExtractError> {
        let grey = grey_bytes(pictures)?;
        let side = SIDE as i64;
        let blocks: Vec<Tensor> = grey
            .chunks(BATCH * SIDE * SIDE)
            .map(|bytes| {
                let x = Tensor::from_slice(bytes).view([-1, 1, side, side]).to_kind(Kind::Float) / 255.0;
                self.run(&x.constant_pad_nd([PADDING; 4]))
            })
            .collect();
        Ok(Tensor::cat(&blocks, 0))
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

impl FeatureExtractor for LeNet {
    fn identity(&self) -> String {
        format!("lenet@28-pad32-grey@{}", &self.digest[..12])
    }

    fn features(&self, pictures: &Pictures) -> Result<Features, ExtractError> {
        let _guard = tch::no_grad_guard();
        Ok(Features { n_dims: N_FEATURES, rows: to_vec(&self.feature_tensor(pictures)?) })
    }
}

/// One byte a pixel, `[n, 28, 28]`.
fn grey_bytes(pictures: &Pictures) -> Result<Vec<u8>, ExtractError> {
    let &Pictures { width, height, channels, ref bytes } = pictures;
    let refuse = |found| {
        let expected = "28x28 grey, or RGB with equal channels (at least one)";
        Err(ExtractError::Size { extractor: "LeNet-5", expected, found })
    };
    let size = SIDE * SIDE * channels;
    let is_whole = size != 0 && bytes.len().is_multiple_of(size) && !bytes.is_empty();
    match channels {
        1 | 3 if (width, height) == (SIDE, SIDE) && is_whole => {}
        _ => {
            return refuse(format!("{width}x{height} with {channels} channels in {} bytes", bytes.len()));
        }
    }
    if let Some(at) = bytes.chunks_exact(channels).position(|pixel| pixel.iter().any(|c| *c != pixel[0])) {
        return refuse(format!("picture {} in colour", at / (SIDE * SIDE)));
    }
    Ok(bytes.iter().copied().step_by(channels).collect())
}

fn argmax(row: &[f32]) -> u8 {
    let mut best = 0;
    for (i, value) in row.iter().enumerate() {
        if row[best] < *value {
            best = i;
        }
    }
    best as u8
}

fn to_vec(x: &Tensor) -> Vec<f32> {
    let flat = x.contiguous();
    let mut values = vec![0.0; flat.numel()];
    let n = values.len();
    flat.copy_data(&mut values, n);
    values
}
