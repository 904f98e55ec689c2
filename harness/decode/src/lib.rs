//! Speculative decoding of image tokens, free of any tensor library.
//!
//! Read in this order: [`dist`], [`rng`], [`tree`] and [`vectors`] (values); [`generation`], [`drafter`] and
//! [`features`] (what a model must offer); [`verify`] and [`schedule`] (the two decisions a method makes); [`decoder`]
//! (the loop that joins them, with [`clock`] and [`trace`]; [`frontier`] for methods that decode several rows at once); [`method`] (configuration and registry); then one file
//! per paper in [`methods`]. [`pipeline`] and [`toy`] are the exact references everything is tested against. In all
//! formulas `q` is the target's distribution and `p` the drafter's.
//!
//! A lossless method decodes an image of the toy, which stands for a model, in fewer forwards than there are tokens:
//!
//! ```
//! use specimen_decode::clock::MonotonicClock;
//! use specimen_decode::decoder::{Method, decode};
//! use specimen_decode::methods::{eagle1::StaticTreeDrafter, sd::{Lossless, chain}};
//! use specimen_decode::pipeline::{FilterOrder, Sampling};
//! use specimen_decode::rng::Uniforms;
//! use specimen_decode::schedule::AlwaysVerify;
//! use specimen_decode::toy::{ToyDraftModel, ToyGeneration, ToyModel};
//!
//! let sampling = Sampling {
//!     temperature: 1.0, top_k: 0, top_p: 1.0, guidance: 3.0, filter_order: FilterOrder::TopKThenTopP, coupled: false,
//! };
//! let target = ToyModel { seed: 1, n_vocab: 16, spread: 0.2, sampling };
//! let drafter = ToyModel { seed: 2, ..target.clone() };
//! let mut method = Method {
//!     drafter: Box::new(StaticTreeDrafter::new(Box::new(ToyDraftModel::new(drafter)), chain(3))),
//!     rule: Box::new(Lossless),
//!     scheduler: Box::new(AlwaysVerify),
//!     frontier: None,
//! };
//! let mut image = ToyGeneration::new(target, 64);
//! let decoded = decode(&mut method, &mut image, &Uniforms::new(7), &MonotonicClock::new());
//! assert_eq!(decoded.tokens.len(), 64);
//! assert!(decoded.nfe() < 64, "{} forwards", decoded.nfe());
//! ```

#![warn(clippy::missing_errors_doc, clippy::must_use_candidate)]

// One group a line of the reading order above; rustfmt sorts within a group only.
pub mod dist;
pub mod noise;
pub mod rng;
pub mod tree;
pub mod vectors;
pub mod without_replacement;

pub mod generation;

pub mod drafter;
pub mod features;

pub mod verify;

pub mod schedule;

pub mod decoder;
pub mod frontier;

pub mod clock;
pub mod trace;

pub mod method;
pub mod trees;

pub mod methods;

pub mod pipeline;
pub mod toy;
