//! CLIP's tower of texts: the token at the end of the text behind the last norm, projected into the joint space.
//!
//! The mask is causal and the feature is taken at the end token, so what lies behind it changes nothing: texts are
//! cut to the longest of their batch instead of being padded to the 77 tokens of the context, and batches are formed
//! by length. Vectors are not scaled to length 1; the statistics do that.

use std::path::Path;

use specimen_weights::{Checkpoint, Init, LoadError, ParamSource};
use tch::{Device, Kind, Tensor};

use crate::{
    clip::{
        shape::{ClipLayout, ClipShapes, TextShape, is_configured, words},
        tokenizer::{CONTEXT, ClipTokenizer, END, TextPrefix, TextRule},
    },
    extractor::{ExtractError, Features},
    network::{Dtype, NetworkName},
    open::{clip_shapes, kind_of, to_vec, words_of},
    transformer::{LayerNorm, Linear, Stack, fan_in},
};

/// Texts run at once.
const BATCH: usize = 64;

/// The tower of texts.
pub struct TextTower {
    /// `[n_vocab, width]`
    words: Tensor,
    /// `[context, width]`
    positions: Tensor,
    stack: Stack,
    norm: LayerNorm,
    joint: Linear,
    shape: TextShape,
    logit_scale: f64,
    dtype: Dtype,
    /// Whether heads and activation are known.
    is_configured: bool,
    /// First 12 digits of the weights' digest; absent where they come from no file.
    digest: Option<String>,
}

/// The tower of texts with its tokenizer.
pub struct ClipText {
    tower: TextTower,
    tokenizer: ClipTokenizer,
}

impl ClipText {
    /// Puts both together.
    pub fn new(tower: TextTower, tokenizer: ClipTokenizer) -> Result<Self, ExtractError> {
        let TextShape { context, n_vocab, .. } = tower.shape;
        if context < CONTEXT as i64 || n_vocab != i64::from(END) + 1 {
            return Err(crate::extractor::batch(
                "a tokenizer of CLIP",
                format!("a tower of {CONTEXT} tokens of {} words", END + 1),
                format!("one of {context} tokens of {n_vocab} words"),
            ));
        }
        Ok(Self { tower, tokenizer })
    }

    /// Embeddings of texts as they are, `[n, n_joint]`, cleaned and cut as OpenAI does.
    pub fn embed(&self, texts: &[String]) -> Result<Features, ExtractError> {
        self.embed_prefixed(texts, TextPrefix::None, TextRule::OpenAi)
    }

    /// Embeddings of texts behind a prefix, `[n, n_joint]`, cleaned and cut by `rule`.
    pub fn embed_prefixed(
        &self,
        texts: &[String],
        prefix: TextPrefix,
        rule: TextRule,
    ) -> Result<Features, ExtractError> {
        let ids = texts.iter().map(|text| self.tokenizer.sequence_by(text, prefix, rule)).collect::<Vec<_>>();
        self.tower.embed_ids(&ids)
    }

    /// As [`ClipTokenizer::counts`].
    pub fn counts(&self, texts: &[String], prefix: TextPrefix, rule: TextRule) -> [(&'static str, usize); 3] {
        self.tokenizer.counts(texts, prefix, rule)
    }

    /// The tower of texts, without the tokenizer.
    pub fn tower(&self) -> &TextTower {
        &self.tower
    }
}

impl TextTower {
    /// Opens the safetensors file `weights` of a CLIP of OpenAI's family, which may hold both towers, to compute in `dtype`.
    pub fn open(weights: &Path, dtype: Dtype) -> Result<Self, ExtractError> {
        Self::open_on(Device::Cpu, NetworkName::ClipVitB32, weights, dtype)
    }

    /// As [`TextTower::open`], that of `network`, to compute on `device`. Width and depth are those of the file.
    pub fn open_on(
        device: Device,
        network: NetworkName,
        weights: &Path,
        dtype: Dtype,
    ) -> Result<Self, ExtractError> {
        let Some(ClipShapes { text: published, family, .. }) = clip_shapes(network) else {
            let reason = format!("{network} has no tower of texts; take a network of CLIP");
            return Err(LoadError::Config { path: weights.to_owned(), reason }.into());
        };
        let _guard = tch::no_grad_guard();
        let mut checkpoint = Checkpoint::open(weights, Some(Kind::Float), device)?;
        let layout = ClipLayout::of(&checkpoint)?;
        let shape = TextShape::of(&checkpoint, layout, family)?;
        let digest = checkpoint.digest()[..12].to_owned();
        let is_configured = is_configured(&checkpoint, layout, family, (&shape.stack, &published.stack));
        checkpoint.ignore(|name| layout.is_beside_text(name));
        let tower = Self::new(&mut checkpoint, layout, &shape, kind_of(dtype))?;
        checkpoint.finish()?;
        Ok(Self { digest: Some(digest), dtype, is_configured, ..tower })
    }

    /// Width, depth, heads, activation, element type and weights, as
    /// `clip-text[512x12,h8,quick-gelu]-embedding-f32@1a2b3c4d5e6f`; heads and activation that nothing says are marked
    /// `,assumed`.
    pub fn identity(&self) -> String {
        let digest = self.digest.as_deref().unwrap_or("recipe");
        let shape = words(&self.shape.stack, self.is_configured);
        let on = words_of(self.words.device());
        format!("clip-text[{shape}]-embedding-{}{on}@{digest}", self.dtype.name())
    }

    /// Reads the parameters of this tower and the temperature.
    pub fn new(
        source: &mut dyn ParamSource,
        layout: ClipLayout,
        shape: &TextShape,
        kind: Kind,
    ) -> Result<Self, LoadError> {
        let &TextShape { stack, context, n_vocab, n_joint } = shape;
        let (width, names) = (stack.width, layout.names());
        let mut param = |name: &str, shape: &[i64], init: Init| {
            Ok::<Tensor, LoadError>(source.param(name, shape, init)?.to_kind(kind))
        };
        let joint = param(names.text_joint, &layout.joint_shape(width, n_joint), fan_in(width))?;
        Ok(Self {
            words: param(names.words, &[n_vocab, width], Init::Uniform(0.5))?,
            positions: param(names.text_positions, &[context, width], Init::Uniform(0.5))?,
            logit_scale: source.param("logit_scale", &[], Init::Constant(2.6))?.double_value(&[]),
            stack: Stack::new(source, names.text_blocks, &names.block, &stack, kind)?,
            norm: LayerNorm::new(source, names.text_norm, width, stack.eps, kind)?,
            joint: Linear::of(layout.upright(joint)),
            shape: *shape,
            dtype: if kind == Kind::BFloat16 { Dtype::Bf16 } else { Dtype::F32 },
            is_configured: true,
            digest: None,
        })
    }

    /// Logarithm of the factor that the network was trained to multiply cosines with.
    pub fn logit_scale(&self) -> f64 {
        self.logit_scale
    }

    /// Width, depth, context and vocabulary of the tower.
    pub fn shape(&self) -> &TextShape {
        &self.shape
    }

    /// Embeddings of texts, `[n, n_joint]`, in their order. A text is its tokens from the start token to the end
    /// token; the end token is the greatest id of the vocabulary in it, the first such if there are several.
    pub fn embed_ids(&self, texts: &[Vec<u32>]) -> Result<Features, ExtractError> {
        let TextShape { context, n_vocab, n_joint, .. } = self.shape;
        for (text_idx, ids) in texts.iter().enumerate() {
            let fits = !ids.is_empty() && ids.len() as i64 <= context;
            if !fits || ids.iter().any(|&id| i64::from(id) >= n_vocab) {
                return Err(crate::extractor::batch(
                    "the tower of texts",
                    format!("1 to {context} ids below {n_vocab}"),
                    format!("text {text_idx} with {} ids up to {:?}", ids.len(), ids.iter().max()),
                ));
            }
        }
        let _guard = tch::no_grad_guard();
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&idx| texts[idx].len());
        let width = n_joint as usize;
        let mut rows = vec![0.0; texts.len() * width];
        for batch in order.chunks(BATCH) {
            let found = to_vec(&self.embed_batch(texts, batch));
            for (&text_idx, row) in batch.iter().zip(found.chunks_exact(width)) {
                rows[text_idx * width..][..width].copy_from_slice(row);
            }
        }
        Ok(Features { n_dims: width, rows })
    }

    /// `[batch.len(), n_joint]` in f32.
    fn embed_batch(&self, texts: &[Vec<u32>], batch: &[usize]) -> Tensor {
        let n_tokens = batch.iter().map(|&idx| texts[idx].len()).max().expect("a batch has a text");
        let mut ids = vec![0_i64; batch.len() * n_tokens];
        let mut ends = Vec::with_capacity(batch.len());
        for (row, &text_idx) in ids.chunks_exact_mut(n_tokens).zip(batch) {
            let text = &texts[text_idx];
            row.iter_mut().zip(text).for_each(|(slot, &id)| *slot = i64::from(id));
            let end = text.iter().max().expect("a text has tokens");
            ends.push(text.iter().position(|id| id == end).expect("the greatest id is among the ids") as i64);
        }
        let (n, n_tokens) = (batch.len() as i64, n_tokens as i64);
        let (width, device) = (self.shape.stack.width, self.words.device());
        let words = self
            .words
            .index_select(0, &Tensor::from_slice(&ids).to_device(device))
            .view([n, n_tokens, width]);
        let tokens = self.stack.forward(&(words + self.positions.narrow(0, 0, n_tokens)), true);
        let ends = Tensor::from_slice(&ends).to_device(device).view([n, 1, 1]).expand([n, 1, width], false);
        let last = tokens.gather(1, &ends, false).squeeze_dim(1);
        self.joint.forward(&self.norm.forward(&last)).to_kind(Kind::Float)
    }
}
