//! A network of random weights that draws 4x4 blocks of colour in milliseconds and takes any prompt: what the
//! tests of the harness itself run on. Its pictures mean nothing, its counts and digests are as real as any
//! model's.
//!
//! On request it fails: a prompt that holds the word `panic` panics, one that holds `abort` takes the whole
//! process down, as a tensor library that runs out of memory does. While the file FILE is there, a prompt with
//! `vanish FILE` fails as libtorch does when a GPU vanishes. And it takes its time: `wait 250` in a prompt
//! makes every image of it last 250 ms more, so that clusters can be tried with the latency of another model.

use std::{path::Path, rc::Rc, time::Duration};

use specimen_decode::{dist::TokenId, frontier::PictureRows, vectors::TokenVectors};
use specimen_weights::LoadError;
use tch::{Device, Kind, Tensor};

use super::tiny::{TargetConfig, TinyBackbone};
use crate::{
    files::{placed::Placed, random_weights::RandomWeights},
    heads::{
        described_head::no_heads,
        draft_head::DraftHead,
        drafters::{DrafterKind, Heads},
        eagle::{EagleConfig, EagleHead, EaglePrefix},
        eagle3::{Eagle3Config, Eagle3Head},
    },
    seam::{
        loaded_model::{LoadedModel, Picture, Prefix, PromptFormat},
        token_tables::{TokenTables, vectors_of},
    },
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

/// The same network every time, in `kind` on `device`.
pub fn open(kind: Kind, device: Device) -> Result<LoadedModel, LoadError> {
    let _guard = tch::no_grad_guard();
    let mut random = RandomWeights::new(1);
    let mut weights = Placed::new(&mut random, kind, device);
    let mut backbone = TinyBackbone::new(&mut weights, &CONFIG)?;
    backbone.prepare();
    let config = EagleConfig {
        bias: false,
        input_norm: true,
        output_norm: false,
        prefix: EaglePrefix::ImageOnly,
        n_heads: CONFIG.n_heads,
        n_kv_heads: None,
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
        n_kv_heads: None,
        d_head: CONFIG.d_head,
        d_ffn: CONFIG.d_ffn,
        norm_eps: CONFIG.norm_eps,
    };
    let mut eagle3 = Eagle3Head::new(&mut weights, &config, CONFIG.d_model, CONFIG.n_vocab)?;
    eagle3.prepare();
    let mut heads = Heads::default();
    heads.add_head(DrafterKind::Eagle1(None), Rc::new(eagle1));
    heads.add_head(DrafterKind::Eagle3(None), Rc::new(eagle3));
    Ok(LoadedModel {
        name: NAME,
        n_tokens: CONFIG.n_tokens() as usize,
        rows: PictureRows::square(CONFIG.n_tokens() as usize),
        forced: Vec::new(),
        tables: TokenTables::of_codebook(colours(), vectors_of(NAME, backbone.token_table())?),
        prompt: prompt_format(Rc::new(backbone), device),
        painter: Box::new(paint),
        heads,
        describe_head: no_heads(NAME),
        weights: Vec::new(),
        warnings: Vec::new(),
        steps: None,
        cut: None,
    })
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

/// Four word ids below [`NULL_WORD`] that depend on every byte of the prompt.
fn words(prompt: &str) -> Vec<i64> {
    // FNV-1a, 64 bits: its offset basis and prime.
    let mixed = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    let hash = prompt.bytes().fold(0xcbf2_9ce4_8422_2325, mixed);
    (0..CONFIG.caption_len).map(|slot| ((hash >> (8 * slot)) % NULL_WORD as u64) as i64).collect()
}

/// What follows a word in a prompt.
fn word_after<'a>(prompt: &'a str, word: &str) -> Option<&'a str> {
    prompt.split_whitespace().skip_while(|found| *found != word).nth(1)
}

/// How long an image of this prompt takes more: the milliseconds after the word `wait`, an hour at most.
fn wait_of(prompt: &str) -> Duration {
    const MOST_MS: u64 = 3_600_000;
    let ms = word_after(prompt, "wait").and_then(|word| word.parse::<u64>().ok()).unwrap_or(0);
    Duration::from_millis(ms.min(MOST_MS))
}

/// Prompts as word ids, with a row of null words under guidance; does what the words of a prompt ask for.
fn prompt_format(backbone: Rc<TinyBackbone>, device: Device) -> PromptFormat {
    Box::new(move |prompt, sampling| {
        let is_asked_to = |word: &str| prompt.split_whitespace().any(|found| found == word);
        if is_asked_to("abort") {
            std::process::abort();
        }
        assert!(!is_asked_to("panic"), "the prompt asks for a panic");
        let vanishes = word_after(prompt, "vanish").is_some_and(|file| Path::new(file).exists());
        assert!(!vanishes, "Torch(\"CUDA error: an illegal memory access was encountered\")");
        std::thread::sleep(wait_of(prompt));
        let mut rows = words(prompt);
        if sampling.guidance != 1.0 {
            rows.extend([NULL_WORD; CONFIG.caption_len as usize]);
        }
        let rows = Tensor::from_slice(&rows).view([-1, CONFIG.caption_len]).to_device(device);
        Ok(Prefix { slots: backbone.embed_caption(&rows), backbone: backbone.clone() })
    })
}

/// Token `i` is a block of colour: its digits to base 3 are red, green and blue.
fn paint(tokens: &[TokenId]) -> Picture {
    let grid = CONFIG.grid as u32;
    let block = SIDE / grid;
    let colour = |token: TokenId| digits(token.0).map(|digit| (digit * 127) as u8);
    let at = |y: u32, x: u32| colour(tokens[(y / block * grid + x / block) as usize]);
    let rgb = (0..SIDE).flat_map(|y| (0..SIDE).flat_map(move |x| at(y, x))).collect();
    Picture { width: SIDE, height: SIDE, rgb }
}

#[cfg(test)]
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
        let tokens: Vec<TokenId> = (0..16).map(TokenId).collect();
        let Picture { width, height, rgb } = paint(&tokens);
        assert_eq!((width, height, rgb.len()), (8, 8, 192));
        assert_eq!(rgb[3 * (7 * 8 + 7)..], [127, 254, 0], "the last block is token 15 = 1, 2, 0 to base 3");
    }
}
