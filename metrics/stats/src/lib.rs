//! Numbers from features, counts and scores: the statistics of the benchmark, in pure Rust and f64.
//!
//! Nothing here knows a tensor, a method or a file layout. A mergeable *state* (features' moments, decode totals,
//! scores, hit counts) and the final *value* are different types; states are merged in plan order over fixed blocks,
//! so the number of shards or threads never changes a digit. A value that cannot be computed is an error that says
//! why, or an `Option` whose absence is explained where it is declared; no function returns NaN.
//!
//! Read [`features`] first (rows, checked once), then the statistic that you want in the list of modules.
//! A Frechet distance and precision and recall from rows of features:
//!
//! ```
//! use specimen_stats::{StatsError, features::FeatureRows, frechet::frechet_distance_factored, gaussian::FactoredGaussian};
//! use specimen_stats::prdc::prdc;
//!
//! # fn main() -> Result<(), StatsError> {
//! let real = FeatureRows::new(vec![0.0, 0.0, 2.0, 0.0, 0.0, 2.0, 2.0, 2.0], 2)?;
//! let generated = FeatureRows::new(vec![1.0, 0.0, 3.0, 0.0, 1.0, 2.0, 3.0, 2.0], 2)?;
//! let reference = FactoredGaussian::of_rows(&real)?;
//! let distance = frechet_distance_factored(&reference, &FactoredGaussian::of_rows(&generated)?)?;
//! assert!((distance.value() - 1.0).abs() < 1e-12, "the means are 1 apart, the covariances are equal");
//! let closed = prdc(&real, &generated, 2)?.closed;
//! assert_eq!((closed.precision, closed.recall), (1.0, 1.0));
//! # Ok(())
//! # }
//! ```

#![warn(clippy::missing_errors_doc, clippy::must_use_candidate)]

pub mod error;
pub mod rounding;
pub mod statistic;

mod files;
mod intervals;
mod p_values;
mod pictures;
mod samples;
mod scores;
mod two_sets;

pub use files::{npy, npy_rows, npy_write, npz, statistics_file};
pub use intervals::{
    averages, bootstrap, counter_rng, fewest, jackknife, median_interval, numpy_random, order_statistics,
    outliers, paired,
};
pub use p_values::{chi_square_power, gamma, multiple_tests, normal, significance, student, t_power};
pub use pictures::{psnr, ssim};
pub(crate) use samples::{blocks, reflections, symmetric_eigenvalues, tridiagonal, unit_rows};
pub use samples::{features, gaussian, moments};
pub use scores::{
    accuracy, clip_scalings, cosine_score, decode_metrics, inception_score, predicted_speedup, vendi,
};
pub use two_sets::{cmmd, fid_infinity, frechet, frechet_interval, kid, kid_subsets, prdc, realism};
pub(crate) use two_sets::{distances, kernel_sums, manifold};

pub use error::StatsError;
pub use statistic::Statistic;
