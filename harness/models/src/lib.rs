//! The networks, one folder a model, behind the decoder's seam. Knows tensors, knows no paper's acceptance
//! rule.
//!
//! Read in this order: [`backbone`] and [`kv`] (what a network offers), [`llama`] (the layer most are made
//! of), [`laws`], [`feature_tap`] and [`generation`] (one image under way), [`draft_head`], [`eagle`], [`eagle3`],
//! [`eagle_draft`] and [`model_draft`] (what drafts), [`target`] and [`token_tables`] (what the runner sees), then
//! one folder per model and the [`catalog`] of them.

// One group a line of the reading order above; rustfmt sorts within a group only.
pub mod backbone;
pub mod kv;

pub mod llama;
pub mod mirror;

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

pub mod model_draft;

pub mod target;
pub mod token_tables;

pub mod chameleon;
pub mod igpt;
pub mod random_weights;
pub mod stub;
pub mod tiny;

pub mod catalog;
