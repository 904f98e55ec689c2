//! Procedural captioned scenes: 64x64 RGB pictures of one to three coloured shapes on a ground under
//! a sky, with a caption in a closed vocabulary and the attribute labels an evaluator learns from.
//!
//! A scene is a pure function of `(seed, index)`. All arithmetic is integer or IEEE `+ - * /` and
//! `sqrt` (no libm call), so the same pair gives the same bytes on every machine. Texture scale
//! (2 to 8 pixels) against 4-pixel patches is what makes visual tokens interchangeable.

mod attributes;
mod caption;
mod ground;
mod noise;
mod render;
mod rng;
mod scene;
mod shape;
mod sheet;
mod sky;
mod vocabulary;

#[cfg(test)]
mod tests;

pub use attributes::{
    Attributes, Colour, Ground, Labels, N_GROUNDS, N_LOGITS, N_OBJECT_KINDS, N_RELATIONS, N_SKIES, Relation,
    Shape, Size, Sky,
};
pub use caption::parse_caption;
pub use scene::{Object, Scene};
pub use sheet::sheet;
pub use vocabulary::{CaptionError, NULL_ID, PAD_ID, UnknownWord, Vocabulary, WORDS};

/// Pixels along one side of a scene.
pub const SIDE: usize = 64;
/// Pixels along one side of a patch, the area of one visual token.
pub const PATCH: usize = 4;
/// Patches along one side of a scene.
pub const GRID: usize = SIDE / PATCH;
/// Caption slots, padding included.
pub const CAPTION_LEN: usize = 20;
/// Seed of the training scenes.
pub const TRAIN_SEED: u64 = 1;
/// Seed of the validation scenes.
pub const VAL_SEED: u64 = 2;
