//! From a plan to images, traces, timings and numbers. Owns the order of work and the files of a run;
//! knows no paper and no tensor operation.
//!
//! Read in this order: [`plan`] (the plan on disk, cut into shards), [`images`] (one image: models, methods,
//! phases, other programs), [`external`] (one image asked of another process), [`process`] (locks, requests to stop, a full disk), [`work`] (a worker: the
//! blocks of one shard), [`driver`] (a whole run: workers, merge, scores, seal), [`slurm`] (workers on a
//! cluster), [`score`], [`protocol_scores`], `pair_scores` and `imported_scores` (metrics of the images),
//! [`cell_pairs`] (those of two cells, side by side), [`diagnostics`] (a look into a few of
//! them), [`recheck`] (a run computed again from its rows),
//! [`import`] (images made elsewhere), [`machine`] (what the manifest says of the computer),
//! [`lossless`] (which methods sample from the target's distribution).

pub mod cell_pairs;
pub mod diagnostics;
pub mod driver;
pub mod error;
pub mod external;
pub mod images;
pub mod import;
mod imported_scores;
pub mod lossless;
pub mod machine;
mod pair_scores;
pub mod plan;
pub mod process;
pub mod protocol_scores;
pub mod recheck;
pub mod score;
pub mod slurm;
mod token_pairs;
pub mod work;
