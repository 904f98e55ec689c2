//! The VQ tokenizer with which LlamaGen and Janus-Pro paint: a codebook of unit rows and a convolutional decoder that
//! widens every token to 16 by 16 pixels. The encoder half of the published files is not read.

use specimen_weights::{Init, LoadError, ParamSource};
use tch::{Kind, Tensor};

use crate::picture::vq_blocks::{Attention, Conv, Norm, Norms, Residual};

const NORMS: Norms = Norms::VQGAN;
/// Blocks of a level.
const N_BLOCKS: usize = 3;

/// Sizes of the decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vq16Config {
    /// Codebook entries.
    pub n_codes: i64,
    /// Width of a code.
    pub d_code: i64,
    /// Width of the decoder's input.
    pub d_latent: i64,
    /// Channels of each level, coarse to fine, each a multiple of 32; every level but the last doubles the sides.
    pub channels: &'static [i64],
}

impl Vq16Config {
    /// `vq_ds16_t2i`, `vq_ds16_c2i` and the tokenizer of Janus-Pro.
    pub const PUBLISHED: Self =
        Self { n_codes: 16_384, d_code: 8, d_latent: 256, channels: &[512, 256, 256, 128, 128] };

    /// The decoder of a model whose weights are made: the published one, and a small one for a toy with `n_codes` codes of
    /// width `d_code`.
    pub fn made(is_toy: bool, n_codes: i64, d_code: i64) -> Self {
        if is_toy { Self { n_codes, d_code, d_latent: 16, channels: &[64, 32] } } else { Self::PUBLISHED }
    }

    /// Pixels along an edge of a token.
    pub fn patch(&self) -> i64 {
        1 << (self.channels.len() - 1)
    }
}

/// How a file names the parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vq16Names {
    /// LlamaGen's and Janus' own files: `decoder.conv_blocks.<i>.res.<j>`, `decoder.mid.<i>`.
    Original,
    /// `transformers`: `decoder.up.<i>.block.<j>`, `decoder.mid.{block_1,attn_1,block_2}`.
    HuggingFace,
}

impl Vq16Names {
    fn mid(self, at: usize) -> String {
        match self {
            Self::Original => format!("decoder.mid.{at}"),
            Self::HuggingFace => format!("decoder.mid.{}", ["block_1", "attn_1", "block_2"][at]),
        }
    }

    fn level(self, at: usize) -> String {
        match self {
            Self::Original => format!("decoder.conv_blocks.{at}"),
            Self::HuggingFace => format!("decoder.up.{at}"),
        }
    }

    fn block(self) -> &'static str {
        match self {
            Self::Original => "res",
            Self::HuggingFace => "block",
        }
    }
}

/// Whether a published file has the tensor `name` (without the tokenizer's own prefix) for another purpose than
/// painting: the way from pixels to codes, and a count of codes in use.
pub fn is_of_the_encoder(name: &str) -> bool {
    ["encoder.", "quant_conv."].iter().any(|part| name.starts_with(part)) || name == "quantize.codebook_used"
}

/// The blocks at one resolution.
struct Level {
    blocks: Vec<Residual>,
    /// One behind each block of the coarsest level, else none.
    attentions: Vec<Attention>,
    /// Behind the doubling of the sides; absent at the last level.
    widen: Option<Conv>,
}

/// Codebook and decoder, in f32.
pub struct Vq16 {
    config: Vq16Config,
    /// `[n_codes, d_code]`, as stored; normalised at use.
    codebook: Tensor,
    /// Rows of length 1, `[n_codes, d_code]`.
    unit_codebook: Tensor,
    enter: Conv,
    stem: Conv,
    middle: (Residual, Attention, Residual),
    levels: Vec<Level>,
    head_norm: Norm,
    head: Conv,
}

impl Vq16 {
    /// Reads or makes the parameters.
    pub fn new(
        source: &mut dyn ParamSource,
        config: &Vq16Config,
        names: Vq16Names,
    ) -> Result<Self, LoadError> {
        let Vq16Config { n_codes, d_code, d_latent, channels } = *config;
        let first = *channels.first().expect("a decoder has levels");
        let last = *channels.last().expect("a decoder has levels");
        let std = Init::Normal((d_code as f64).powf(-0.5));
        let codebook = source.param("quantize.embedding.weight", &[n_codes, d_code], std)?;
        let enter = Conv::new(source, "post_quant_conv", [d_code, d_latent], 1)?;
        let stem = Conv::new(source, "decoder.conv_in", [d_latent, first], 3)?;
        let middle = (
            Residual::new(source, &names.mid(0), [first; 2], NORMS)?,
            Attention::new(source, &names.mid(1), first, NORMS)?,
            Residual::new(source, &names.mid(2), [first; 2], NORMS)?,
        );
        let mut levels = Vec::new();
        let mut n_in = first;
        for (at, &n_out) in channels.iter().enumerate() {
            let name = names.level(at);
            let mut level = Level { blocks: Vec::new(), attentions: Vec::new(), widen: None };
            for block in 0..N_BLOCKS {
                let part = format!("{name}.{}.{block}", names.block());
                level.blocks.push(Residual::new(source, &part, [n_in, n_out], NORMS)?);
                if at == 0 {
                    let part = format!("{name}.attn.{block}");
                    level.attentions.push(Attention::new(source, &part, n_out, NORMS)?);
                }
                n_in = n_out;
            }
            if at + 1 < channels.len() {
                level.widen = Some(Conv::new(source, &format!("{name}.upsample.conv"), [n_out; 2], 3)?);
            }
            levels.push(level);
        }
        let unit_codebook = unit_rows(&codebook);
        Ok(Self {
            config: *config,
            codebook,
            unit_codebook,
            enter,
            stem,
            middle,
            levels,
            head_norm: Norm::new(source, "decoder.norm_out", last, NORMS)?,
            head: Conv::new(source, "decoder.conv_out", [last, 3], 3)?,
        })
    }

    /// The sizes it was built with.
    pub fn config(&self) -> &Vq16Config {
        &self.config
    }

    /// The codebook as it is stored, `[n_codes, d_code]`. LANTERN measures distances between these rows.
    pub fn codebook(&self) -> &Tensor {
        &self.codebook
    }

    /// Pictures. `tokens`: `[b, height, width]`, i64; returns `[b, 3, patch * height, patch * width]`, nominally in
    /// `[-1, 1]`, not clamped.
    pub fn decode(&self, tokens: &Tensor) -> Tensor {
        let (b, height, width) = tokens.size3().expect("token maps have three axes");
        let codes = self.unit_codebook.index_select(0, &tokens.reshape([-1]));
        let codes = codes.view([b, height, width, self.config.d_code]).permute([0, 3, 1, 2]).contiguous();
        let mut x = self.stem.forward(&self.enter.forward(&codes));
        x = self.middle.0.forward(&x);
        x = self.middle.1.forward(&x);
        x = self.middle.2.forward(&x);
        for level in &self.levels {
            for (at, block) in level.blocks.iter().enumerate() {
                x = block.forward(&x);
                if let Some(attention) = level.attentions.get(at) {
                    x = attention.forward(&x);
                }
            }
            if let Some(widen) = &level.widen {
                x = widen.widen(&x);
            }
        }
        self.head.forward(&self.head_norm.forward(&x).silu())
    }
}

/// Rows of length 1; a row of zeros stays one.
fn unit_rows(rows: &Tensor) -> Tensor {
    let length = (rows * rows).sum_dim_intlist([-1_i64].as_slice(), true, None::<Kind>).sqrt();
    rows / length.clamp_min(1e-12)
}
