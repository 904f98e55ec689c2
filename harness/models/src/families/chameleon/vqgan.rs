//! The picture decoder of Chameleon: the VQGAN of taming-transformers (Esser et al., arXiv 2012.09841).
//! Codes are used as they are stored, without norm. In f32.

use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::Tensor;

use crate::picture::vq_blocks::{Attention, Conv, Norm, Norms, Residual};

const NORMS: Norms = Norms::VQGAN;

/// Sizes of a decoder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VqganConfig {
    /// Codebook entries.
    pub n_codes: i64,
    /// Width of a code.
    pub d_code: i64,
    /// Channels where the decoder begins.
    pub d_latent: i64,
    /// Channels at the finest level are this times the first of `widths`; a multiple of 32.
    pub channels: i64,
    /// Width of every level, the finest first; each level but the finest doubles the edges.
    pub widths: Vec<i64>,
    /// Residual blocks of a level, less one.
    pub n_blocks: i64,
}

impl VqganConfig {
    /// Chameleon's `vqgan.yaml`: 16 pixels along an edge of a code.
    pub fn chameleon() -> Self {
        Self {
            n_codes: 8192,
            d_code: 256,
            d_latent: 256,
            channels: 128,
            widths: vec![1, 1, 2, 2, 4],
            n_blocks: 2,
        }
    }

    /// Pixels along an edge of a code.
    pub fn scale(&self) -> i64 {
        1 << (self.widths.len() - 1)
    }
}

struct Level {
    blocks: Vec<Residual>,
    /// Behind the doubling of the edges; none at the finest level.
    upsample: Option<Conv>,
}

/// Codebook and decoder.
pub struct Vqgan {
    config: VqganConfig,
    /// `[n_codes, d_code]`
    codebook: Tensor,
    admit: Conv,
    stem: Conv,
    mid: (Residual, Attention, Residual),
    /// The coarsest first.
    levels: Vec<Level>,
    head_norm: Norm,
    head: Conv,
}

impl Vqgan {
    /// Reads or makes the parameters, by the names of the published `vqgan.ckpt`.
    pub fn new(source: &mut dyn ParamSource, config: &VqganConfig) -> Result<Self, LoadError> {
        let &VqganConfig { n_codes, d_code, d_latent, channels, ref widths, n_blocks } = config;
        let init = Init::Normal((d_code as f64).powf(-0.5));
        let codebook = source.param("quantize.embedding.weight", &[n_codes, d_code], init)?;
        let admit = Conv::new(source, "post_quant_conv", [d_code, d_latent], 1)?;
        let mut decoder = Scoped::new(source, "decoder.");
        let source = &mut decoder;
        let mut width = channels * widths.last().expect("a decoder has levels");
        let stem = Conv::new(source, "conv_in", [d_latent, width], 3)?;
        let mid = (
            Residual::new(source, "mid.block_1", [width; 2], NORMS)?,
            Attention::new(source, "mid.attn_1", width, NORMS)?,
            Residual::new(source, "mid.block_2", [width; 2], NORMS)?,
        );
        let mut levels = Vec::new();
        for (at, factor) in widths.iter().enumerate().rev() {
            let mut blocks = Vec::new();
            for block in 0..=n_blocks {
                let n_in = std::mem::replace(&mut width, channels * factor);
                let name = format!("up.{at}.block.{block}");
                blocks.push(Residual::new(source, &name, [n_in, width], NORMS)?);
            }
            let upsample =
                (at > 0).then(|| Conv::new(source, &format!("up.{at}.upsample.conv"), [width; 2], 3));
            levels.push(Level { blocks, upsample: upsample.transpose()? });
        }
        let head_norm = Norm::new(source, "norm_out", width, NORMS)?;
        let head = Conv::new(source, "conv_out", [width, 3], 3)?;
        Ok(Self { config: config.clone(), codebook, admit, stem, mid, levels, head_norm, head })
    }

    /// Whether a tensor of the published file is no part of the decoder: the encoder, and what training needed.
    pub fn is_beside(name: &str) -> bool {
        ["encoder.", "quant_conv.", "loss."].iter().any(|prefix| name.starts_with(prefix))
    }

    /// The sizes it was built with.
    pub fn config(&self) -> &VqganConfig {
        &self.config
    }

    /// The codebook as it is stored, `[n_codes, d_code]`.
    pub fn codebook(&self) -> &Tensor {
        &self.codebook
    }

    /// Pictures from codes. `codes`: `[b, rows, columns]`, i64; returns `[b, 3, height, width]`, nominally in
    /// `[-1, 1]`, not clamped.
    pub fn decode(&self, codes: &Tensor) -> Tensor {
        let (b, rows, columns) = codes.size3().expect("code maps have three axes");
        let vectors = self.codebook.index_select(0, &codes.reshape([-1]));
        self.decode_vectors(&vectors.view([b, rows, columns, self.config.d_code]).permute([0, 3, 1, 2]))
    }

    /// Pictures from vectors of codes, `[b, d_code, rows, columns]`; returns as [`Vqgan::decode`].
    pub fn decode_vectors(&self, vectors: &Tensor) -> Tensor {
        let mut x = self.stem.forward(&self.admit.forward(vectors));
        x = self.mid.2.forward(&self.mid.1.forward(&self.mid.0.forward(&x)));
        for level in &self.levels {
            for block in &level.blocks {
                x = block.forward(&x);
            }
            if let Some(conv) = &level.upsample {
                x = conv.widen(&x);
            }
        }
        self.head.forward(&self.head_norm.forward(&x).silu())
    }
}
