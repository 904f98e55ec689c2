//! Arithmetic and geometric means, and the standard error of a mean.

use crate::error::{StatsError, require_count, require_finite, require_positive};

/// Returns the arithmetic mean.
///
/// # Errors
/// No values and non-finite ones.
pub fn arithmetic_mean(values: &[f64]) -> Result<f64, StatsError> {
    require_count("arithmetic mean", 1, values.len() as u64)?;
    require_finite("arithmetic mean", values)?;
    Ok(values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the geometric mean, `exp(mean(ln x))`.
///
/// # Errors
/// No values and values that are not above zero.
pub fn geometric_mean(values: &[f64]) -> Result<f64, StatsError> {
    require_count("geometric mean", 1, values.len() as u64)?;
    require_positive("geometric mean", values)?;
    Ok((values.iter().map(|x| x.ln()).sum::<f64>() / values.len() as f64).exp())
}

/// Returns the sample standard deviation (divisor `n - 1`), two passes.
///
/// # Errors
/// Fewer than two values.
pub fn standard_deviation(values: &[f64]) -> Result<f64, StatsError> {
    require_count("standard deviation", 2, values.len() as u64)?;
    let mean = arithmetic_mean(values)?;
    let squares: f64 = values.iter().map(|x| (x - mean) * (x - mean)).sum();
    Ok((squares / (values.len() - 1) as f64).sqrt())
}

/// Returns the standard error of the mean, `s / sqrt(n)`.
///
/// # Errors
/// Fewer than two values.
pub fn standard_error(values: &[f64]) -> Result<f64, StatsError> {
    Ok(standard_deviation(values)? / (values.len() as f64).sqrt())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    #[test]
    fn the_geometric_mean_of_a_ratio_and_its_inverse_is_one() {
        assert!((geometric_mean(&[4.0, 0.25]).unwrap() - 1.0).abs() < 1e-15);
        assert!((geometric_mean(&[1.0, 2.0, 4.0]).unwrap() - 2.0).abs() < 1e-15);
    }

    #[test]
    fn the_standard_error_divides_the_sample_deviation_by_root_n() {
        // Deviations -1.5, -.5, .5, 1.5: variance 5 / 3, over 4 rows.
        assert!((standard_error(&[1.0, 2.0, 3.0, 4.0]).unwrap() - (5.0_f64 / 12.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn what_has_no_mean_is_an_error() {
        assert!(arithmetic_mean(&[]).is_err());
        assert!(arithmetic_mean(&[1.0, f64::NAN]).is_err());
        assert!(geometric_mean(&[1.0, 0.0]).is_err());
        assert!(standard_deviation(&[1.0]).is_err());
    }
}
