//! The embedded text-to-image model: procedural 64x64 scenes, 256 VQ tokens, a LLaMA-style target with
//! caption slots and guidance, and an EAGLE-1 drafter. Trained by `specimen train`; the weights ship in the
//! binary.

mod backbone;
mod config;
mod heads;
mod model;
mod vq;

pub use backbone::TinyBackbone;
pub use config::{TargetConfig, VqConfig};
pub use model::{CaptionEncoder, embedded};
pub use vq::Vq;
