//! Flags for measurements far from the rest. Flagged values are reported and kept, never dropped.
//!
//! The modified Z score `(x - median) / MAD` (Iglewicz and Hoaglin 1993, without their factor 0.6745) is compared with
//! 14.826, ten standard deviations of a normal distribution; hyperfine uses the same score and threshold for run times.

use crate::error::{StatsError, require_count};
use crate::order_statistics::{median, median_absolute_deviation};

/// Score beyond which a value is flagged: 1.4826 (MAD to standard deviation) times ten.
const OUTLIER_THRESHOLD: f64 = 14.826;

/// Returns the modified Z score of each value, in units of the median absolute deviation.
///
/// # Errors
/// Fewer than three values, non-finite values, and when more than half of the values are equal, where the deviation
/// is zero.
pub(crate) fn modified_z_scores(values: &[f64]) -> Result<Vec<f64>, StatsError> {
    require_count("modified z score", 3, values.len() as u64)?;
    let centre = median(values)?;
    let deviation = median_absolute_deviation(values)?;
    if deviation == 0.0 {
        return Err(StatsError::NoSpread { what: "modified z score", found: values.len() as u64 });
    }
    Ok(values.iter().map(|x| (x - centre) / deviation).collect())
}

/// Returns the indices of values whose score exceeds `OUTLIER_THRESHOLD` in size, ascending.
///
/// # Errors
/// As `modified_z_scores`.
pub fn outliers(values: &[f64]) -> Result<Vec<usize>, StatsError> {
    let scores = modified_z_scores(values)?;
    Ok((0..scores.len()).filter(|&i| scores[i].abs() > OUTLIER_THRESHOLD).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    #[test]
    fn only_values_beyond_ten_robust_deviations_are_flagged() {
        // Median 10, MAD 1: scores are the distances from 10.
        let mut times = vec![8.0, 9.0, 10.0, 11.0, 12.0, 9.0, 11.0, 10.0 + 14.8, 10.0 - 14.8];
        assert_eq!(outliers(&times).unwrap(), Vec::<usize>::new());
        times[7] = 10.0 + 14.9;
        times[8] = 10.0 - 14.9;
        assert_eq!(outliers(&times).unwrap(), vec![7, 8]);
    }

    #[test]
    fn equal_values_have_no_scale_to_flag_by() {
        let error = outliers(&[5.0, 5.0, 5.0, 9.0]).unwrap_err();
        assert_eq!(error, StatsError::NoSpread { what: "modified z score", found: 4 });
    }

    #[test]
    fn scores_are_in_units_of_the_median_deviation() {
        assert_eq!(modified_z_scores(&[2.0, 6.0, 10.0, 14.0, 30.0]).unwrap(), [-2.0, -1.0, 0.0, 1.0, 5.0]);
    }
}
