//! Emu3-Gen (Wang et al., arXiv 2409.18869): a LLaMA over one vocabulary of words and picture codes, whose heads share keys and
//! values, and a MoVQ decoder for frames of a video, of which an image is the first.
//!
//! Built from what `transformers` (Apache-2.0) computes and from the authors' code (Apache-2.0, baaivision/Emu3@f6ea9aa), whose
//! files are `BAAI/Emu3-Gen` and `BAAI/Emu3-VisionTokenizer`; `BAAI/Emu3-Gen-hf` is both in one.

mod config;
pub mod made;
mod model;
mod names;
mod prompt;
mod tiktoken;
mod vq;
mod vq_names;

pub use config::Emu3Config;
pub use model::{Emu3, Emu3Weights};
pub use names::Emu3Names;
pub use prompt::Emu3Prompt;
pub use vq::{Emu3Vq, Emu3VqConfig};
pub use vq_names::VqNames;
