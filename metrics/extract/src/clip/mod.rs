//! CLIP (Radford et al., arXiv 2103.00020): a tower for pictures and one for texts, whose outputs are in one space.
//!
//! Read in this order: [`shape`] (what a file of weights says about its network), [`vision`], [`clean`] and
//! [`tokenizer`] (from a text to ids), [`text`].

pub mod shape;

pub mod vision;

pub mod clean;

pub mod tokenizer;

pub mod text;
