//! Numbers from features, counts and scores: the statistics of the benchmark, in pure Rust and f64.
//!
//! Nothing here knows a tensor, a method or a file layout. A mergeable *state* (features' moments, decode totals,
//! scores, hit counts) and the final *value* are different types; states are merged in plan order over fixed blocks,
//! so the number of shards or threads never changes a digit. A value that cannot be computed is an error that says
//! why, or an `Option` whose absence is explained where it is declared; no function returns NaN.

pub mod error;
pub mod statistic;

pub mod frechet;
pub mod gaussian;
pub mod kid;
pub mod moments;

pub mod averages;
pub mod order_statistics;
pub mod outliers;

pub mod bootstrap;
pub mod counter_rng;
pub mod paired;

pub mod gamma;
pub mod normal;
pub mod significance;
pub mod student;

pub mod accuracy;
pub mod cosine_score;

pub mod decode_metrics;
pub mod predicted_speedup;

pub mod npy;

pub use error::StatsError;
pub use statistic::Statistic;
