//! Student's t distribution with a whole number of degrees of freedom (Abramowitz and Stegun 26.7.3 and 26.7.4).

use crate::{StatsError, error::require_count, normal::normal_quantile};

/// Returns the probability that |T| is at most `t` under `nu` degrees of freedom, `t` at least 0.
fn central_mass(nu: u64, t: f64) -> f64 {
    let theta = (t / (nu as f64).sqrt()).atan();
    let (sine, cosine_sq) = (theta.sin(), theta.cos().powi(2));
    // Terms are products of ratios of neighbouring whole numbers, from cos^0 or cos^1 up to cos^(nu - 2).
    let (mut term, first) = if nu.is_multiple_of(2) { (1.0, 1) } else { (theta.cos(), 2) };
    let mut sum = 0.0;
    let mut numerator = first;
    while numerator < nu {
        sum += term;
        term *= cosine_sq * numerator as f64 / (numerator + 1) as f64;
        numerator += 2;
    }
    if nu.is_multiple_of(2) { sine * sum } else { std::f64::consts::FRAC_2_PI * (theta + sine * sum) }
}

/// Degrees of freedom above which the quantile is that of its expansion, whose time does not grow with them.
const MANY: u64 = 1000;

/// The expansion of the `p`-quantile around the normal one (Abramowitz and Stegun 26.7.5): to 1 % from five degrees of freedom
/// on for `p` in [0.005, 0.995], and to 1e-9 above [`MANY`].
pub(crate) fn expanded_quantile(nu: f64, p: f64) -> Result<f64, StatsError> {
    let z = normal_quantile(p)?;
    let first = (z.powi(3) + z) / 4.0;
    let second = (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / 96.0;
    let third = (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / 384.0;
    Ok(z + first / nu + second / (nu * nu) + third / nu.powi(3))
}

/// Returns the `p`-quantile of Student's t with `nu` degrees of freedom, to about 1e-12 of itself; above 1,000 degrees of
/// freedom to about 1e-9.
///
/// # Errors
/// No degree of freedom and `p` outside (0, 1).
pub fn student_quantile(nu: u64, p: f64) -> Result<f64, StatsError> {
    require_count("Student's t", 1, nu)?;
    let mass = (2.0 * p - 1.0).abs();
    if !p.is_finite() || mass >= 1.0 {
        return Err(StatsError::OutOfRange {
            what: "Student's t: probability",
            at: 0,
            value: p,
            range: "(0, 1)",
        });
    }
    if nu > MANY {
        return expanded_quantile(nu as f64, p);
    }
    let mut high = 1.0;
    while central_mass(nu, high) < mass {
        high *= 2.0;
    }
    let mut low = 0.0;
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if central_mass(nu, middle) < mass { low = middle } else { high = middle }
    }
    let t = 0.5 * (low + high);
    Ok(if p < 0.5 { -t } else { t })
}

/// Returns the probability that |T| is at least |`t`| under `nu` degrees of freedom, to about 1e-13 absolutely.
///
/// # Errors
/// No degree of freedom and `t` that is not a number.
pub fn student_two_sided_p(nu: u64, t: f64) -> Result<f64, StatsError> {
    require_count("Student's t", 1, nu)?;
    if t.is_nan() {
        return Err(StatsError::OutOfRange { what: "Student's t", at: 0, value: t, range: "a number" });
    }
    Ok((1.0 - central_mass(nu, t.abs())).clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;

    #[test]
    fn quantiles_agree_with_printed_tables() {
        let table = [
            (1, 0.975, 12.706_204_736),
            (2, 0.975, 4.302_652_730),
            (3, 0.975, 3.182_446_305),
            (4, 0.95, 2.131_846_786),
            (7, 0.995, 3.499_483_297),
            (10, 0.975, 2.228_138_852),
            (31, 0.975, 2.039_513_446),
            (499, 0.975, 1.964_729_391),
            (1000, 0.975, 1.962_339_081),
            (1001, 0.975, 1.962_336_705),
            (1001, 0.9995, 3.300_272_876),
        ];
        for (nu, p, expected) in table {
            let found = student_quantile(nu, p).unwrap();
            assert!(
                (found - expected).abs() < 1e-8 * expected,
                "nu {nu}, p {p}: {found}, expected {expected}"
            );
            let mirrored = student_quantile(nu, 1.0 - p).unwrap();
            assert!((found + mirrored).abs() < 1e-8 * expected, "nu {nu}, p {p}: {found} and {mirrored}");
        }
        assert!(student_quantile(5, 0.5).unwrap().abs() < 1e-9);
    }

    #[test]
    fn the_expansion_is_within_a_hundredth_from_five_degrees_of_freedom_on() {
        for nu in [5, 6, 10, 100, 1000] {
            for p in [0.6, 0.975, 0.995] {
                let (found, exact) =
                    (expanded_quantile(nu as f64, p).unwrap(), student_quantile(nu, p).unwrap());
                assert!((found / exact - 1.0).abs() < 0.01, "nu {nu}, p {p}: {found}, exact {exact}");
            }
        }
    }

    #[test]
    fn p_values_are_those_of_the_quantiles_and_of_exact_arithmetic() {
        for (nu, p) in [(1, 0.975), (2, 0.9), (7, 0.995), (31, 0.975), (499, 0.6)] {
            let t = student_quantile(nu, p).unwrap();
            for t in [t, -t] {
                let found = student_two_sided_p(nu, t).unwrap();
                assert!((found - 2.0 * (1.0 - p)).abs() < 1e-12, "nu {nu}, t {t}: {found}");
            }
        }
        // One degree of freedom is Cauchy's distribution, whose quartiles are at 1; two have t / sqrt(2 + t^2).
        assert!((student_two_sided_p(1, 1.0).unwrap() - 0.5).abs() < 1e-15);
        assert!((student_two_sided_p(2, 3.0).unwrap() - (1.0 - 3.0 / 11.0_f64.sqrt())).abs() < 1e-15);
        assert_eq!(student_two_sided_p(5, 0.0).unwrap(), 1.0);
        assert!(student_two_sided_p(40, 1e9).unwrap() < 1e-12);
        assert!(student_two_sided_p(0, 1.0).is_err() && student_two_sided_p(3, f64::NAN).is_err());
    }

    #[test]
    fn what_has_no_quantile_is_an_error() {
        assert!(student_quantile(0, 0.975).is_err());
        for p in [0.0, 1.0, -0.1, 1.1, f64::NAN] {
            assert!(student_quantile(3, p).is_err(), "{p}");
        }
    }
}
