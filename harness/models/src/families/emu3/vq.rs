//! The picture decoder of Emu3: MoVQ (Zheng et al., arXiv 2209.09002) behind convolutions over frames, of which four are made
//! of one map of codes. An image is the first frame. Those convolutions look back only, and nothing else joins frames, so one
//! frame is computed: what a kernel of three frames does to the first is what its last slice does.
//!
//! Codes are used as they are stored, without norm. In f32.

use specimen_weights::{Init, LoadError, ParamSource, Scoped};
use tch::Tensor;

use super::vq_names::{CODEBOOK, Renamed, VqNames};
use crate::picture::vq_blocks::{Attention, Conv, Norm, Norms, Residual};

/// Epsilon of the frozen batch norms.
const BATCH_NORM_EPS: f64 = 1e-5;
/// Doublings of the frames, each with a convolution: a map of codes is four frames.
const N_DOUBLINGS: usize = 2;

/// Sizes of a decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emu3VqConfig {
    /// Codebook entries.
    pub n_codes: i64,
    /// Width of a code, and channels of the convolutions over frames.
    pub d_code: i64,
    /// Channels at the finest level are this times the first of `widths`; a multiple of 32.
    pub channels: i64,
    /// Width of every level, the finest first; each level but the finest doubles the edges.
    pub widths: &'static [i64],
    /// Residual blocks of a level, less one; and those over frames.
    pub n_blocks: usize,
    /// The levels, from the finest, whose blocks are followed by attention.
    pub attended: &'static [usize],
}

impl Emu3VqConfig {
    /// `Emu3-VisionTokenizer`: 8 pixels along an edge of a code.
    pub const PUBLISHED: Self = Self {
        n_codes: 32_768,
        d_code: 4,
        channels: 256,
        widths: &[1, 2, 2, 4],
        n_blocks: 2,
        attended: &[3],
    };

    /// A small one with `n_codes` codes: 2 pixels along an edge of a code.
    pub const fn toy(n_codes: i64) -> Self {
        Self { n_codes, d_code: 4, channels: 32, widths: &[1, 2], n_blocks: 1, attended: &[1] }
    }

    /// Pixels along an edge of a code.
    pub fn scale(&self) -> i64 {
        1 << (self.widths.len() - 1)
    }
}

/// A batch norm with the statistics of training: a factor and a summand a channel.
struct FrozenNorm {
    /// `[1, channels, 1, 1]`
    factor: Tensor,
    /// `[1, channels, 1, 1]`
    summand: Tensor,
}

impl FrozenNorm {
    fn new(source: &mut dyn ParamSource, name: &str, channels: i64) -> Result<Self, LoadError> {
        let mut part =
            |part: &str, start| source.param(&format!("{name}.{part}"), &[channels], Init::Constant(start));
        let (weight, bias) = (part("weight", 1.0)?, part("bias", 0.0)?);
        let (mean, variance) = (part("running_mean", 0.0)?, part("running_var", 1.0)?);
        let factor = weight / (variance + BATCH_NORM_EPS).sqrt();
        let summand = bias - mean * &factor;
        let of_maps = |x: Tensor| x.view([1, channels, 1, 1]);
        Ok(Self { factor: of_maps(factor), summand: of_maps(summand) })
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        x * &self.factor + &self.summand
    }
}

/// Two convolutions over frames beside a skip.
struct FrameBlock {
    norms: [FrozenNorm; 2],
    convs: [Conv; 2],
}

impl FrameBlock {
    fn new(source: &mut dyn ParamSource, name: &str, channels: i64) -> Result<Self, LoadError> {
        let mut norm = |at: u8| FrozenNorm::new(source, &format!("{name}.norm{at}"), channels);
        let norms = [norm(1)?, norm(2)?];
        let mut conv =
            |at: u8| Conv::of_first_frame(source, &format!("{name}.conv{at}.conv"), [channels; 2], 3);
        Ok(Self { norms, convs: [conv(1)?, conv(2)?] })
    }

    fn forward(&self, x: &Tensor) -> Tensor {
        let hidden = self.convs[0].forward(&self.norms[0].forward(x).silu());
        x + self.convs[1].forward(&self.norms[1].forward(&hidden).silu())
    }
}

struct Level {
    blocks: Vec<Residual>,
    /// One behind each block, or none.
    attentions: Vec<Attention>,
    /// Behind the doubling of the edges; none at the finest level.
    upsample: Option<Conv>,
}

/// Codebook and decoder.
pub struct Emu3Vq {
    config: Emu3VqConfig,
    /// `[n_codes, d_code]`
    codebook: Tensor,
    admit: Conv,
    frame_blocks: Vec<FrameBlock>,
    doublings: Vec<Conv>,
    stem: Conv,
    mid: (Residual, Attention, Residual),
    /// The coarsest first.
    levels: Vec<Level>,
    head_norm: Norm,
    head: Conv,
}

impl Emu3Vq {
    /// Reads or makes the parameters.
    pub fn new(
        source: &mut dyn ParamSource,
        config: &Emu3VqConfig,
        names: VqNames,
    ) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let mut scoped = Scoped::new(source, names.prefix());
        match names.is_renamed() {
            true => Self::by_own_names(&mut Renamed(&mut scoped), config),
            false => Self::by_own_names(&mut scoped, config),
        }
    }

    fn by_own_names(source: &mut dyn ParamSource, config: &Emu3VqConfig) -> Result<Self, LoadError> {
        let &Emu3VqConfig { n_codes, d_code, channels, widths, n_blocks, attended } = config;
        let norms = Norms { d_code: Some(d_code), ..Norms::VQGAN };
        let codebook =
            source.param(CODEBOOK, &[n_codes, d_code], Init::Normal((d_code as f64).powf(-0.5)))?;
        let admit = Conv::of_first_frame(source, "post_quant_conv.conv", [d_code; 2], 1)?;
        let mut decoder = Scoped::new(source, "decoder.");
        let source = &mut decoder;
        let frame_blocks =
            (0..n_blocks).map(|at| FrameBlock::new(source, &format!("time_res_stack.{at}"), d_code));
        let frame_blocks = frame_blocks.collect::<Result<_, _>>()?;
        let doublings = (0..N_DOUBLINGS)
            .map(|at| Conv::of_first_frame(source, &format!("time_conv.{at}.conv.conv"), [d_code; 2], 3));
        let doublings = doublings.collect::<Result<_, _>>()?;
        let mut width = channels * widths.last().expect("a decoder has levels");
        let stem = Conv::new(source, "conv_in", [d_code, width], 3)?;
        let mid = (
            Residual::new(source, "mid.block_1", [width; 2], norms)?,
            Attention::new(source, "mid.attn_1", width, norms)?,
            Residual::new(source, "mid.block_2", [width; 2], norms)?,
        );
        let mut levels = Vec::new();
        for (at, factor) in widths.iter().enumerate().rev() {
            let mut level = Level { blocks: Vec::new(), attentions: Vec::new(), upsample: None };
            for block in 0..=n_blocks {
                let n_in = std::mem::replace(&mut width, channels * factor);
                let name = format!("up.{at}.block.{block}");
                level.blocks.push(Residual::new(source, &name, [n_in, width], norms)?);
                if attended.contains(&at) {
                    let name = format!("up.{at}.attn.{block}");
                    level.attentions.push(Attention::new(source, &name, width, norms)?);
                }
            }
            let upsample =
                (at > 0).then(|| Conv::new(source, &format!("up.{at}.upsample.conv"), [width; 2], 3));
            level.upsample = upsample.transpose()?;
            levels.push(level);
        }
        let head_norm = Norm::new(source, "norm_out", width, norms)?;
        let head = Conv::new(source, "conv_out", [width, 3], 3)?;
        let config = *config;
        Ok(Self { config, codebook, admit, frame_blocks, doublings, stem, mid, levels, head_norm, head })
    }

    /// The sizes it was built with.
    pub fn config(&self) -> &Emu3VqConfig {
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
        let vectors = vectors.view([b, rows, columns, self.config.d_code]).permute([0, 3, 1, 2]);
        // What is painted, and what norms scale and shift by, go the same way through the frames.
        let mut both = Tensor::cat(&[self.admit.forward(&vectors), vectors], 0);
        for block in &self.frame_blocks {
            both = block.forward(&both);
        }
        for doubling in &self.doublings {
            both = doubling.forward(&both).silu();
        }
        let by = &both.narrow(0, b, b);
        let by = Some(by);
        let mut x = self.stem.forward(&both.narrow(0, 0, b));
        x = self.mid.0.forward_by(&x, by);
        x = self.mid.1.forward_by(&x, by);
        x = self.mid.2.forward_by(&x, by);
        for level in &self.levels {
            for (at, block) in level.blocks.iter().enumerate() {
                x = block.forward_by(&x, by);
                if let Some(attention) = level.attentions.get(at) {
                    x = attention.forward_by(&x, by);
                }
            }
            if let Some(conv) = &level.upsample {
                x = conv.widen(&x);
            }
        }
        self.head.forward(&self.head_norm.forward_by(&x, by).silu())
    }
}
