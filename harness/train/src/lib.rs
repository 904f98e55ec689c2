//! Training of heads that draft for any model, and of the embedded model: VQ tokenizer, target, EAGLE-1 and EAGLE-3
//! drafters and evaluator; from a seed, resumable.
//!
//! Heads of any model: [`head_spec`] (what is trained), [`head_estimate`] and [`memory_estimate`] (what that takes), [`head_trainer`] (the training),
//! [`lesson`] (what the target gives), [`unroll`] and [`head_loss`] (what the head is trained on; `checkpoints` bounds the
//! memory of it), [`model_images`] (with what), [`target_features`] and [`feature_export`] (what the target gives, kept on
//! disk), [`trial`] (what it is worth).
//!
//! The embedded model:
//! Read in this order: [`spec`] (what is trained and for how long), [`engine`] (replicas, AdamW, state on
//! disk), [`journal`] (curve and ETA), [`unroll`] and [`head_loss`] (what all heads are
//! trained on), [`own_images`] (what some are trained with), then one file per stage; [`pipeline`] runs them by name.

pub mod adam;
mod checkpoints;
pub mod corpus;
pub mod drafter;
pub mod engine;
pub mod feature_export;
pub mod features;
pub mod further;
pub mod head_estimate;
pub mod head_loss;
pub mod head_spec;
pub mod head_trainer;
pub mod journal;
pub mod lesson;
pub mod memory_estimate;
pub mod model_images;
pub mod own_images;
pub mod pair;
pub mod pipeline;
mod progress;
pub mod spec;
pub mod stage;
mod stored_words;
pub mod target;
pub mod target_features;
pub mod tokenizer;
pub mod trial;
pub mod unroll;
