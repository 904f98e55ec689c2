//! Gamma functions, the normal distribution and the chi-square test against SciPy 1.17.1.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
#![allow(clippy::excessive_precision, reason = "golden values are written as they were printed")]

use specimen_stats::StatsError;
use specimen_stats::counter_rng::CounterRng;
use specimen_stats::gamma::{gamma_q, ln_gamma};
use specimen_stats::normal::{normal_cdf, normal_quantile, two_sided_p};
use specimen_stats::significance::{chi_square_fit, chi_square_p};

/// Tolerance of the incomplete gamma functions: eight roundings of the terms of the exponent, plus 32 of the sum.
fn gamma_tolerance(a: f64, x: f64) -> f64 {
    (8.0 * (a * x.ln().abs() + x + ln_gamma(a).unwrap().abs()) + 32.0) * f64::EPSILON
}

#[test]
fn ln_gamma_equals_scipy() {
    for (x, expected) in [
        (0.1, 2.252712651734206),
        (0.5, 0.5723649429247),
        (1.0, 0.0),
        (2.5, 0.2846828704729192),
        (10.0, 12.801827480081469),
        (123.4, 469.3360974421906),
        (100000.0, 1051287.7089736569),
    ] {
        // The shift to 15 sums logarithms of size up to 30.
        let tolerance = 4.0 * f64::EPSILON * (f64::abs(expected) + 30.0);
        assert!((ln_gamma(x).unwrap() - expected).abs() < tolerance, "{x}: {}", ln_gamma(x).unwrap());
    }
}

#[test]
fn incomplete_gamma_functions_equal_scipy_in_both_tails() {
    for (a, x, expected) in [
        (0.5, 0.1, 0.6547208460185768),
        (0.5, 8.0, 6.334248366623988e-05),
        (1.0, 1.0, 0.36787944117144245),
        (3.5, 2.0, 0.779777408475716),
        (10.0, 30.0, 7.121750862815593e-06),
        (100.0, 90.0, 0.84177901081357),
        (5000.0, 5200.0, 0.0025848134953538114),
        (2.0, 200.0, 2.781632018740826e-85),
    ] {
        let got = gamma_q(a, x).unwrap();
        assert!((got / expected - 1.0).abs() < gamma_tolerance(a, x), "Q({a}, {x}) = {got}");
    }
    assert_eq!(gamma_q(2.0, 0.0).unwrap(), 1.0);
}

#[test]
fn the_normal_distribution_equals_scipy() {
    for (z, expected) in [
        (-8.0, 6.22096057427174e-16),
        (-1.96, 0.024997895148220435),
        (-0.3, 0.3820885778110474),
        (0.0, 0.5),
        (0.5, 0.6914624612740131),
        (2.5758, 0.9949995762622214),
        (6.0, 0.9999999990134123),
    ] {
        let tolerance = gamma_tolerance(0.5, 0.5 * z * z + f64::MIN_POSITIVE);
        assert!((normal_cdf(z) / expected - 1.0).abs() < tolerance, "{z}: {}", normal_cdf(z));
    }
    for (p, expected) in [
        (1e-12, -7.034483825301131),
        (0.001, -3.090232306167813),
        (0.025, -1.9599639845400545),
        (0.3, -0.5244005127080409),
        (0.5, 0.0),
        (0.8, 0.8416212335729143),
        (0.975, 1.959963984540054),
        (0.999999, 4.753424308817087),
    ] {
        // One rounding of p near 1 moves z by 2^-53 / density, 2e-11 at .999999.
        let tolerance = if p > 0.99 { 1e-10 } else { 1e-13 };
        assert!((normal_quantile(p).unwrap() - expected).abs() < tolerance, "{p}");
    }
    assert!((two_sided_p(1.959963984540054).unwrap() - 0.05).abs() < 1e-15);
    assert!((two_sided_p(-1.959963984540054).unwrap() - 0.05).abs() < 1e-15);
    assert_eq!(two_sided_p(f64::INFINITY).unwrap(), 0.0);
}

#[test]
fn chi_square_tails_equal_scipy() {
    for (statistic, degrees_of_freedom, expected) in [
        (3.841458820694124, 1, 0.04999999999999989),
        (10.0, 4, 0.04042768199451279),
        (120.5, 99, 0.06995556459600587),
        (60.0, 3, 5.878230727906921e-13),
        (0.0, 5, 1.0),
    ] {
        let got = chi_square_p(statistic, degrees_of_freedom).unwrap();
        assert!((got / expected - 1.0).abs() < 1e-12, "{statistic}: {got}");
    }
}

#[test]
fn the_fit_of_counts_equals_scipy() {
    let got = chi_square_fit(&[43, 52, 54, 40, 11], &[0.2, 0.25, 0.3, 0.2, 0.05]).unwrap();
    assert!((got.statistic - 1.005).abs() < 1e-13 && (got.p - 0.9090368809069477).abs() < 1e-13, "{got:?}");
    assert_eq!((got.degrees_of_freedom, got.n_pooled), (4, 0));
}

#[test]
fn cells_expecting_fewer_than_five_are_pooled_smallest_first() {
    // Of 100: expectations 50, 30, 10 | 1, 2, 3, 4, pooled to 10 with 2 + 1 + 4 + 5 observations.
    let got = chi_square_fit(&[50, 30, 8, 2, 1, 4, 5], &[0.5, 0.3, 0.1, 0.01, 0.02, 0.03, 0.04]).unwrap();
    assert!((got.statistic - 0.8).abs() < 1e-13 && (got.p - 0.8494670333918255).abs() < 1e-13, "{got:?}");
    assert_eq!((got.degrees_of_freedom, got.n_pooled), (3, 4));
    // One small cell takes the next larger one with it.
    let got = chi_square_fit(&[2, 9, 89], &[0.01, 0.1, 0.89]).unwrap();
    assert_eq!((got.degrees_of_freedom, got.n_pooled, got.statistic), (1, 2, 0.0));
}

#[test]
fn p_values_of_a_true_law_are_uniform() {
    // 2000 tests of 500 draws from the distribution itself: a share p < .05 within five binomial deviations (.0049) of .05.
    let expected = [0.4, 0.3, 0.15, 0.1, 0.05];
    let n_rejected = (0..2000_u64)
        .filter(|&seed| {
            let rng = CounterRng::new(seed);
            let mut counts = [0_u64; 5];
            for draw in 0..500 {
                let u = rng.uniform(draw);
                let mut below = 0.0;
                let cell = expected.iter().position(|p| {
                    below += p;
                    u < below
                });
                counts[cell.unwrap_or(4)] += 1;
            }
            chi_square_fit(&counts, &expected).unwrap().p < 0.05
        })
        .count();
    assert!((n_rejected as f64 / 2000.0 - 0.05).abs() < 0.0245, "{n_rejected}");
}

#[test]
fn tests_that_cannot_be_made_are_errors() {
    assert_eq!(
        chi_square_fit(&[10, 1], &[1.0, 0.0]).unwrap_err(),
        StatsError::Impossible { what: "chi-square fit", cell: 1, count: 1 }
    );
    assert!(matches!(chi_square_fit(&[10, 1], &[1.0]), Err(StatsError::WrongSize { .. })));
    assert!(matches!(chi_square_fit(&[10, 1], &[0.5, 0.4]), Err(StatsError::OutOfRange { .. })));
    assert!(matches!(chi_square_fit(&[10, 1], &[1.5, -0.5]), Err(StatsError::OutOfRange { at: 0, .. })));
    assert!(matches!(
        chi_square_fit(&[3, 3], &[0.5, 0.5]),
        Err(StatsError::TooFew { needed: 2, found: 1, .. })
    ));
    assert!(matches!(chi_square_fit(&[0, 0], &[0.5, 0.5]), Err(StatsError::TooFew { .. })));
    assert!(chi_square_p(-1.0, 2).is_err());
    assert!(chi_square_p(1.0, 0).is_err());
    assert!(normal_quantile(0.0).is_err());
    assert!(two_sided_p(f64::NAN).is_err());
}

#[test]
fn a_cell_of_probability_zero_is_no_cell() {
    let with = chi_square_fit(&[12, 0, 28], &[0.25, 0.0, 0.75]).unwrap();
    let without = chi_square_fit(&[12, 28], &[0.25, 0.75]).unwrap();
    assert_eq!(with, without);
    assert_eq!((with.n_pooled, with.degrees_of_freedom), (0, 1));
}

#[test]
fn a_pool_of_exactly_five_is_large_enough() {
    let found = chi_square_fit(&[3, 2, 15], &[0.125, 0.125, 0.75]).unwrap();
    assert_eq!((found.n_pooled, found.degrees_of_freedom, found.statistic), (2, 1, 0.0));
}
