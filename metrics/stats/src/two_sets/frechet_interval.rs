//! The uncertainty of a Frechet distance that comes from the generated pictures, the reference being what it is.
//!
//! Delete-a-group jackknife (see [`crate::jackknife`]) over cached rows: the moments of each group are taken from those
//! of all rows, so a replicate costs one distance and no pass over the rows. The distance is biased upward by a term of
//! order `1/n` (Binkowski et al. 2018, section D.1); the interval is for its expectation at this number of rows.

use crate::blocks::map_in_order;
use crate::error::{StatsError, require_count};
use crate::features::FeatureRows;
use crate::frechet::frechet_distance_factored;
use crate::gaussian::FactoredGaussian;
use crate::jackknife::{JackknifeEstimate, JackknifePlan, kept};
use crate::moments::Moments;
use crate::statistic::Statistic;

/// Returns the distance of `generated` from `reference` with its uncertainty.
///
/// # Errors
/// Unequal widths, fewer rows than groups, and where a group leaves fewer than two rows.
pub fn frechet_interval(
    reference: &FactoredGaussian,
    generated: &FeatureRows,
    plan: &JackknifePlan,
) -> Result<JackknifeEstimate, StatsError> {
    let groups = plan.groups(generated.n())?;
    let (value, without) = distances_without_groups(reference, generated, &groups)?;
    plan.estimate(value, &without, &groups)
}

/// Returns the distance of all rows, and without each group.
pub(crate) fn distances_without_groups(
    reference: &FactoredGaussian,
    generated: &FeatureRows,
    groups: &[Vec<usize>],
) -> Result<(f64, Vec<f64>), StatsError> {
    let distance = |generated: &FactoredGaussian| -> Result<f64, StatsError> {
        Ok(frechet_distance_factored(reference, generated)?.value())
    };
    let (n, d) = (generated.n(), generated.d());
    let value = distance(&FactoredGaussian::of_rows(generated)?)?;
    let n_left = n - groups.iter().map(Vec::len).max().unwrap_or(0);
    require_count("frechet interval: rows that the largest group leaves", 2, n_left as u64)?;
    // Few rows are themselves the factor; of many the moments are the cheaper thing to keep.
    let without = if n_left <= d {
        map_in_order(groups, |group| {
            distance(&FactoredGaussian::of_rows(&generated.select(&kept(n, group)))?)
        })
    } else {
        let whole = Moments::of_rows(generated.values(), d)?;
        map_in_order(groups, |group| {
            let part = Moments::of_rows(generated.select(group).values(), d)?;
            distance(&whole.without(&part)?.value()?.factor()?)
        })
    };
    Ok((value, without.into_iter().collect::<Result<_, _>>()?))
}
