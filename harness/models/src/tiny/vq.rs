//! The tiny VQ tokenizer. The encoder sees only its own 4x4 patch (1x1 convolutions after un-shuffling):
//! neighbouring tokens then do not give each other away and the target's predictions stay diffuse, as in
//! the published models. The decoder is convolutional.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Kind, Tensor};

use super::VqConfig;

struct Conv {
    /// `[out, in, k, k]`
    weight: Tensor,
    /// `[out]`
    bias: Tensor,
}

impl Conv {
    fn new(
        source: &mut dyn ParamSource,
        name: &str,
        n_in: i64,
        n_out: i64,
        k: i64,
    ) -> Result<Self, LoadError> {
        let bound = ((n_in * k * k) as f64).powf(-0.5);
        Ok(Self {
            weight: source.param(&format!("{name}.weight"), &[n_out, n_in, k, k], Init::Uniform(bound))?,
            bias: source.param(&format!("{name}.bias"), &[n_out], Init::Uniform(bound))?,
        })
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let padding = self.weight.size()[3] / 2;
        x.conv2d(&self.weight, Some(&self.bias), [1, 1], [padding, padding], [1, 1], 1)
    }
}

struct Norm {
    /// `[channels]`
    weight: Tensor,
    /// `[channels]`
    bias: Tensor,
}

impl Norm {
    fn new(source: &mut dyn ParamSource, name: &str, channels: i64) -> Result<Self, LoadError> {
        Ok(Self {
            weight: source.param(&format!("{name}.weight"), &[channels], Init::Constant(1.0))?,
            bias: source.param(&format!("{name}.bias"), &[channels], Init::Constant(0.0))?,
        })
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        x.group_norm(8, Some(&self.weight), Some(&self.bias), 1e-5, false)
    }
}

struct Residual {
    norms: [Norm; 2],
    convs: [Conv; 2],
}

impl Residual {
    fn new(source: &mut dyn ParamSource, name: &str, channels: i64) -> Result<Self, LoadError> {
        Ok(Self {
            norms: [
                Norm::new(source, &format!("{name}.norm1"), channels)?,
                Norm::new(source, &format!("{name}.norm2"), channels)?,
            ],
            convs: [
                Conv::new(source, &format!("{name}.conv1"), channels, channels, 3)?,
                Conv::new(source, &format!("{name}.conv2"), channels, channels, 3)?,
            ],
        })
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let hidden = self.convs[0].forward(&self.norms[0].forward(x).silu());
        x + self.convs[1].forward(&self.norms[1].forward(&hidden).silu())
    }
}

/// Encoder, codebook and decoder.
pub struct Vq {
    config: VqConfig,
    encoder: [Conv; 3],
    /// `[n_codes, d_code]`, as stored; normalised at use.
    pub codebook: Tensor,
    stem: Conv,
    low: [Residual; 2],
    widen: Conv,
    high: [Residual; 2],
    head_norm: Norm,
    head: Conv,
}

impl Vq {
    /// Reads or makes the parameters.
    ///
    /// # Errors
    /// As the source.
    pub fn new(source: &mut dyn ParamSource, config: &VqConfig) -> Result<Self, LoadError> {
        let [low, high] = config.d_decoder;
        let pixels = 3 * config.patch * config.patch;
        Ok(Self {
            encoder: [
                Conv::new(source, "encoder.0", pixels, config.d_encoder, 1)?,
                Conv::new(source, "encoder.1", config.d_encoder, config.d_encoder, 1)?,
                Conv::new(source, "encoder.2", config.d_encoder, config.d_code, 1)?,
            ],
            codebook: source.param(
                "codebook.weight",
                &[config.n_codes, config.d_code],
                Init::Normal((config.d_code as f64).powf(-0.5)),
            )?,
            stem: Conv::new(source, "decoder.stem", config.d_code, low, 3)?,
            low: [Residual::new(source, "decoder.low.0", low)?, Residual::new(source, "decoder.low.1", low)?],
            widen: Conv::new(source, "decoder.widen", low, high, 3)?,
            high: [
                Residual::new(source, "decoder.high.0", high)?,
                Residual::new(source, "decoder.high.1", high)?,
            ],
            head_norm: Norm::new(source, "decoder.head_norm", high)?,
            head: Conv::new(source, "decoder.head", high, 12, 3)?,
            config: config.clone(),
        })
    }

    /// Normalised codes before quantisation. `images`: `[b, 3, side, side]` in `[-1, 1]`; returns
    /// `[b, grid, grid, d_code]`.
    pub fn encode(&self, images: &Tensor) -> Tensor {
        let x = images.pixel_unshuffle(self.config.patch);
        let x = self.encoder[0].forward(&x).silu();
        let x = self.encoder[1].forward(&x).silu();
        normalised(&self.encoder[2].forward(&x).permute([0, 2, 3, 1]))
    }

    /// The nearest code of each vector by cosine. `codes`: `[.., d_code]`; returns `[..]`, i64.
    pub fn quantise(&self, codes: &Tensor) -> Tensor {
        codes.matmul(&self.unit_codebook().transpose(0, 1)).argmax(-1, false)
    }

    /// The codebook with rows of length 1, `[n_codes, d_code]`.
    pub fn unit_codebook(&self) -> Tensor {
        normalised(&self.codebook)
    }

    /// Pictures from normalised codes. `codes`: `[b, grid, grid, d_code]`; returns `[b, 3, side, side]`,
    /// nominally in `[-1, 1]`, not clamped.
    pub fn decode(&self, codes: &Tensor) -> Tensor {
        let mut x = self.stem.forward(&codes.permute([0, 3, 1, 2]));
        for block in &self.low {
            x = block.forward(&x);
        }
        let (_, _, height, width) = x.size4().expect("feature maps have four axes");
        x = self.widen.forward(&x.upsample_nearest2d([2 * height, 2 * width], None, None));
        for block in &self.high {
            x = block.forward(&x);
        }
        self.head.forward(&self.head_norm.forward(&x).silu()).pixel_shuffle(2)
    }

    /// Pictures from tokens. `tokens`: `[b, grid, grid]`, i64; returns as [`Vq::decode`].
    pub fn decode_tokens(&self, tokens: &Tensor) -> Tensor {
        let (b, height, width) = tokens.size3().expect("token maps have three axes");
        let codes = self.unit_codebook().index_select(0, &tokens.reshape([-1]));
        self.decode(&codes.view([b, height, width, self.config.d_code]))
    }

    /// The sizes.
    pub fn config(&self) -> &VqConfig {
        &self.config
    }
}

/// Rows of length 1 along the last axis.
fn normalised(x: &Tensor) -> Tensor {
    let length = (x * x).sum_dim_intlist([-1_i64].as_slice(), true, None::<Kind>).sqrt();
    x / length.clamp_min(1e-6)
}
