//! Between the decoder and the networks.
//!
//! Read in this order: [`backbone`] and [`kv`] (what a network offers), [`distributions`] (from logits to
//! probabilities), [`transfers`] (what crosses to the device and back), [`feature_tap`] and [`generation`] (one
//! image under way), [`static_steps`] and [`captures`] (its steps as CUDA graphs), [`batch`] (several images in one step),
//! [`token_tables`] and [`feature_rows`] (what methods and diagnostics read besides), [`loaded_model`] (a whole model),
//! [`likelihood`].

// One group a line of the reading order above; rustfmt sorts within a group only.
pub mod backbone;
pub mod kv;

pub mod distributions;
pub(crate) mod mask;
pub mod transfers;

pub mod feature_tap;
pub mod generation;

pub mod batch;
pub mod captures;
pub mod static_steps;

pub mod clock;
pub mod draft_time;

pub mod feature_rows;
mod neighbour_store;
pub mod token_tables;

pub mod loaded_model;
pub mod model_error;

pub mod likelihood;
