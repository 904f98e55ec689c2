//! Training of the embedded model: VQ tokenizer, target, EAGLE-1 and EAGLE-3 drafters and evaluator, from
//! a seed, on CPU threads, resumable.
//!
//! Read in this order: [`spec`] (what is trained and for how long), [`engine`] (replicas, AdamW, state on
//! disk), [`journal`] (curve and ETA), [`unroll`] and [`head_loss`] (what all heads are
//! trained on), [`own_images`] (what some are trained with), then one file per stage; [`pipeline`] runs them by name.

pub mod adam;
pub mod corpus;
pub mod drafter;
pub mod engine;
pub mod features;
pub mod further;
pub mod head_loss;
pub mod journal;
pub mod own_images;
pub mod pipeline;
pub mod spec;
pub mod stage;
pub mod target;
pub mod tokenizer;
pub mod unroll;
