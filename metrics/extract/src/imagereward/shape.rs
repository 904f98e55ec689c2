//! What a file of ImageReward's weights says about its network.

use specimen_weights::{Checkpoint, LoadError};

use crate::{
    extractor::ExtractError,
    imagereward::{NAME, WordPieces, encoder, vision},
    transformer::{Activation, StackShape},
};

/// Pixels along an edge of a picture.
pub const N_SIDE: usize = 224;
/// Pixels along an edge of a patch.
pub(super) const PATCH: i64 = 16;
/// Patches along an edge of a picture.
pub(super) const GRID: i64 = N_SIDE as i64 / PATCH;
/// Width of an attention head in both stacks.
const HEAD: i64 = 64;

/// Shape of both stacks, and what the text has room for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageRewardShape {
    /// Of the picture.
    pub vision: StackShape,
    /// Of the text.
    pub text: StackShape,
    /// Tokens of the vocabulary.
    pub n_words: i64,
    /// Most tokens of a text.
    pub n_positions: i64,
}

impl ImageRewardShape {
    /// ViT-L/16 and BERT-base.
    pub const PUBLISHED: Self = Self::new([1024, 24, 4096], [768, 12, 3072], 30_524, 512);

    /// Width, depth and width inside the MLP of both stacks, and the room for text.
    pub const fn new(vision: [i64; 3], text: [i64; 3], n_words: i64, n_positions: i64) -> Self {
        Self { vision: stack(vision, 1e-6), text: stack(text, 1e-12), n_words, n_positions }
    }

    /// The shape of the network in `checkpoint`.
    pub fn of(checkpoint: &Checkpoint) -> Result<Self, LoadError> {
        let depth = |norm: &dyn Fn(usize) -> String| {
            (0..).take_while(|&at| checkpoint.shape(&norm(at)).is_some()).count() as i64
        };
        let [width, _, patch, _] = shape_of(checkpoint, &vision::patch())?;
        let [_, n_tokens, _] = shape_of(checkpoint, &vision::positions())?;
        let [mlp, _] = shape_of(checkpoint, &vision::mlp())?;
        let [n_words, text_width] = shape_of(checkpoint, &encoder::words())?;
        let [n_positions, _] = shape_of(checkpoint, &encoder::positions())?;
        let [text_mlp, _] = shape_of(checkpoint, &encoder::mlp())?;
        let config = |reason: String| LoadError::Config { path: checkpoint.path().to_owned(), reason };
        if (patch, n_tokens) != (PATCH, 1 + GRID * GRID) {
            return Err(config(format!(
                "{NAME} has patches of {PATCH} in {N_SIDE} pixels, {} tokens; these weights have patches of {patch} and \
                 {n_tokens} tokens",
                1 + GRID * GRID
            )));
        }
        if let Some(odd) = [width, text_width].into_iter().find(|width| *width < HEAD || width % HEAD != 0) {
            return Err(config(format!("heads of {HEAD} do not make a width of {odd}")));
        }
        let vision = [width, depth(&vision::norm), mlp];
        let text = [text_width, depth(&encoder::norm), text_mlp];
        Ok(Self::new(vision, text, n_words, n_positions))
    }

    /// As identities name a network of this shape: widths and depths where they are not the published ones.
    pub(super) fn words(&self) -> String {
        let Self { vision, text, .. } = self;
        let is_published = (*vision, *text) == (Self::PUBLISHED.vision, Self::PUBLISHED.text);
        let stack = |stack: &StackShape| format!("{}x{}", stack.width, stack.depth);
        let stand_in = format!("[{},{}]", stack(vision), stack(text));
        format!("{NAME}{}", if is_published { "" } else { &stand_in })
    }

    /// Fails unless `words` are as many as the network has rows for, and it has positions for `n_tokens`.
    pub(super) fn check(&self, words: &WordPieces, n_tokens: usize) -> Result<(), ExtractError> {
        if words.n_words() as i64 != self.n_words {
            let expected = self.n_words - WordPieces::ADDED.len() as i64;
            return Err(crate::extractor::vocabulary(
                words.path(),
                format!(
                    "expected the vocabulary of the weights, {expected} tokens, found {}; take vocab.txt of bert-base-uncased",
                    words.n_words() - WordPieces::ADDED.len()
                ),
            ));
        }
        if !(2..=self.n_positions).contains(&(n_tokens as i64)) {
            return Err(crate::extractor::batch(
                NAME,
                format!("prompts of 2 to {} tokens", self.n_positions),
                format!("{n_tokens} in the protocol"),
            ));
        }
        Ok(())
    }
}

const fn stack([width, depth, mlp]: [i64; 3], eps: f64) -> StackShape {
    StackShape { width, depth: depth as usize, n_heads: width / HEAD, mlp, activation: Activation::Gelu, eps }
}

fn shape_of<const N: usize>(checkpoint: &Checkpoint, name: &str) -> Result<[i64; N], LoadError> {
    let found = checkpoint.shape(name).and_then(|shape| shape.try_into().ok());
    found.ok_or_else(|| LoadError::Config {
        path: checkpoint.path().to_owned(),
        reason: format!(
            "no tensor `{name}` with {N} axes; these are not the weights of ImageReward, which are in ImageReward.pt"
        ),
    })
}
