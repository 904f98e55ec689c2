//! Janus-Pro (Chen et al., arXiv 2501.17811): a LLaMA that reads words and paints with image tokens of its own, 576 of
//! them, through an aligner on the way in and a second head on the way out.

mod config;
mod heads;
mod made;
mod model;
mod network;
mod published;

pub use config::JanusConfig;
pub use heads::drafter_config;
pub use model::{Janus, JanusPrompt};
pub use network::{JanusNames, JanusNetwork};
pub use published::JanusWeights;
