//! The networks, one folder a model, behind the decoder's seam. Knows tensors, knows no paper's acceptance
//! rule.
//!
//! Read in this order: [`backbone`] and [`kv`] (what a network offers), [`llama`] (the layer most are made
//! of), [`image_llama`] (a stack of it over image tokens), [`laws`], [`feature_tap`] and [`generation`] (one
//! image under way), [`draft_head`], [`eagle`], [`eagle3`], [`lantern_head`], [`eagle_draft`] and [`model_draft`] (what drafts), [`target`], [`feature_rows`] and [`token_tables`] (what the runner sees),
//! [`published_names`] and [`published_files`] (weights as others publish them), then one folder per model and the
//! [`catalog`] of them.

// One group a line of the reading order above; rustfmt sorts within a group only.
pub mod backbone;
pub mod kv;

pub mod llama;
pub mod mirror;

pub mod image_llama;
pub mod padded;
pub mod rotary;

pub mod laws;
mod mask;

pub mod feature_tap;
pub mod generation;

pub mod clock;
pub mod draft_head;
pub mod draft_time;
pub mod eagle;
pub mod eagle3;
pub mod eagle_draft;
pub mod lantern_head;

pub mod model_draft;

pub mod feature_rows;
pub mod target;
pub mod token_tables;

pub mod inventory;
pub mod placed;
pub mod published_files;
pub mod published_names;
pub mod several_files;
pub mod sidecar;

pub mod pixels;
pub mod text_tokenizer;
pub mod vq16;
mod vq_blocks;

pub mod chameleon;
pub mod igpt;
pub mod janus;
pub mod llamagen;
pub mod random_weights;
pub mod stub;
pub mod tiny;

pub mod catalog;
