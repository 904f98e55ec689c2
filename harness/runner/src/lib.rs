//! From a plan to images, traces, timings and numbers. Owns the order of work and the files of a run;
//! knows no paper and no tensor operation.
//!
//! Read in this order: [`load`] (models by name), [`generate`] (one image, phase by phase), [`worker`] (the
//! blocks of one shard), [`driver`] (plan, workers, merge, score, seal), [`score`] (metrics of the images),
//! [`summarise`] (the numbers of each cell), [`machine`] (what the manifest says of the computer).

pub(crate) mod cell_images;
pub mod driver;
pub mod error;
pub mod generate;
pub mod load;
pub mod machine;
pub mod scene_scores;
pub mod score;
pub mod stage;
pub mod summarise;
pub mod worker;
