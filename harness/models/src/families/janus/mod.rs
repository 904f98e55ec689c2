//! Janus-Pro (Chen et al., arXiv 2501.17811): a LLaMA that reads words and paints with image tokens of its own, 576 of
//! them, through an aligner on the way in and a second head on the way out.

mod config;
mod made;
mod model;
mod network;

pub use config::JanusConfig;
pub use model::{Janus, JanusPrompt, JanusWeights};
pub use network::{JanusNames, JanusNetwork};
