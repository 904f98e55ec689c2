//! The standard normal distribution: distribution function, quantile, and two-sided p values.

use crate::error::StatsError;
use crate::gamma::gamma_q;

/// Returns the probability that a standard normal number is at most `z`. Infinite `z` gives 0 or 1; panics on NaN.
#[must_use]
pub fn normal_cdf(z: f64) -> f64 {
    assert!(!z.is_nan(), "a normal score is a number");
    let tail = upper_tail(z.abs());
    if z < 0.0 { tail } else { 1.0 - tail }
}

/// Returns the `z` below which a standard normal number falls with probability `p`.
///
/// A start within 4.5e-4 (Abramowitz and Stegun 26.2.23) is refined by three Newton steps with Halley's correction,
/// each of which triples the correct digits.
///
/// # Errors
/// A `p` outside `(0, 1)`.
pub fn normal_quantile(p: f64) -> Result<f64, StatsError> {
    if !(p > 0.0 && p < 1.0) {
        return Err(StatsError::OutOfRange { what: "normal quantile: p", at: 0, value: p, range: "(0, 1)" });
    }
    let tail = p.min(1.0 - p);
    let t = (-2.0 * tail.ln()).sqrt();
    let start = (2.515_517 + t * (0.802_853 + t * 0.010_328))
        / (1.0 + t * (1.432_788 + t * (0.189_269 + t * 0.001_308)));
    let mut z = t - start;
    for _ in 0..3 {
        let density = (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let step = (upper_tail_signed(z) - tail) / density;
        z += step / (1.0 - 0.5 * z * step);
    }
    Ok(if p < 0.5 { -z } else { z })
}

/// Returns the probability of a standard normal number at least as far from zero as `z`, in `[0, 1]`.
///
/// # Errors
/// NaN.
pub fn two_sided_p(z: f64) -> Result<f64, StatsError> {
    if z.is_nan() {
        return Err(StatsError::NotFinite { what: "z score", at: 0, value: z });
    }
    Ok(2.0 * upper_tail(z.abs()))
}

fn upper_tail_signed(z: f64) -> f64 {
    if z < 0.0 { 1.0 - upper_tail(-z) } else { upper_tail(z) }
}

/// `P(Z > z)` for `z >= 0`, by `erfc(z / sqrt 2) = Q(1/2, z^2 / 2)`.
fn upper_tail(z: f64) -> f64 {
    // The tail underflows past z = 39.
    if z > 39.0 {
        return 0.0;
    }
    0.5 * gamma_q(0.5, 0.5 * z * z).expect("a = 1/2 and x in [0, 761] lie in the domain")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    #[test]
    fn the_quantile_is_the_inverse_in_both_tails_to_rounding() {
        for p in [1e-300, 1e-30, 1e-12, 1e-3, 0.02, 0.3, 0.5] {
            let z = normal_quantile(p).unwrap();
            assert!((normal_cdf(z) / p - 1.0).abs() < 1e-12 * (1.0 + z * z), "{p}: {z}");
            assert!(
                p < 1e-10 || (normal_quantile(1.0 - p).unwrap() + z).abs() < 1e-9 / p.sqrt() * 1e-4,
                "{p}"
            );
        }
        for p in [0.0, 1.0, -0.1, 1.1, f64::NAN] {
            assert!(normal_quantile(p).is_err(), "{p}");
        }
    }
}
