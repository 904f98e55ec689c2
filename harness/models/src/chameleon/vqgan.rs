//! The picture decoder of Chameleon: the VQGAN of taming-transformers (Esser et al., arXiv 2012.09841; models 2.5).
//! Codes are used as they are stored, without norm. In f32.

use specimen_decode::vectors::TokenVectors;
use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::{Kind, Tensor};

use crate::token_tables::vectors_of;

/// Groups of every norm, and their epsilon.
const N_GROUPS: i64 = 32;
const EPS: f64 = 1e-6;

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
    #[must_use]
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
    #[must_use]
    pub fn scale(&self) -> i64 {
        1 << (self.widths.len() - 1)
    }
}

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
        [n_in, n_out]: [i64; 2],
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
        x.group_norm(N_GROUPS, Some(&self.weight), Some(&self.bias), EPS, false)
    }
}

/// Two convolutions beside a skip, which is one of width 1 where the channels change.
struct Residual {
    norms: [Norm; 2],
    convs: [Conv; 2],
    skip: Option<Conv>,
}

impl Residual {
    fn new(source: &mut dyn ParamSource, name: &str, [n_in, n_out]: [i64; 2]) -> Result<Self, LoadError> {
        let skip = (n_in != n_out).then(|| format!("{name}.nin_shortcut"));
        Ok(Self {
            norms: [
                Norm::new(source, &format!("{name}.norm1"), n_in)?,
                Norm::new(source, &format!("{name}.norm2"), n_out)?,
            ],
            convs: [
                Conv::new(source, &format!("{name}.conv1"), [n_in, n_out], 3)?,
                Conv::new(source, &format!("{name}.conv2"), [n_out, n_out], 3)?,
            ],
            skip: skip.map(|name| Conv::new(source, &name, [n_in, n_out], 1)).transpose()?,
        })
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let hidden = self.convs[0].forward(&self.norms[0].forward(x).silu());
        let hidden = self.convs[1].forward(&self.norms[1].forward(&hidden).silu());
        match &self.skip {
            Some(skip) => skip.forward(x) + hidden,
            None => x + hidden,
        }
    }
}

/// One head over all places, beside a skip.
struct Attention {
    norm: Norm,
    /// Query, key, value.
    qkv: [Conv; 3],
    out: Conv,
}

impl Attention {
    fn new(source: &mut dyn ParamSource, name: &str, channels: i64) -> Result<Self, LoadError> {
        let mut conv = |part: &str| Conv::new(source, &format!("{name}.{part}"), [channels; 2], 1);
        let (qkv, out) = ([conv("q")?, conv("k")?, conv("v")?], conv("proj_out")?);
        Ok(Self { norm: Norm::new(source, &format!("{name}.norm"), channels)?, qkv, out })
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let size = x.size();
        let normed = self.norm.forward(x);
        // `[b, places, channels]`
        let [q, k, v] = [0, 1, 2].map(|i: usize| self.qkv[i].forward(&normed).flatten(2, 3).transpose(1, 2));
        let weights = (q.bmm(&k.transpose(1, 2)) * (size[1] as f64).powf(-0.5)).softmax(-1, None::<Kind>);
        x + self.out.forward(&weights.bmm(&v).transpose(1, 2).reshape(size.as_slice()))
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
    ///
    /// # Errors
    /// As the source.
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
            Residual::new(source, "mid.block_1", [width; 2])?,
            Attention::new(source, "mid.attn_1", width)?,
            Residual::new(source, "mid.block_2", [width; 2])?,
        );
        let mut levels = Vec::new();
        for (at, factor) in widths.iter().enumerate().rev() {
            let mut blocks = Vec::new();
            for block in 0..=n_blocks {
                let n_in = std::mem::replace(&mut width, channels * factor);
                blocks.push(Residual::new(source, &format!("up.{at}.block.{block}"), [n_in, width])?);
            }
            let upsample =
                (at > 0).then(|| Conv::new(source, &format!("up.{at}.upsample.conv"), [width; 2], 3));
            levels.push(Level { blocks, upsample: upsample.transpose()? });
        }
        let head_norm = Norm::new(source, "norm_out", width)?;
        let head = Conv::new(source, "conv_out", [width, 3], 3)?;
        Ok(Self { config: config.clone(), codebook, admit, stem, mid, levels, head_norm, head })
    }

    /// Whether a tensor of the published file is no part of the decoder: the encoder, and what training needed.
    #[must_use]
    pub fn is_beside(name: &str) -> bool {
        ["encoder.", "quant_conv.", "loss."].iter().any(|prefix| name.starts_with(prefix))
    }

    /// The sizes.
    pub fn config(&self) -> &VqganConfig {
        &self.config
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
                let (_, _, height, width) = x.size4().expect("feature maps have four axes");
                x = conv.forward(&x.upsample_nearest2d([2 * height, 2 * width], None, None));
            }
        }
        self.head.forward(&self.head_norm.forward(&x).silu())
    }

    /// The vectors of all codes, and behind them `n_structural` tokens that are no codes: each far from all codes
    /// and from each other, so that none is anyone's neighbour while codes are left. `file` is for messages.
    ///
    /// # Errors
    /// A vector that is not finite.
    pub fn token_vectors(&self, file: &str, n_structural: usize) -> Result<TokenVectors, LoadError> {
        let reach = self.codebook.abs().max().double_value(&[]).max(1.0);
        let far = |at: usize| {
            self.codebook.new_full([1, self.config.d_code], reach * 1e3 * (at + 1) as f64, OPTIONS)
        };
        let mut all = vec![self.codebook.to_device(tch::Device::Cpu).to_kind(Kind::Float)];
        all.extend((0..n_structural).map(far));
        vectors_of(file, &Tensor::cat(&all, 0))
    }
}

/// Where tables of vectors are made.
const OPTIONS: (Kind, tch::Device) = (Kind::Float, tch::Device::Cpu);
