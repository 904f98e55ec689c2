//! The Chameleon family: Lumina-mGPT and Anole, on one transformer, one picture decoder and one EAGLE-1 head.
//!
//! Built from the equations of the papers (Chameleon Team, arXiv 2405.09818; Lumina-mGPT, arXiv 2408.02657; Anole,
//! arXiv 2407.06135) and from what transformers (Apache-2.0) computes. Read `recipe.rs`, `config.rs` and
//! `backbone.rs` first.

mod backbone;
mod config;
mod files;
mod head;
mod heads;
mod keys;
mod layer;
pub mod made;
mod model;
mod recipe;
mod vocabulary;
mod vqgan;

pub use backbone::{ChameleonImage, ChameleonNetwork, ImageWords};
pub use config::{ChameleonConfig, QkNormShape};
pub use files::{ModelFiles, Source};
pub use head::ChameleonHead;
pub(crate) use heads::layer_of;
pub use keys::{KeyLayout, inventory};
pub use model::Chameleon;
pub use recipe::{PromptFormat, Recipe};
pub use vocabulary::{Vocabulary, code_name, names};
pub use vqgan::{Vqgan, VqganConfig};
