//! Quantiles, the median, and the median absolute deviation.
//!
//! Quantiles interpolate linearly between order statistics at `(n - 1) p`, type 7 of Hyndman and Fan (The American
//! Statistician 50, 1996): the default of NumPy and R.

use crate::error::{StatsError, require_count, require_finite};

/// Returns the quantile at `p` in `[0, 1]`.
///
/// # Errors
/// No values, a non-finite value, or `p` out of range.
pub fn quantile(values: &[f64], p: f64) -> Result<f64, StatsError> {
    Ok(quantiles(values, &[p])?[0])
}

/// Returns the quantiles at each of `ps`, sorting once.
///
/// # Errors
/// As [`quantile`].
pub(crate) fn quantiles(values: &[f64], ps: &[f64]) -> Result<Vec<f64>, StatsError> {
    require_count("quantile", 1, values.len() as u64)?;
    require_finite("quantile", values)?;
    if let Some(at) = ps.iter().position(|p| !(0.0..=1.0).contains(p)) {
        return Err(StatsError::OutOfRange { what: "quantile: p", at, value: ps[at], range: "[0, 1]" });
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    Ok(ps.iter().map(|&p| quantile_of_sorted(&sorted, p)).collect())
}

/// Returns the median.
///
/// # Errors
/// No values or a non-finite value.
pub fn median(values: &[f64]) -> Result<f64, StatsError> {
    quantile(values, 0.5)
}

/// Returns the median absolute deviation from the median, unscaled.
///
/// # Errors
/// As [`median`].
pub(crate) fn median_absolute_deviation(values: &[f64]) -> Result<f64, StatsError> {
    let centre = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|x| (x - centre).abs()).collect();
    median(&deviations)
}

/// Returns the type 7 quantile of ascending, finite, non-empty `sorted` at `p` in `[0, 1]`.
pub(crate) fn quantile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    let position = (sorted.len() - 1) as f64 * p;
    let below = position.floor() as usize;
    let above = (below + 1).min(sorted.len() - 1);
    sorted[below] + (position - below as f64) * (sorted[above] - sorted[below])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    #[test]
    fn quantiles_interpolate_as_type_seven() {
        // numpy.quantile([7, 1, 3, 10, 4], [0, .1, .25, .5, .9, 1])
        let got = quantiles(&[7.0, 1.0, 3.0, 10.0, 4.0], &[0.0, 0.1, 0.25, 0.5, 0.9, 1.0]).unwrap();
        for (got, expected) in got.iter().zip([1.0, 1.8, 3.0, 4.0, 8.8, 10.0]) {
            assert!((got - expected).abs() < 1e-14, "{got} {expected}");
        }
    }

    #[test]
    fn the_median_of_an_even_count_is_the_middle_of_the_two_inner_values() {
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]).unwrap(), 2.5);
        assert_eq!(median(&[5.0]).unwrap(), 5.0);
    }

    #[test]
    fn the_median_absolute_deviation_ignores_one_wild_value() {
        assert_eq!(median_absolute_deviation(&[1.0, 2.0, 3.0, 4.0, 1e9]).unwrap(), 1.0);
    }

    #[test]
    fn quantiles_of_nothing_of_nan_or_outside_the_unit_interval_are_errors() {
        assert!(median(&[]).is_err());
        assert!(median(&[f64::NAN]).is_err());
        assert!(quantile(&[1.0], 1.5).is_err());
        assert!(quantile(&[1.0], f64::NAN).is_err());
    }
}
