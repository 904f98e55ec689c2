//! The images of one run, prompt by prompt: the grid of images, and where each token came from.

pub(crate) mod acceptance_map;
pub(crate) mod by_prompt;
pub(crate) mod grid;
