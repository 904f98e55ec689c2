//! The networks behind the decoder's seam: random weights for what must hold for any network, real weights
//! (found through `SPECIMEN_DATA`) for what must hold of the published ones.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

mod fused;
mod golden;
mod real_data;
mod support;

mod batch;
mod catalog;
mod compared_files;
mod coupled_seeds;
mod decoding;
mod distributions;
mod eagle_draft;
mod golden_eagle3;
mod golden_emu3;
mod golden_liquid;
mod golden_llama;
mod golden_models;
mod golden_text;
mod guidance;
mod kernels;
mod kv_cache;
mod likelihood;
mod mirror;
mod model_draft;
mod placed;
mod published_files;
mod published_igpt;
mod published_sizes;
mod skipping;
mod taps;
mod tiny_heads;
mod toys;
mod tree_mask;
