//! Training of the embedded model: VQ tokenizer, target, EAGLE-1 drafter and evaluator, from a seed, on
//! CPU threads, resumable.
//!
//! Read in this order: [`spec`] (what is trained and for how long), [`engine`] (replicas, AdamW, state on
//! disk), [`journal`] (curves and ETA), then one file per stage; [`pipeline`] runs them by name.

pub mod adam;
pub mod corpus;
pub mod drafter;
pub mod engine;
pub mod features;
pub mod journal;
pub mod pipeline;
pub mod spec;
pub mod stage;
pub mod target;
pub mod tokenizer;
