//! Realism score of each generated picture: how deep it is among the neighbourhoods of the real ones.
//!
//! Kynkaanniemi et al. 2019, eq. 3: the largest ratio, over real rows, of the real ball's radius to the distance of the
//! generated row. Balls larger than the median ball are left out, as the paper says, because a lone outlier's ball
//! would make anything near it look real. A score of 1 or more means inside some ball.

use std::ops::Range;

use crate::blocks::{blocks, map_in_order};
use crate::distances::CentredRows;
use crate::error::StatsError;
use crate::features::{FeatureRows, same_width};
use crate::manifold::Manifold;
use crate::order_statistics::median;

/// The realism of one generated row; a copy is above every score.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub enum Realism {
    /// The largest ratio of radius to distance, above 0.
    Score(f64),
    /// The row equals, to rounding, a real row whose ball was kept; the ratio has no bound.
    Copy,
}

/// Returns the realism of each row of `generated` in its order, with balls to the `k`-th neighbour (3 in the paper).
///
/// # Errors
/// Unequal widths, `k = 0`, and `k` real rows or fewer.
pub fn realism(real: &FeatureRows, generated: &FeatureRows, k: usize) -> Result<Vec<Realism>, StatsError> {
    same_width("realism: features per row", real, generated)?;
    let origin = real.mean()?;
    let real = Manifold::new(CentredRows::new(real, &origin), k)?;
    let generated = CentredRows::new(generated, &origin);
    // Radii and their squares have the same order, but the median of an even count lies between two of them.
    let radii: Vec<f64> = real.squared_radii.iter().map(|square| square.sqrt()).collect();
    let largest_kept = median(&radii)?;
    let scores =
        map_in_order(&blocks(generated.n()), |j| scores_of_block(&real, &radii, largest_kept, &generated, j));
    Ok(scores.concat())
}

fn scores_of_block(
    real: &Manifold<'_>,
    radii: &[f64],
    largest_kept: f64,
    generated: &CentredRows<'_>,
    j: &Range<usize>,
) -> Vec<Realism> {
    let mut scores = vec![Realism::Score(0.0); j.len()];
    for i in blocks(real.rows.n()) {
        let distances = real.rows.rough_distances(&i, generated, j);
        for ((column, score), row) in distances.col_iter().zip(&mut scores).zip(j.clone()) {
            for (&rough, real_row) in column.iter().zip(i.clone()) {
                let Realism::Score(best) = *score else { break };
                let nearest = match rough.is_finite() {
                    true => (f64::from(rough) - real.rows.error(real_row, generated, row)).max(0.0),
                    false => 0.0,
                };
                // Too large a ball, or a ratio that cannot be the largest even at the near end of the bound.
                if radii[real_row] > largest_kept || radii[real_row] < best * nearest.sqrt() {
                    continue;
                }
                let distance = real.rows.squared_distance(real_row, generated, row);
                *score = if distance <= real.rounding(real_row, generated, row) {
                    Realism::Copy
                } else {
                    Realism::Score(best.max(radii[real_row] / distance.sqrt()))
                };
            }
        }
    }
    scores
}
