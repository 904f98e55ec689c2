//! Speculative decoding of image tokens, free of any tensor library.
//!
//! Read in this order: [`dist`], [`rng`], [`tree`] and [`vectors`] (values); [`generation`], [`drafter`] and
//! [`features`] (what a model must offer); [`verify`] and [`schedule`] (the two decisions a method makes); [`decoder`]
//! (the loop that joins them, with [`clock`] and [`trace`]; [`frontier`] for methods that decode several rows at once); [`method`] (configuration and registry); then one file
//! per paper in [`methods`]. [`pipeline`] and [`toy`] are the exact references everything is tested against. In all
//! formulas `q` is the target's distribution and `p` the drafter's.

// One group a line of the reading order above; rustfmt sorts within a group only.
pub mod dist;
mod noise;
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
