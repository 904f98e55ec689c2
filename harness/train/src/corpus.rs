//! Scenes as the stages want them: pictures for the tokenizer, token rows with captions for the rest.

use rayon::prelude::*;
use specimen_datasets::scenes::{CAPTION_LEN, GRID, SIDE, Scene, Vocabulary};
use specimen_models::families::tiny::Vq;
use tch::{Kind, Tensor};

/// Tokens of an image.
pub const N_TOKENS: i64 = (GRID * GRID) as i64;

/// The scenes `indices` of `seed` as `[n, 3, side, side]` bytes, rendered on all cores.
pub fn pictures(seed: u64, indices: &[u64]) -> Tensor {
    let side = SIDE as i64;
    let scenes: Vec<Vec<u8>> = indices.par_iter().map(|&index| Scene::new(seed, index).render()).collect();
    let bytes = scenes.concat();
    Tensor::from_slice(&bytes).view([indices.len() as i64, side, side, 3]).permute([0, 3, 1, 2])
}

/// Bytes to the `[-1, 1]` range that networks see.
pub fn normalised(pictures: &Tensor, kind: Kind) -> Tensor {
    (pictures.to_kind(Kind::Float) / 127.5 - 1.0).to_kind(kind)
}

/// Tokens, captions and object masks of scenes, row by row.
pub struct TokenRows {
    /// `[n, 256]`, i16.
    pub tokens: Tensor,
    /// `[n, 20]`, i16.
    pub captions: Tensor,
    /// `[n, 256]`, u8: 1 where an object touches the patch.
    pub objects: Tensor,
}

impl TokenRows {
    /// Encodes the scenes `0..n` of `seed` with `vq`, two threads at a time.
    pub fn encode(vq: &Vq, seed: u64, n: u64) -> anyhow::Result<Self> {
        let _guard = tch::no_grad_guard();
        let kind = vq.codebook.kind();
        let mut tokens = Vec::new();
        let mut captions: Vec<i16> = Vec::new();
        let mut objects: Vec<u8> = Vec::new();
        for first in (0..n).step_by(256) {
            let indices: Vec<u64> = (first..(first + 256).min(n)).collect();
            let codes = vq.encode(&normalised(&pictures(seed, &indices), kind));
            tokens.push(vq.quantise(&codes).to_kind(Kind::Int16).view([-1, N_TOKENS]));
            for &index in &indices {
                let scene = Scene::new(seed, index);
                captions.extend(Vocabulary::encode(&scene.caption())?.map(|id| id as i16));
                objects.extend(scene.object_mask().map(u8::from));
            }
        }
        Ok(Self {
            tokens: Tensor::cat(&tokens, 0),
            captions: Tensor::from_slice(&captions).view([-1, CAPTION_LEN as i64]),
            objects: Tensor::from_slice(&objects).view([-1, N_TOKENS]),
        })
    }

    /// The rows `index` (`[b]`, i64) as i64 tensors.
    pub fn rows(&self, index: &Tensor) -> (Tensor, Tensor, Tensor) {
        let take = |from: &Tensor| from.index_select(0, index).to_kind(Kind::Int64);
        (take(&self.tokens), take(&self.captions), take(&self.objects))
    }
}

/// Draws addressed by (seed, step): a batch does not depend on how a run was cut.
pub struct StepDraws(u64);

impl StepDraws {
    /// The draws of one step of one stage.
    pub fn new(seed: u64, step: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ step.wrapping_mul(0xD1B5_4A32_D192_ED03))
    }

    /// The next 64 bits (SplitMix64).
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Uniform in `[0, 1)`.
    pub fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// `n` numbers below `limit`.
    pub fn below(&mut self, limit: u64, n: u64) -> Vec<i64> {
        (0..n).map(|_| (self.uniform() * limit as f64) as i64).collect()
    }
}

/// Row `step * batch ..` of an endless sequence of shuffled epochs over `0..n`, shuffled by seed and epoch.
pub fn epoch_batch(seed: u64, n: u64, step: u64, batch: u64) -> Vec<i64> {
    let at = |position: u64| {
        let (epoch, offset) = (position / n, position % n);
        shuffled_index(seed ^ epoch.wrapping_mul(0xA24B_AED4_963E_E407), n, offset) as i64
    };
    (step * batch..(step + 1) * batch).map(at).collect()
}

/// Entry `offset` of a pseudo-random permutation of `0..n`: a four-round Feistel network over the next
/// power of four, walked until it lands inside.
fn shuffled_index(key: u64, n: u64, offset: u64) -> u64 {
    let half_bits = (64 - (n.max(2) - 1).leading_zeros()).div_ceil(2);
    let mask = (1_u64 << half_bits) - 1;
    let mut value = offset;
    loop {
        let (mut left, mut right) = (value >> half_bits, value & mask);
        for round in 0..4 {
            let mixed = StepDraws::new(key ^ round, right).bits() & mask;
            (left, right) = (right, left ^ mixed);
        }
        value = (left << half_bits) | right;
        if value < n {
            return value;
        }
    }
}
