//! From image tokens to pixels: the sequences that tokens stand in, the decoders that several families share, and rounding
//! to bytes.

pub mod grammar;
pub mod pixels;
pub mod vq16;
pub(crate) mod vq_blocks;
