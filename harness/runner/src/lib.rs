//! From a plan to images, traces, timings and numbers. Owns the order of work and the files of a run;
//! knows no paper and no tensor operation.
//!
//! Read in this order: [`load`] (models by name), [`build`] (a method over a model), [`generate`] (one image,
//! phase by phase), [`out_of_memory`] (what is said where it does not fit), `external_maker` (one image by another process), [`lossless`] (which methods keep the law),
//! [`worker`], `claim` and `attempt` (the blocks of one shard), [`shard_map`], [`executor`], [`local`] and [`slurm`] (workers and
//! their shares), [`room`] (a disk that is full), [`driver`] (plan, workers, merge, score, seal), `mend` and `grow` (a run that is taken up again: damaged, or asked for more), [`score`] (metrics of the images),
//! [`protocol_scores`] (those under a named protocol), `diagnose` (a look into a few of them), [`summarise`] (the
//! numbers of each cell), [`import`] (images made elsewhere), [`replay`] (records made again), [`probe`] (a look
//! ahead), [`machine`] (what the manifest says of the
//! computer).

mod allocation;
mod attempt;
pub mod build;
pub(crate) mod cell_images;
mod claim;
mod diagnose;
mod difference;
pub mod driver;
mod elsewhere;
pub mod error;
pub mod executor;
mod external_maker;
pub mod generate;
mod gpus;
mod grow;
mod heart;
pub mod import;
pub mod load;
mod load_meter;
pub mod local;
pub mod lock;
pub mod lossless;
pub mod machine;
mod maker;
mod mend;
pub mod out_of_memory;
pub mod probe;
pub mod protocol_scores;
pub mod replay;
pub mod room;
pub mod scene_scores;
pub mod score;
pub mod shard_map;
pub mod slurm;
pub mod stage;
pub mod stop;
pub mod summarise;
mod trust;
pub mod worker;
mod workplace;
