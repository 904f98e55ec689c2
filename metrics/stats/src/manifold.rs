//! The neighbourhoods of a set of features: a ball about each row that reaches its k-th nearest other row.
//!
//! Kynkaanniemi et al. 2019, eq. 1. Radii come from one pass over pairs of blocks: each block pair yields the `k`
//! smallest distances of its rows, and those lists merge into the same values in any order.

use std::ops::Range;

use crate::blocks::{blocks, map_in_order};
use crate::distances::CentredRows;
use crate::error::{StatsError, require_count};

/// Rows with the squared radii of their balls.
pub(crate) struct Manifold {
    pub(crate) rows: CentredRows,
    /// `[n]`
    pub(crate) squared_radii: Vec<f64>,
}

impl Manifold {
    /// Returns the balls that reach the `k`-th nearest other row; a copy of the row counts as another row. Fails for
    /// `k = 0` and for `k` rows or fewer.
    pub(crate) fn new(rows: CentredRows, k: usize) -> Result<Self, StatsError> {
        require_count("neighbourhoods: neighbours", 1, k as u64)?;
        require_count("neighbourhoods: rows (one more than neighbours)", k as u64 + 1, rows.n() as u64)?;
        let squared_radii = squared_radii(&rows, k);
        Ok(Self { rows, squared_radii })
    }

    /// Returns what rounding may do to the comparison of a distance between ball `i` and row `j` of `other` with the
    /// ball's radius.
    pub(crate) fn rounding(&self, i: usize, other: &CentredRows, j: usize) -> f64 {
        self.rows.rounding(i, other, j)
    }
}

/// The `k` smallest numbers seen, ascending.
#[derive(Clone)]
struct Smallest {
    k: usize,
    values: Vec<f64>,
}

impl Smallest {
    fn new(k: usize) -> Self {
        Self { k, values: Vec::with_capacity(k + 1) }
    }

    fn push(&mut self, value: f64) {
        if self.values.len() == self.k && self.values[self.k - 1] <= value {
            return;
        }
        let at = self.values.partition_point(|&x| x <= value);
        self.values.insert(at, value);
        self.values.truncate(self.k);
    }
}

fn squared_radii(rows: &CentredRows, k: usize) -> Vec<f64> {
    let cuts = blocks(rows.n());
    let mut nearest = vec![Smallest::new(k); rows.n()];
    for (at, i) in cuts.iter().enumerate() {
        // A stripe at a time bounds the lists held at once.
        let found = map_in_order(&cuts[at..], |j| nearest_in_block(rows, i, j, k));
        for (j, (of_rows, of_columns)) in cuts[at..].iter().zip(found) {
            for (row, list) in i.clone().zip(of_rows).chain(j.clone().zip(of_columns)) {
                list.values.iter().for_each(|&value| nearest[row].push(value));
            }
        }
    }
    nearest.iter().map(|list| list.values[k - 1]).collect()
}

/// Returns the smallest distances of each row and of each column of a block; on the diagonal, where columns are the
/// rows again, of rows only and without a row's distance to itself.
fn nearest_in_block(
    rows: &CentredRows,
    i: &Range<usize>,
    j: &Range<usize>,
    k: usize,
) -> (Vec<Smallest>, Vec<Smallest>) {
    let is_diagonal = i.start == j.start;
    let distances = rows.squared_distances(i, rows, j);
    let mut of_rows = vec![Smallest::new(k); i.len()];
    let mut of_columns = vec![Smallest::new(k); if is_diagonal { 0 } else { j.len() }];
    for (column_at, column) in distances.col_iter().enumerate() {
        for (row_at, &distance) in column.iter().enumerate() {
            if !(is_diagonal && row_at == column_at) {
                of_rows[row_at].push(distance);
            }
        }
        if let Some(list) = of_columns.get_mut(column_at) {
            column.iter().for_each(|&distance| list.push(distance));
        }
    }
    (of_rows, of_columns)
}
