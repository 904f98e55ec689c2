//! Features of a set of pictures: rows, moments, Gaussians, and the linear algebra behind them.

pub(crate) mod blocks;
pub mod features;
pub mod gaussian;
pub mod moments;
pub(crate) mod reflections;
pub(crate) mod symmetric_eigenvalues;
pub(crate) mod tridiagonal;
pub(crate) mod unit_rows;
