//! Liquid (Wu et al., arXiv 2412.04332): Gemma-7B with the codes of Chameleon's picture tokenizer behind its words, an image of
//! 512 by 512 pixels in 1,024 of them, row by row.
//!
//! Built from what `transformers` (Apache-2.0) computes of a Gemma and from the facts of the authors' script (MIT,
//! FoundationVision/Liquid@4609c47), whose files are `Junfeng5/Liquid_V1_7B`. It was chosen over Lumina-mGPT 2.0 because its
//! pictures need no decoder that was not here before.

mod config;
pub mod made;
mod model;
mod prompt;

pub use config::LiquidConfig;
pub use model::{Liquid, LiquidWeights};
pub use prompt::LiquidPrompt;
