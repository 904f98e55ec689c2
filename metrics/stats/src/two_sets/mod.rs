//! Statistics that compare two sets of features.

pub mod cmmd;
pub(crate) mod distances;
pub mod fid_infinity;
pub mod frechet;
pub mod frechet_interval;
pub(crate) mod kernel_sums;
pub mod kid;
pub mod kid_subsets;
pub(crate) mod manifold;
pub mod prdc;
pub mod realism;
