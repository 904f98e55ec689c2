//! A network of random weights that draws 4x4 blocks of colour in milliseconds and takes any prompt: what the
//! tests of the harness itself run on. Its pictures mean nothing, its counts and digests are as real as any
//! model's.
//!
//! On request it fails: a prompt that holds the word `panic` panics, one that holds `abort` takes the whole
//! process down, as a tensor library that runs out of memory does. And it takes its time: `wait 250` in a prompt
//! makes every image of it last 250 ms more, so that clusters can be tried with the latency of another model.

use std::{rc::Rc, time::Duration};

use specimen_decode::{dist::TokenId, drafter::DraftModel, pipeline::Sampling, vectors::TokenVectors};
use specimen_weights::LoadError;
use tch::{Device, Kind, Tensor};

use crate::{
    draft_head::DraftHead,
    draft_time::DraftTime,
    eagle::{EagleConfig, EagleHead, EaglePrefix},
    eagle_draft::EagleDraft,
    eagle3::{Eagle3Config, Eagle3Head},
    generation::ModelGeneration,
    random_weights::RandomWeights,
    target::{DrafterKind, ModelError, Picture, TargetModel, WeightsId},
    tiny::{TargetConfig, TinyBackbone},
    token_tables::{TokenTables, vectors_of},
};

/// Its name in specs.
pub const NAME: &str = "stub";

/// Pixels along an edge of a picture.
pub const SIDE: u32 = 8;

const CONFIG: TargetConfig = TargetConfig {
    d_model: 16,
    n_layers: 1,
    n_heads: 1,
    d_head: 16,
    d_ffn: 32,
    n_vocab: 27,
    grid: 4,
    caption_len: 4,
    n_words: 17,
    rope_base: 100.0,
    norm_eps: 1e-5,
};

/// Fills the slots of the null caption; prompts never use it.
const NULL_WORD: i64 = 16;

/// The network and its heads.
pub struct StubModel {
    backbone: Rc<TinyBackbone>,
    eagle1: Rc<EagleHead>,
    eagle3: Rc<Eagle3Head>,
    tables: TokenTables,
    device: Device,
}

impl StubModel {
    /// The same network every time, in `kind` on `device`.
    ///
    /// # Errors
    /// None in practice: its parameters are made, not read.
    pub fn new(kind: Kind, device: Device) -> Result<Self, LoadError> {
        let _guard = tch::no_grad_guard();
        let mut weights = Placed { weights: RandomWeights::new(1), kind, device };
        let mut backbone = TinyBackbone::new(&mut weights, &CONFIG)?;
        backbone.prepare();
        let config = EagleConfig {
            bias: false,
            input_norm: true,
            output_norm: false,
            prefix: EaglePrefix::ImageOnly,
            n_heads: CONFIG.n_heads,
            d_head: CONFIG.d_head,
            d_ffn: CONFIG.d_ffn,
            norm_eps: CONFIG.norm_eps,
        };
        let mut eagle1 = EagleHead::new(&mut weights, &config, CONFIG.d_model)?;
        eagle1.layer.prepare();
        let config = Eagle3Config {
            taps: [0; 3],
            prefix: EaglePrefix::ImageOnly,
            n_heads: CONFIG.n_heads,
            d_head: CONFIG.d_head,
            d_ffn: CONFIG.d_ffn,
            norm_eps: CONFIG.norm_eps,
        };
        let mut eagle3 = Eagle3Head::new(&mut weights, &config, CONFIG.d_model, CONFIG.n_vocab)?;
        eagle3.prepare();
        let tables = TokenTables::of_codebook(colours(), vectors_of(NAME, backbone.token_table())?);
        let (backbone, eagle1, eagle3) = (Rc::new(backbone), Rc::new(eagle1), Rc::new(eagle3));
        Ok(Self { backbone, eagle1, eagle3, tables, device })
    }
}

/// Its codebook: the colour of every token, `[n_vocab, 3]`, around grey.
fn colours() -> TokenVectors {
    let values = (0..CONFIG.n_vocab as u32).flat_map(|id| digits(id).map(|digit| digit as f32 - 1.0));
    TokenVectors::new(values.collect(), 3).expect("three finite digits a token")
}

/// Red, green and blue of a token, each in `0..3`: its digits to base 3.
fn digits(token: u32) -> [u32; 3] {
    [token / 9, token / 3 % 3, token % 3]
}

/// Random weights on their device.
struct Placed {
    weights: RandomWeights,
    kind: Kind,
    device: Device,
}

impl specimen_weights::ParamSource for Placed {
    fn param(
        &mut self,
        name: &str,
        shape: &[i64],
        init: specimen_weights::Init,
    ) -> Result<Tensor, LoadError> {
        Ok(self.weights.param(name, shape, init)?.to_kind(self.kind).to_device(self.device))
    }
}

/// Four word ids below [`NULL_WORD`] that depend on every byte of the prompt.
fn words(prompt: &str) -> Vec<i64> {
    // FNV-1a, 64 bits: its offset basis and prime.
    let mixed = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = prompt.bytes().fold(0xcbf2_9ce4_8422_2325, mixed);
    (0..CONFIG.caption_len).map(|slot| ((hash >> (8 * slot)) % NULL_WORD as u64) as i64).collect()
}

/// How long an image of this prompt takes more: the milliseconds after the word `wait`, an hour at most.
fn wait_of(prompt: &str) -> Duration {
    const MOST_MS: u64 = 3_600_000;
    let mut words = prompt.split_whitespace().skip_while(|word| *word != "wait").skip(1);
    let ms = words.next().and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis(ms.min(MOST_MS))
}

impl TargetModel for StubModel {
    fn name(&self) -> &str {
        NAME
    }

    /// None: its weights are made from a seed.
    fn weights(&self) -> Vec<WeightsId> {
        Vec::new()
    }

    fn n_tokens(&self) -> usize {
        CONFIG.n_tokens() as usize
    }

    fn open(
        &self,
        prompt: &str,
        sampling: &Sampling,
        max_tree: usize,
    ) -> Result<ModelGeneration, ModelError> {
        let is_asked_to = |word: &str| prompt.split_whitespace().any(|found| found == word);
        if is_asked_to("abort") {
            std::process::abort();
        }
        assert!(!is_asked_to("panic"), "the prompt asks for a panic");
        std::thread::sleep(wait_of(prompt));
        let _guard = tch::no_grad_guard();
        let mut rows = words(prompt);
        let n_rows = if sampling.guidance == 1.0 { 1 } else { 2 };
        if n_rows == 2 {
            rows.extend([NULL_WORD; CONFIG.caption_len as usize]);
        }
        let rows = Tensor::from_slice(&rows).view([n_rows, CONFIG.caption_len]).to_device(self.device);
        let prefix = self.backbone.embed_caption(&rows);
        Ok(ModelGeneration::new(self.backbone.clone(), *sampling, prefix, self.n_tokens(), max_tree))
    }

    fn drafter(
        &self,
        kind: &DrafterKind,
        generation: &ModelGeneration,
        max_run: usize,
    ) -> Result<(Box<dyn DraftModel>, DraftTime), ModelError> {
        let head: Rc<dyn DraftHead> = match kind {
            DrafterKind::Eagle1(None) => self.eagle1.clone(),
            DrafterKind::Eagle3(None) => self.eagle3.clone(),
            other => {
                return Err(ModelError::Drafter {
                    model: NAME.into(),
                    drafter: other.as_written(),
                    known: "eagle1, eagle3".into(),
                });
            }
        };
        let time = DraftTime::new(generation.device());
        let draft = EagleDraft::new(head, generation, max_run, time.clone());
        Ok((Box::new(draft), time))
    }

    fn tables(&self) -> &TokenTables {
        &self.tables
    }

    /// Token `i` is a block of colour: its digits to base 3 are red, green and blue.
    fn picture(&self, tokens: &[TokenId]) -> Picture {
        let grid = CONFIG.grid as u32;
        let block = SIDE / grid;
        let colour = |token: TokenId| digits(token.0).map(|digit| (digit * 127) as u8);
        let at = |y: u32, x: u32| colour(tokens[(y / block * grid + x / block) as usize]);
        let rgb = (0..SIDE).flat_map(|y| (0..SIDE).flat_map(move |x| at(y, x))).collect();
        Picture { width: SIDE, height: SIDE, rgb }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn a_prompt_says_how_long_its_images_wait() {
        let ms = ["a circle", "a circle wait 250", "wait for it", "wait 99999999999"]
            .map(|p| wait_of(p).as_millis());
        assert_eq!(ms, [0, 250, 0, 3_600_000]);
    }

    #[test]
    fn prompts_differ_in_their_words_and_never_use_the_null_word() {
        let all: Vec<Vec<i64>> = (0..100).map(|i| words(&format!("prompt {i}"))).collect();
        assert!(all.iter().flatten().all(|word| (0..NULL_WORD).contains(word)));
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert!(distinct.len() > 90, "{}", distinct.len());
    }

    #[test]
    fn a_picture_shows_its_tokens() {
        let model = StubModel::new(Kind::Float, Device::Cpu).unwrap();
        let tokens: Vec<TokenId> = (0..16).map(TokenId).collect();
        let Picture { width, height, rgb } = model.picture(&tokens);
        assert_eq!((width, height, rgb.len()), (8, 8, 192));
        assert_eq!(rgb[3 * (7 * 8 + 7)..], [127, 254, 0], "the last block is token 15 = 1, 2, 0 to base 3");
    }
}
