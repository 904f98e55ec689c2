//! LlamaGen (Sun et al., arXiv 2406.06525): a LLaMA over VQ tokens, conditioned on a class or on features of a caption
//! in slots before the image, and the heads that draft for it.

mod config;
mod heads;
mod made;
mod model;
mod network;
mod published;
pub mod t5;

pub use config::{Condition, LlamaGenConfig};
pub use heads::drafter_config;
pub use model::{LlamaGen, cut};
pub use network::{LlamaGenNames, LlamaGenNetwork};
pub use published::LlamaGenWeights;
