//! The evaluator of procedural scenes: a small convolutional network with attribute heads, and a tiny CLIP
//! over it. Trained on real and VQ-reconstructed scenes by `specimen train features`.
//!
//! Preprocessing: 64x64 RGB bytes to `[-1, 1]`, nothing else.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Kind, Tensor};

/// Attribute logits: 32 (shape, colour) pairs, 6 grounds, 4 skies, 5 relations, in this order.
pub const N_LOGITS: i64 = 47;
/// Width of the feature that distances are computed on.
pub const N_FEATURES: i64 = 128;
/// Width of the joint picture-caption space.
pub const N_JOINT: i64 = 64;
/// Pixels along an edge.
pub const SIDE: i64 = 64;
/// Caption slots.
pub const CAPTION_LEN: i64 = 20;
/// Caption vocabulary, padding (0) and null word (1) included.
pub const N_WORDS: i64 = 41;

/// Output channels and stride of each convolution.
const CONVS: [(i64, i64); 7] = [(32, 1), (32, 2), (64, 1), (64, 2), (96, 1), (96, 2), (128, 1)];
/// Width of the caption encoder.
const D_TEXT: i64 = 96;

struct Linear {
    /// `[out, in]`
    weight: Tensor,
    /// `[out]`
    bias: Tensor,
}

impl Linear {
    fn new(source: &mut dyn ParamSource, name: &str, n_in: i64, n_out: i64) -> Result<Self, LoadError> {
        let bound = Init::Uniform((n_in as f64).powf(-0.5));
        Ok(Self {
            weight: source.param(&format!("{name}.weight"), &[n_out, n_in], bound)?,
            bias: source.param(&format!("{name}.bias"), &[n_out], Init::Constant(0.0))?,
        })
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        x.linear(&self.weight, Some(&self.bias))
    }
}

struct Affine {
    /// `[n]`
    weight: Tensor,
    /// `[n]`
    bias: Tensor,
}

impl Affine {
    fn new(source: &mut dyn ParamSource, name: &str, n: i64) -> Result<Self, LoadError> {
        Ok(Self {
            weight: source.param(&format!("{name}.weight"), &[n], Init::Constant(1.0))?,
            bias: source.param(&format!("{name}.bias"), &[n], Init::Constant(0.0))?,
        })
    }
}

struct Conv {
    /// `[out, in, 3, 3]`; no bias, the norm has one.
    weight: Tensor,
    norm: Affine,
    stride: i64,
}

/// The network.
pub struct SceneNet {
    convs: Vec<Conv>,
    feature: Linear,
    attributes: Linear,
    joint: Linear,
    /// `[n_words, d_text]`
    words: Tensor,
    /// `[caption_len, d_text]`
    slots: Tensor,
    norms: [Affine; 2],
    qkv: Linear,
    out: Linear,
    widen: Linear,
    narrow: Linear,
    caption_joint: Linear,
    /// `[1]`: logarithm of the contrastive temperature's inverse.
    pub logit_scale: Tensor,
}

impl SceneNet {
    /// Reads or makes the parameters.
    pub fn new(source: &mut dyn ParamSource) -> Result<Self, LoadError> {
        let mut convs = Vec::new();
        let mut n_in = 3;
        for (i, (n_out, stride)) in CONVS.into_iter().enumerate() {
            let std = (2.0 / (9 * n_in) as f64).sqrt();
            let weight =
                source.param(&format!("convs.{i}.weight"), &[n_out, n_in, 3, 3], Init::Normal(std))?;
            convs.push(Conv {
                weight,
                norm: Affine::new(source, &format!("convs.{i}.norm"), n_out)?,
                stride,
            });
            n_in = n_out;
        }
        Ok(Self {
            convs,
            feature: Linear::new(source, "feature", 2 * n_in, N_FEATURES)?,
            attributes: Linear::new(source, "attributes", N_FEATURES, N_LOGITS)?,
            joint: Linear::new(source, "joint", N_FEATURES, N_JOINT)?,
            words: source.param("text.words.weight", &[N_WORDS, D_TEXT], Init::Normal(0.5))?,
            slots: source.param("text.slots.weight", &[CAPTION_LEN, D_TEXT], Init::Normal(0.5))?,
            norms: [
                Affine::new(source, "text.norms.0", D_TEXT)?,
                Affine::new(source, "text.norms.1", D_TEXT)?,
            ],
            qkv: Linear::new(source, "text.qkv", D_TEXT, 3 * D_TEXT)?,
            out: Linear::new(source, "text.out", D_TEXT, D_TEXT)?,
            widen: Linear::new(source, "text.widen", D_TEXT, 4 * D_TEXT)?,
            narrow: Linear::new(source, "text.narrow", 4 * D_TEXT, D_TEXT)?,
            caption_joint: Linear::new(source, "text.joint", D_TEXT, N_JOINT)?,
            logit_scale: source.param("logit_scale", &[1], Init::Constant(2.3))?,
        })
    }

    /// Features of pictures. `x`: `[n, 3, 64, 64]` in `[-1, 1]`; returns `[n, 128]`.
    pub fn features(&self, x: &Tensor) -> Tensor {
        let mut x = x.shallow_clone();
        for Conv { weight, norm, stride } in &self.convs {
            let y = x.conv2d(weight, None::<&Tensor>, [*stride, *stride], [1, 1], [1, 1], 1);
            x = y.group_norm(8, Some(&norm.weight), Some(&norm.bias), 1e-5, false).silu();
        }
        let mean = x.mean_dim([2_i64, 3].as_slice(), false, None::<Kind>);
        let max = x.amax([2_i64, 3].as_slice(), false);
        self.feature.forward(&Tensor::cat(&[mean, max], 1)).silu()
    }

    /// Attribute logits of features: `[n, 128]` to `[n, 47]`.
    pub fn attributes(&self, features: &Tensor) -> Tensor {
        self.attributes.forward(features)
    }

    /// Unit vectors of pictures in the joint space: features `[n, 128]` to `[n, 64]`.
    pub fn embed_features(&self, features: &Tensor) -> Tensor {
        unit(&self.joint.forward(features))
    }

    /// Unit vectors of captions in the joint space. `captions`: `[n, 20]`, i64; returns `[n, 64]`.
    pub fn embed_captions(&self, captions: &Tensor) -> Tensor {
        let (n, len) = captions.size2().expect("captions have two axes");
        let kind = self.words.kind();
        let x = self.words.index_select(0, &captions.reshape([-1])).view([n, len, D_TEXT]) + &self.slots;
        let pad = captions.eq(0);
        let hidden = pad.to_kind(kind).unsqueeze(1) * -1e4;
        let qkv = self.qkv.forward(&layer_norm(&x, &self.norms[0])).chunk(3, -1);
        let scores = qkv[0].bmm(&qkv[1].transpose(1, 2)) * (D_TEXT as f64).powf(-0.5) + hidden;
        let x = x + self.out.forward(&scores.softmax(-1, None::<Kind>).bmm(&qkv[2]));
        let y = self.narrow.forward(&self.widen.forward(&layer_norm(&x, &self.norms[1])).silu());
        let x = x + y;
        let words = pad.logical_not().to_kind(kind).unsqueeze(2);
        let sum = (x * &words).sum_dim_intlist([1_i64].as_slice(), false, None::<Kind>);
        unit(
            &self
                .caption_joint
                .forward(&(sum / words.sum_dim_intlist([1_i64].as_slice(), false, None::<Kind>))),
        )
    }
}

fn layer_norm(x: &Tensor, affine: &Affine) -> Tensor {
    x.layer_norm([D_TEXT], Some(&affine.weight), Some(&affine.bias), 1e-5, false)
}

fn unit(x: &Tensor) -> Tensor {
    let x = x.to_kind(Kind::Float);
    let length = (&x * &x).sum_dim_intlist([-1_i64].as_slice(), true, None::<Kind>).sqrt();
    x / length.clamp_min(1e-6)
}
