//! FID-infinity: the Frechet distance extrapolated to infinitely many generated pictures.
//!
//! Chong and Forsyth 2020, section 3: the bias of the distance is linear in `1/n` for large `n`, so a least-squares line
//! through distances of subsets of several sizes is read off at `1/n = 0`. dgm-eval draws the subsets without a seed;
//! here they are counter-based. The reference's own bias stays.

use crate::blocks::map_in_order;
use crate::counter_rng::CounterRng;
use crate::error::{StatsError, require_count};
use crate::features::FeatureRows;
use crate::frechet::frechet_distance_factored;
use crate::gaussian::FactoredGaussian;

/// Number of sizes of the paper and of dgm-eval.
const PUBLISHED_SIZES: usize = 15;

/// Which rows make up a subset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subsets {
    /// The first rows.
    First,
    /// A random choice without repeats, another one for each size.
    Drawn {
        /// The seed.
        seed: u64,
    },
}

/// The line through the distances.
#[derive(Clone, Debug, PartialEq)]
pub struct FidInfinity {
    /// The distance at `1/n = 0`. An extrapolation, so it may be slightly negative.
    pub value: f64,
    /// Slope: the bias times `n`.
    pub slope: f64,
    /// Size and distance of each subset, in the order of the sizes.
    pub points: Vec<(usize, f64)>,
}

/// Returns dgm-eval's sizes for `n` rows: `PUBLISHED_SIZES` evenly spaced from the smaller of 5000 and `n / 10` to
/// `n`, rounded down.
///
/// # Errors
/// Fewer than 20 rows, where the smallest subset would have no covariance.
pub fn published_sizes(n: usize) -> Result<Vec<usize>, StatsError> {
    require_count("fid-infinity: rows", 20, n as u64)?;
    let smallest = (n / 10).min(5000);
    let steps = PUBLISHED_SIZES - 1;
    Ok((0..PUBLISHED_SIZES).map(|step| smallest + (n - smallest) * step / steps).collect())
}

/// Returns the extrapolated distance of `generated` from `reference` through subsets of these sizes.
///
/// # Errors
/// Unequal widths, fewer than two different sizes, and a size below two or above the number of rows.
pub fn fid_infinity(
    reference: &FactoredGaussian,
    generated: &FeatureRows,
    sizes: &[usize],
    subsets: Subsets,
) -> Result<FidInfinity, StatsError> {
    for (at, &size) in sizes.iter().enumerate() {
        if size < 2 || size > generated.n() {
            let (what, range) = ("fid-infinity: sizes", "from 2 to the number of rows");
            return Err(StatsError::OutOfRange { what, at, value: size as f64, range });
        }
    }
    let numbered: Vec<(usize, usize)> = sizes.iter().copied().enumerate().collect();
    let points = map_in_order(&numbered, |&(at, size)| {
        let rows = generated.select(&choose(subsets, at, size, generated.n()));
        let distance = frechet_distance_factored(reference, &FactoredGaussian::of_rows(&rows)?)?;
        Ok((size, distance.value()))
    });
    let points = points.into_iter().collect::<Result<Vec<(usize, f64)>, StatsError>>()?;
    let (value, slope) = line(&points)?;
    Ok(FidInfinity { value, slope, points })
}

/// Returns the rows of the subset at place `at`, ascending.
fn choose(subsets: Subsets, at: usize, size: usize, n: usize) -> Vec<usize> {
    match subsets {
        Subsets::First => (0..size).collect(),
        Subsets::Drawn { seed } => {
            let stream = CounterRng::new(seed).bits(at as u64);
            let mut rows = CounterRng::new(stream).permutation(n);
            rows.truncate(size);
            rows.sort_unstable();
            rows
        }
    }
}

/// Returns intercept and slope of the least-squares line of the distance on `1/n`.
fn line(points: &[(usize, f64)]) -> Result<(f64, f64), StatsError> {
    let n = points.len() as f64;
    let inverse = |size: usize| 1.0 / size as f64;
    let mean_x = points.iter().map(|&(size, _)| inverse(size)).sum::<f64>() / n;
    let mean_y = points.iter().map(|&(_, distance)| distance).sum::<f64>() / n;
    let spread: f64 = points.iter().map(|&(size, _)| (inverse(size) - mean_x).powi(2)).sum();
    if points.is_empty() || points.iter().all(|&(size, _)| size == points[0].0) {
        return Err(StatsError::NoSpread { what: "fid-infinity: sizes", found: points.len() as u64 });
    }
    let covariance: f64 = points.iter().map(|&(size, y)| (inverse(size) - mean_x) * (y - mean_y)).sum();
    let slope = covariance / spread;
    Ok((mean_y - slope * mean_x, slope))
}
