//! Numbers from features, counts and scores: the statistics of the benchmark, in pure Rust and f64.
//!
//! Nothing here knows a tensor, a method or a file layout. A mergeable *state* (features' moments, decode totals,
//! scores, hit counts) and the final *value* are different types; states are merged in plan order over fixed blocks,
//! so the number of shards or threads never changes a digit. A value that cannot be computed is an error that says
//! why, or an `Option` whose absence is explained where it is declared; no function returns NaN.
//!
//! A Frechet distance from rows of features:
//!
//! ```
//! use specimen_stats::{StatsError, features::FeatureRows, frechet::frechet_distance_factored, gaussian::FactoredGaussian};
//!
//! # fn main() -> Result<(), StatsError> {
//! let real = FeatureRows::new(vec![0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 2.0, 2.0], 2)?;
//! let generated = FeatureRows::new(vec![1.0, 0.0, 3.0, 0.0, 1.0, 2.0, 3.0, 2.0], 2)?;
//! let reference = FactoredGaussian::of_rows(&real)?;
//! let distance = frechet_distance_factored(&reference, &FactoredGaussian::of_rows(&generated)?)?;
//! assert!((distance.mean_term - 1.0).abs() < 1e-12 && distance.covariance_term < 1e-12);
//! # Ok(())
//! # }
//! ```

pub mod error;
pub mod statistic;

mod blocks;
pub mod features;
pub mod moments;

mod reflections;
mod symmetric_eigenvalues;
mod tridiagonal;

pub mod frechet;
pub mod gaussian;

mod kernel_sums;
mod unit_rows;

pub mod cmmd;
pub mod kid;
pub mod kid_subsets;

mod distances;
mod manifold;
pub mod prdc;
pub mod realism;

pub mod inception_score;
pub mod vendi;

pub mod averages;
pub mod order_statistics;
pub mod outliers;

pub mod bootstrap;
pub mod counter_rng;
pub mod jackknife;
pub mod median_interval;
pub mod numpy_random;
pub mod paired;

pub mod fid_infinity;
pub mod frechet_interval;
pub mod paired_features;

pub mod chi_square_power;
pub mod gamma;
pub mod multiple_tests;
pub mod normal;
pub mod significance;
pub mod student;

pub mod accuracy;
pub mod clip_scalings;
pub mod cosine_score;

pub mod decode_metrics;
pub mod predicted_speedup;

pub mod npy;
pub mod npy_rows;
pub mod npy_write;
pub mod npz;
pub mod statistics_file;

pub use error::StatsError;
pub use statistic::Statistic;
