//! Training of the embedded model: VQ tokenizer, target, EAGLE-1 drafter and evaluator, from a seed, on
//! CPU threads, resumable.
//!
//! Read in this order: [`spec`] (what is trained and for how long), [`engine`] (replicas, AdamW, state on
//! disk), [`journal`] (curves and ETA), then one file per stage; [`pipeline`] runs them by name.

pub mod spec;
pub mod engine;
pub mod adam;
pub mod journal;
pub mod corpus;
pub mod stage;
pub mod tokenizer;
pub mod target;
pub mod drafter;
pub mod features;
pub mod pipeline;
