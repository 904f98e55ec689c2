//! One folder or file a family of models: its networks, its prompt format and its loading.

// One group a line of the reading order above; rustfmt sorts within a group only.
pub mod chameleon;
pub mod emu3;
pub mod igpt;
pub mod janus;
pub mod liquid;
pub mod llamagen;
pub mod stub;
pub mod tiny;

pub mod published;
pub mod text_tokenizer;
mod word_model;
pub mod word_prompt;
