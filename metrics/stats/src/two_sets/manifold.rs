//! The neighbourhoods of a set of features: a ball about each row that reaches its k-th nearest other row.
//!
//! Kynkaanniemi et al. 2019, eq. 1. One pass over pairs of blocks keeps, for each row, the rows whose rough distance may
//! be among the `k` smallest; their distances in f64 decide. Which rows are kept beyond those depends on the order of the
//! blocks, the result does not.

use std::ops::Range;

use rayon::prelude::*;

use crate::blocks::{blocks, map_in_order};
use crate::distances::CentredRows;
use crate::error::{StatsError, require_count};

/// Rows with the squared radii of their balls.
pub(crate) struct Manifold<'a> {
    pub(crate) rows: CentredRows<'a>,
    /// `[n]`
    pub(crate) squared_radii: Vec<f64>,
}

impl<'a> Manifold<'a> {
    /// Returns the balls that reach the `k`-th nearest other row; a copy of the row counts as another row. Fails for
    /// `k = 0` and for `k` rows or fewer.
    pub(crate) fn new(rows: CentredRows<'a>, k: usize) -> Result<Self, StatsError> {
        require_count("neighbourhoods: neighbours", 1, k as u64)?;
        require_count("neighbourhoods: rows (one more than neighbours)", k as u64 + 1, rows.n() as u64)?;
        let squared_radii = squared_radii(&rows, k);
        Ok(Self { rows, squared_radii })
    }

    /// Returns what rounding may do to the comparison of a distance between ball `i` and row `j` of `other` with the
    /// ball's radius.
    pub(crate) fn rounding(&self, i: usize, other: &CentredRows<'_>, j: usize) -> f64 {
        self.rows.rounding(i, other, j)
    }
}

/// The rows that may be among the `k` nearest of one row.
#[derive(Clone)]
struct Nearest {
    k: usize,
    /// The `k` smallest upper bounds of distances seen, ascending.
    bounds: Vec<f32>,
    /// Rows whose lower bound was not above all of them, with that bound.
    rows: Vec<(f32, u32)>,
}

impl Nearest {
    fn new(k: usize) -> Self {
        Self { k, bounds: Vec::with_capacity(k + 1), rows: Vec::new() }
    }

    /// No row whose lower bound is above this is among the nearest.
    fn reach(&self) -> f32 {
        if self.bounds.len() < self.k { f32::INFINITY } else { self.bounds[self.k - 1] }
    }

    fn push(&mut self, lower: f32, upper: f32, row: u32) {
        if lower > self.reach() {
            return;
        }
        self.rows.push((lower, row));
        let at = self.bounds.partition_point(|&bound| bound <= upper);
        if at < self.k {
            self.bounds.insert(at, upper);
            self.bounds.truncate(self.k);
        }
    }

    fn join(&mut self, other: &Self) {
        for &upper in &other.bounds {
            let at = self.bounds.partition_point(|&bound| bound <= upper);
            self.bounds.insert(at, upper);
            self.bounds.truncate(self.k);
        }
        let reach = self.reach();
        self.rows.extend(other.rows.iter().filter(|(lower, _)| *lower <= reach));
    }

    /// The `k`-th smallest distance in f64 among the rows kept.
    fn squared_radius(&self, row: usize, rows: &CentredRows<'_>) -> f64 {
        let reach = self.reach();
        let kept = self.rows.iter().filter(|(lower, _)| *lower <= reach);
        let mut distances: Vec<f64> =
            kept.map(|&(_, other)| rows.squared_distance(row, rows, other as usize)).collect();
        distances.sort_unstable_by(f64::total_cmp);
        distances[self.k - 1]
    }
}

fn squared_radii(rows: &CentredRows<'_>, k: usize) -> Vec<f64> {
    let cuts = blocks(rows.n());
    let mut nearest = vec![Nearest::new(k); rows.n()];
    for (at, i) in cuts.iter().enumerate() {
        // A stripe at a time bounds the lists held at once.
        let found = map_in_order(&cuts[at..], |j| nearest_in_block(rows, i, j, k));
        for (j, (of_rows, of_columns)) in cuts[at..].iter().zip(found) {
            for (row, list) in i.clone().zip(of_rows).chain(j.clone().zip(of_columns)) {
                nearest[row].join(&list);
            }
        }
    }
    nearest.par_iter().enumerate().map(|(row, list)| list.squared_radius(row, rows)).collect()
}

/// Returns what may be nearest to each row and to each column of a block; on the diagonal, where columns are the rows
/// again, to rows only and without a row itself.
fn nearest_in_block(
    rows: &CentredRows<'_>,
    i: &Range<usize>,
    j: &Range<usize>,
    k: usize,
) -> (Vec<Nearest>, Vec<Nearest>) {
    let is_diagonal = i.start == j.start;
    let distances = rows.rough_distances(i, rows, j);
    let mut of_rows = vec![Nearest::new(k); i.len()];
    let mut of_columns = vec![Nearest::new(k); if is_diagonal { 0 } else { j.len() }];
    let margins: Vec<f32> = i.clone().map(|row| rows.margin(row, rows.error_share())).collect();
    // What `of_rows` reach, side by side: nearly all distances are beyond.
    let mut reaches = vec![f32::INFINITY; i.len()];
    for (column_at, column) in distances.col_iter().enumerate() {
        let other = j.start + column_at;
        let own = rows.margin(other, rows.error_share());
        let mut reach = f32::INFINITY;
        for (row_at, ((&distance, margin), row_reach)) in
            column.iter().zip(&margins).zip(&mut reaches).enumerate()
        {
            let margin = margin + own;
            let lower = distance - margin;
            if lower > *row_reach && lower > reach {
                continue;
            }
            let row = i.start + row_at;
            if row == other {
                continue;
            }
            let (lower, upper) = match margin.is_finite() {
                true => (lower, distance + margin),
                false => (f32::NEG_INFINITY, f32::INFINITY),
            };
            of_rows[row_at].push(lower, upper, other as u32);
            *row_reach = of_rows[row_at].reach();
            if let Some(list) = of_columns.get_mut(column_at) {
                list.push(lower, upper, row as u32);
                reach = list.reach();
            } else {
                reach = f32::NEG_INFINITY;
            }
        }
    }
    (of_rows, of_columns)
}
