//! The tiny VQ tokenizer. The encoder sees only its own 4x4 patch (1x1 convolutions after un-shuffling):
//! neighbouring tokens then do not give each other away and the target's predictions stay diffuse, as in
//! the published models. The decoder is convolutional.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Kind, Tensor};

use super::VqConfig;
use crate::picture::vq_blocks::{Conv, Norm, Norms, Residual};

/// Of every norm.
const NORMS: Norms = Norms { n_groups: 8, eps: 1e-5, d_code: None };

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
    pub fn new(source: &mut dyn ParamSource, config: &VqConfig) -> Result<Self, LoadError> {
        let [low, high] = config.d_decoder;
        let pixels = 3 * config.patch * config.patch;
        Ok(Self {
            encoder: [
                Conv::new(source, "encoder.0", [pixels, config.d_encoder], 1)?,
                Conv::new(source, "encoder.1", [config.d_encoder; 2], 1)?,
                Conv::new(source, "encoder.2", [config.d_encoder, config.d_code], 1)?,
            ],
            codebook: source.param(
                "codebook.weight",
                &[config.n_codes, config.d_code],
                Init::Normal((config.d_code as f64).powf(-0.5)),
            )?,
            stem: Conv::new(source, "decoder.stem", [config.d_code, low], 3)?,
            low: [
                Residual::new(source, "decoder.low.0", [low; 2], NORMS)?,
                Residual::new(source, "decoder.low.1", [low; 2], NORMS)?,
            ],
            widen: Conv::new(source, "decoder.widen", [low, high], 3)?,
            high: [
                Residual::new(source, "decoder.high.0", [high; 2], NORMS)?,
                Residual::new(source, "decoder.high.1", [high; 2], NORMS)?,
            ],
            head_norm: Norm::new(source, "decoder.head_norm", high, NORMS)?,
            head: Conv::new(source, "decoder.head", [high, 12], 3)?,
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
        x = self.widen.widen(&x);
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

    /// The sizes it was built with.
    pub fn config(&self) -> &VqConfig {
        &self.config
    }
}

/// Rows of length 1 along the last axis.
fn normalised(x: &Tensor) -> Tensor {
    let length = (x * x).sum_dim_intlist([-1_i64].as_slice(), true, None::<Kind>).sqrt();
    x / length.clamp_min(1e-6)
}
