//! Rows of features as they are cached: the state of every statistic that needs the rows themselves.
//!
//! Neighbours, kernels and subsets cannot be reduced to moments, so what merges is the list of rows. Merging appends in
//! plan order, so values over merged shards have the digits of values over the whole.

use crate::error::{StatsError, require_count};

/// Feature rows of pictures in plan order, as the network gave them.
// Invariant: `d >= 1`, `rows.len()` is a multiple of `d`, every value is finite.
#[derive(Clone, Debug, PartialEq)]
pub struct FeatureRows {
    /// `[n, d]` by rows.
    rows: Vec<f32>,
    d: usize,
}

impl FeatureRows {
    /// Takes `n * d` values in row-major order; `n` may be 0.
    ///
    /// # Errors
    /// `d = 0`, a ragged last row and a value that is not finite.
    pub fn new(rows: Vec<f32>, d: usize) -> Result<Self, StatsError> {
        require_count("feature rows: features per row", 1, d as u64)?;
        if !rows.len().is_multiple_of(d) {
            return Err(StatsError::WrongSize {
                what: "feature rows: numbers in the last row",
                expected: d,
                found: rows.len() % d,
            });
        }
        if let Some(at) = rows.iter().position(|x| !x.is_finite()) {
            return Err(StatsError::NotFinite { what: "feature rows", at, value: f64::from(rows[at]) });
        }
        Ok(Self { rows, d })
    }

    /// Number of rows.
    #[must_use]
    pub fn n(&self) -> usize {
        self.rows.len() / self.d
    }

    /// Features per row.
    #[must_use]
    pub fn d(&self) -> usize {
        self.d
    }

    /// All values, `[n, d]` by rows.
    #[must_use]
    pub fn values(&self) -> &[f32] {
        &self.rows
    }

    /// Row `i`, `[d]`. Panics past the last row.
    #[must_use]
    pub fn row(&self, i: usize) -> &[f32] {
        &self.rows[i * self.d..(i + 1) * self.d]
    }

    /// Appends the rows of the later part of the plan.
    ///
    /// # Errors
    /// Another width, and nothing changes then.
    pub fn merge(&mut self, later: &Self) -> Result<(), StatsError> {
        same_width("feature rows: features per row", self, later)?;
        self.rows.extend_from_slice(&later.rows);
        Ok(())
    }

    /// Returns the rows at `indices`, in that order. Panics on an index past the last row.
    #[must_use]
    pub fn select(&self, indices: &[usize]) -> Self {
        let mut rows = Vec::with_capacity(indices.len() * self.d);
        for &i in indices {
            rows.extend_from_slice(self.row(i));
        }
        Self { rows, d: self.d }
    }

    /// Returns the mean row, `[d]`, summed in row order; fails for no rows.
    pub(crate) fn mean(&self) -> Result<Vec<f64>, StatsError> {
        require_count("mean of features", 1, self.n() as u64)?;
        let mut mean = vec![0.0; self.d];
        for row in self.rows.chunks_exact(self.d) {
            for (sum, &x) in mean.iter_mut().zip(row) {
                *sum += f64::from(x);
            }
        }
        for sum in &mut mean {
            *sum /= self.n() as f64;
        }
        Ok(mean)
    }
}

/// Fails when two sets have rows of unequal width.
pub(crate) fn same_width(
    what: &'static str,
    first: &FeatureRows,
    second: &FeatureRows,
) -> Result<(), StatsError> {
    if first.d == second.d {
        return Ok(());
    }
    Err(StatsError::WrongSize { what, expected: first.d, found: second.d })
}
