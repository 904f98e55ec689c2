//! Averages, their intervals, paired comparisons, and the random numbers of resampling.

pub mod averages;
pub mod bootstrap;
pub mod counter_rng;
pub mod fewest;
pub mod jackknife;
pub mod median_interval;
pub mod numpy_random;
pub mod order_statistics;
pub mod outliers;
pub mod paired;
