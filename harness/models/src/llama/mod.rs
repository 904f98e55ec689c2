//! What most networks are made of: one LLaMA [`layer`], its arithmetic as processors ([`mirror`], `linear`) and GPUs ([`fused`])
//! like it, rotary positions ([`rotary`]), a stack of layers over image tokens ([`image_llama`]) and one over words too ([`word_llama`]), and prompts of several lengths
//! ([`padded`]).

// One group a line of the reading order above; rustfmt sorts within a group only.
pub mod fused;
pub mod layer;
pub(crate) mod linear;
pub mod mirror;

pub mod image_llama;
pub mod padded;
pub mod rotary;
pub mod word_llama;
