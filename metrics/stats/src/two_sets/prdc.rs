//! Improved precision and recall, density and coverage, in one pass over the distances of two sets.
//!
//! Precision and recall: Kynkaanniemi et al. 2019, eq. 1 and 2; density and coverage: Naeem et al. 2020, section 3.2.
//! A ball reaches the k-th nearest other row of its own set. Whether its surface belongs to it is where tools differ:
//! `prdc` and youngjung's precision-recall test `<`, Kynkaanniemi's code and torch-fidelity `<=`. Both are given; they
//! part only where distances tie, which copies make them do: among identical rows `<` finds nothing at all. A tie is a
//! difference within rounding (see `distances.rs`).

use std::ops::Range;

use rayon::prelude::*;

use crate::blocks::blocks;
use crate::distances::{CentredRows, upward};
use crate::error::StatsError;
use crate::features::{FeatureRows, same_width};
use crate::manifold::Manifold;

/// The four values under one rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PrdcValues {
    /// Share of generated rows inside some ball of the real ones, in `[0, 1]`.
    pub precision: f64,
    /// Share of real rows inside some ball of the generated ones, in `[0, 1]`.
    pub recall: f64,
    /// Mean number of real balls around a generated row, over `k`: at least 0, and above 1 where they crowd.
    pub density: f64,
    /// Share of real balls that hold a generated row, in `[0, 1]`.
    pub coverage: f64,
}

/// The four values under both rules.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prdc {
    /// With balls without their surface (`<`): `prdc`, youngjung.
    pub open: PrdcValues,
    /// With balls and their surface (`<=`): Kynkaanniemi, torch-fidelity.
    pub closed: PrdcValues,
    /// Which neighbour a ball reaches.
    pub k: usize,
}

/// Returns precision, recall, density and coverage of `generated` against `real` with balls to the `k`-th neighbour
/// (3 for precision and recall, 5 for density and coverage in the papers). Memory is that of both sets once more.
///
/// # Errors
/// Unequal widths, `k = 0`, and `k` rows or fewer on a side.
pub fn prdc(real: &FeatureRows, generated: &FeatureRows, k: usize) -> Result<Prdc, StatsError> {
    same_width("prdc: features per row", real, generated)?;
    let origin = real.mean()?;
    let real = Manifold::new(CentredRows::new(real, &origin), k)?;
    let generated = Manifold::new(CentredRows::new(generated, &origin), k)?;
    let hits = blocks(real.rows.n())
        .into_par_iter()
        .map(|i| hits_of_real_block(&real, &generated, &i))
        .reduce(|| Hits::none(0, generated.rows.n()), Hits::join);
    Ok(Prdc { open: hits.values(0, k), closed: hits.values(1, k), k })
}

/// What lies inside which balls, for the open rule (0) and the closed one (1). All parts are whole numbers, so they
/// join to the same result in any grouping.
struct Hits {
    /// `[n_real]`, how many generated rows each real ball holds.
    held: [Vec<u32>; 2],
    /// `[n_real]`, whether a generated ball holds the real row.
    is_real_held: [Vec<bool>; 2],
    /// `[n_generated]`, whether a real ball holds the generated row.
    is_generated_held: [Vec<bool>; 2],
}

impl Hits {
    fn none(n_real: usize, n_generated: usize) -> Self {
        let flags = |n: usize| [vec![false; n], vec![false; n]];
        Self {
            held: [vec![0; n_real], vec![0; n_real]],
            is_real_held: flags(n_real),
            is_generated_held: flags(n_generated),
        }
    }

    /// Appends the hits of the real rows that follow.
    fn join(mut self, later: Self) -> Self {
        let parts = later.held.into_iter().zip(later.is_real_held).zip(later.is_generated_held);
        for (rule, ((held, is_real_held), is_generated_held)) in parts.enumerate() {
            self.held[rule].extend(held);
            self.is_real_held[rule].extend(is_real_held);
            for (flag, other) in self.is_generated_held[rule].iter_mut().zip(is_generated_held) {
                *flag |= other;
            }
        }
        self
    }

    fn values(&self, rule: usize, k: usize) -> PrdcValues {
        let share = |flags: &[bool]| flags.iter().filter(|&&flag| flag).count() as f64 / flags.len() as f64;
        let n_held: u64 = self.held[rule].iter().map(|&held| u64::from(held)).sum();
        let n_covered = self.held[rule].iter().filter(|&&held| held > 0).count();
        PrdcValues {
            precision: share(&self.is_generated_held[rule]),
            recall: share(&self.is_real_held[rule]),
            density: n_held as f64 / (k * self.is_generated_held[rule].len()) as f64,
            coverage: n_covered as f64 / self.held[rule].len() as f64,
        }
    }
}

fn hits_of_real_block(real: &Manifold<'_>, generated: &Manifold<'_>, i: &Range<usize>) -> Hits {
    let mut hits = Hits::none(i.len(), generated.rows.n());
    // Beyond its radius and the bounds of both errors a rough distance decides for both rules; so does one within.
    let share = real.rows.error_share() + real.rows.rounding_share();
    let margins: Vec<f32> = i.clone().map(|row| real.rows.margin(row, share)).collect();
    let radii: Vec<f32> = i.clone().map(|row| upward(real.squared_radii[row])).collect();
    for j in blocks(generated.rows.n()) {
        let distances = real.rows.rough_distances(i, &generated.rows, &j);
        for (column, generated_row) in distances.col_iter().zip(j) {
            let generated_radius = generated.squared_radii[generated_row];
            let reach = upward(generated_radius);
            let own = generated.rows.margin(generated_row, share);
            for (at, ((&rough, margin), radius)) in column.iter().zip(&margins).zip(&radii).enumerate() {
                let margin = margin + own;
                // Almost always; never for what is not a number.
                if rough > radius + margin && rough > reach + margin {
                    continue;
                }
                let real_row = i.start + at;
                let real_radius = real.squared_radii[real_row];
                let (margin, rough) = (f64::from(margin), f64::from(rough));
                let is_clear = |radius: f64| (rough - radius).abs() > margin;
                let distance = match is_clear(real_radius) && is_clear(generated_radius) {
                    true => rough,
                    false => real.rows.squared_distance(real_row, &generated.rows, generated_row),
                };
                let (beyond_real, beyond_generated) = (distance - real_radius, distance - generated_radius);
                let tie = real.rounding(real_row, &generated.rows, generated_row);
                for (rule, bound) in [-tie, tie].into_iter().enumerate() {
                    // A tie lies on the surface, which the closed ball has and the open one has not.
                    let is_held = |beyond: f64| if rule == 0 { beyond < bound } else { beyond <= bound };
                    if is_held(beyond_real) {
                        hits.held[rule][at] += 1;
                        hits.is_generated_held[rule][generated_row] = true;
                    }
                    if is_held(beyond_generated) {
                        hits.is_real_held[rule][at] = true;
                    }
                }
            }
        }
    }
    hits
}
