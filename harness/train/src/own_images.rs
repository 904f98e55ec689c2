//! Images of the target's own, on which heads are trained further: drawn from the guided distribution at temperature 1
//! for captions of training scenes, as a drafter meets them in decoding.

use std::{collections::BTreeMap, path::Path};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use specimen_datasets::scenes::{CAPTION_LEN, NULL_ID, Scene, TRAIN_SEED, Vocabulary};
use specimen_models::{
    families::tiny::TinyBackbone,
    llama::layer::causal_mask,
    seam::{
        backbone::Backbone,
        kv::{KvCache, KvShape},
    },
};
use specimen_weights::{Checkpoint, use_threads, write_safetensors};
use tch::{Device, Kind, Tensor};

use crate::{
    corpus::{StepDraws, TokenRows, epoch_batch},
    lesson::guided,
    progress::Progress,
    stored_words::{check_words, tensor_of},
};

/// How images are drawn, and which of them are held out; each stage says how many it trains on besides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnImages {
    /// The first images, which are held out.
    pub n_validation: u64,
    /// Guidance scale.
    pub guidance: f64,
}

/// What images are drawn from. A file of images keeps it in words, and is only taken up again under the same ones.
#[derive(Clone, Copy)]
pub struct DrawnFrom<'a> {
    /// The target, ready to decode.
    pub target: &'a TinyBackbone,
    /// Digest of its weights.
    pub weights: &'a str,
    /// Seed of captions and tokens.
    pub seed: u64,
    /// Training scenes whose captions are taken.
    pub n_scenes: u64,
}

/// Images that are drawn together; part of the result's identity.
const CHUNK: u64 = 32;

/// Name of the tensor that says in UTF-8 what the images were drawn from.
const ORIGIN: &str = "drawn_from";

/// Tokens of images with the captions they were drawn for.
pub struct CaptionedRows {
    /// `[n, 256]`, i64
    tokens: Tensor,
    /// `[n, 20]`, i64
    captions: Tensor,
}

impl CaptionedRows {
    /// Pictures of scenes as the tokenizer sees them.
    pub fn of_scenes(rows: &TokenRows) -> Self {
        let wide = |x: &Tensor| x.to_kind(Kind::Int64);
        Self { tokens: wide(&rows.tokens), captions: wide(&rows.captions) }
    }

    /// Images there are.
    pub fn len(&self) -> u64 {
        self.tokens.size()[0] as u64
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Tokens and captions of the rows `index`, `[b, 256]` and `[b, 20]`.
    pub fn rows(&self, index: &[i64]) -> (Tensor, Tensor) {
        let index = Tensor::from_slice(index);
        (self.tokens.index_select(0, &index), self.captions.index_select(0, &index))
    }

    /// Rows `from..to` in batches of at most `size`.
    pub fn batches(&self, from: u64, to: u64, size: u64) -> impl Iterator<Item = (Tensor, Tensor)> {
        let starts = (from..to).step_by(size as usize);
        starts.map(move |at| self.rows(&(at..(at + size).min(to)).map(|i| i as i64).collect::<Vec<_>>()))
    }
}

impl OwnImages {
    /// The held-out images of a target, then `n_images` to train on: read from `file` as far as they are there, drawn and added to it where not. An
    /// image depends on what it is drawn from and its place alone, not on how the drawing was cut.
    pub fn of(&self, from: &DrawnFrom<'_>, n_images: u64, file: &Path) -> anyhow::Result<CaptionedRows> {
        let &DrawnFrom { target, seed, n_scenes, .. } = from;
        let _guard = tch::no_grad_guard();
        use_threads(1);
        let n_tokens = target.config().n_tokens();
        let origin = self.origin(from);
        let mut rows = if file.exists() { read(file, n_tokens, &origin)? } else { empty(n_tokens) };
        let n = self.n_validation + n_images;
        let mut progress = Progress::new("own image", n as usize);
        while rows.len() < n {
            let chunk = rows.len() / CHUNK;
            let scenes = epoch_batch(seed, n_scenes, chunk, CHUNK);
            let captions = captions_of(&scenes)?;
            let tokens = draw(target, &captions, self.guidance, StepDraws::new(seed, chunk));
            rows.tokens = Tensor::cat(&[&rows.tokens, &tokens], 0);
            rows.captions = Tensor::cat(&[&rows.captions, &captions], 0);
            write(file, &rows, &origin)?;
            progress.reached(rows.len() as usize, CHUNK as usize)?;
        }
        Ok(CaptionedRows {
            tokens: rows.tokens.narrow(0, 0, n as i64),
            captions: rows.captions.narrow(0, 0, n as i64),
        })
    }
}

impl OwnImages {
    /// What decides the tokens of an image beside its place, in words.
    fn origin(&self, from: &DrawnFrom<'_>) -> String {
        let DrawnFrom { weights, seed, n_scenes, .. } = from;
        format!("target {weights}, seed {seed}, {n_scenes} scenes, guidance {}", self.guidance)
    }
}

fn captions_of(scenes: &[i64]) -> anyhow::Result<Tensor> {
    let mut ids: Vec<i64> = Vec::new();
    for &scene in scenes {
        ids.extend(Vocabulary::encode(&Scene::new(TRAIN_SEED, scene as u64).caption())?.map(i64::from));
    }
    Ok(Tensor::from_slice(&ids).view([-1, CAPTION_LEN as i64]))
}

/// One image a caption. `captions`: `[b, 20]`; returns `[b, n_tokens]`, i64.
fn draw(target: &TinyBackbone, captions: &Tensor, guidance: f64, mut draws: StepDraws) -> Tensor {
    let (b, n_prefix) = captions.size2().expect("captions have two axes");
    let shape = target.shape();
    let n_tokens = target.config().n_tokens();
    let kv = KvShape {
        n_layers: shape.n_layers,
        n_rows: 2 * b,
        n_heads: shape.n_heads,
        d_head: shape.d_head,
        capacity: n_prefix + n_tokens,
    };
    let mut cache = KvCache::new(kv, target.kind(), Device::Cpu);
    let null = Tensor::full_like(captions, i64::from(NULL_ID));
    let mut x = target.embed_caption(&Tensor::cat(&[captions, &null], 0));
    let mut mask = Some(causal_mask(n_prefix, cache.kind()));
    let mut tokens: Vec<Tensor> = Vec::new();
    for _ in 0..n_tokens {
        let n = x.size()[1];
        let positions = Tensor::arange_start(cache.len(), cache.len() + n, (Kind::Int64, Device::Cpu));
        let features = target.forward(&x, &positions, &mut cache, mask.take().as_ref());
        cache.keep(&(0..n).collect::<Vec<_>>());
        let logits = guided(&target.logits(&features.narrow(1, n - 1, 1)), guidance).squeeze_dim(1);
        let cumulated = logits.softmax(-1, None::<Kind>).cumsum(-1, Kind::Double);
        let uniforms: Vec<f64> = (0..b).map(|_| draws.uniform()).collect();
        let level = Tensor::from_slice(&uniforms).unsqueeze(1) * cumulated.narrow(1, shape.n_vocab - 1, 1);
        let next = cumulated.le_tensor(&level).sum_dim_intlist([1_i64].as_slice(), true, Kind::Int64);
        let next = next.clamp_max(shape.n_vocab - 1);
        x = target.embed_batch(&next).repeat([2, 1, 1]);
        tokens.push(next);
    }
    Tensor::cat(&tokens, 1)
}

fn empty(n_tokens: i64) -> CaptionedRows {
    let none = |width: i64| Tensor::zeros([0, width], (Kind::Int64, Device::Cpu));
    CaptionedRows { tokens: none(n_tokens), captions: none(CAPTION_LEN as i64) }
}

fn read(file: &Path, n_tokens: i64, origin: &str) -> anyhow::Result<CaptionedRows> {
    let mut checkpoint = Checkpoint::open(file, None, Device::Cpu)?;
    check_words(&mut checkpoint, ORIGIN, origin)?;
    let n = checkpoint.shape("tokens").map_or(0, |shape| shape[0]);
    let tokens = checkpoint.take("tokens", &[n, n_tokens])?;
    let captions = checkpoint.take("captions", &[n, CAPTION_LEN as i64])?;
    checkpoint.finish()?;
    Ok(CaptionedRows { tokens, captions })
}

fn write(file: &Path, rows: &CaptionedRows, origin: &str) -> anyhow::Result<()> {
    let tensors = BTreeMap::from([
        ("tokens".to_owned(), rows.tokens.shallow_clone()),
        ("captions".to_owned(), rows.captions.shallow_clone()),
        (ORIGIN.to_owned(), tensor_of(origin)),
    ]);
    write_safetensors(file, &tensors).with_context(|| format!("{}: cannot write the images", file.display()))
}
