//! The networks, behind the decoder's seam. Knows tensors, knows no paper's acceptance rule.
//!
//! Read in this order: [`seam`] (what a network offers, one image under way, and the loaded model that the runner
//! sees), [`llama`] (the layer and the stack that most networks are made of), [`heads`] (what drafts), [`files`]
//! (weights as others publish them), [`picture`] (from tokens to pixels), [`families`] (one folder or file a family),
//! then the [`catalog`], which opens any of them by name.

// One group a line of the reading order above; rustfmt sorts within a group only.
pub mod seam;

pub mod llama;

pub mod heads;

pub mod files;

pub mod picture;

pub mod families;

pub mod catalog;
