//! The power of a chi-square test against closed forms and an integral taken another way.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use specimen_stats::{
    chi_square_power::{chi_square_power, detectable_lambda, detectable_tv},
    significance::chi_square_p,
};

#[test]
fn power_without_departure_is_the_level_and_grows_with_the_departure() {
    for (alpha, df) in [(0.05, 1), (0.001, 19), (1e-4, 200)] {
        assert!((chi_square_power(alpha, df, 0.0).unwrap() - alpha).abs() < 1e-9 * alpha.max(1e-3));
        let powers: Vec<f64> =
            [0.0, 1.0, 10.0, 100.0, 1000.0].map(|l| chi_square_power(alpha, df, l).unwrap()).to_vec();
        assert!(powers.windows(2).all(|pair| pair[0] < pair[1] || pair[1] > 1.0 - 1e-9), "{powers:?}");
    }
}

#[test]
fn one_degree_of_freedom_is_the_two_sided_normal_test() {
    // (z(0.975) + z(0.8))^2 up to the far tail, which is below 1e-5 here.
    let expected = (1.959_963_985_f64 + 0.841_621_234).powi(2);
    assert!((detectable_lambda(0.05, 1).unwrap() - expected).abs() < 1e-3);
}

#[test]
fn power_equals_the_integral_over_the_one_shifted_normal_of_the_sum() {
    for (alpha, df, lambda) in [(0.05, 4, 12.0_f64), (1e-3, 10, 30.0), (1e-4, 25, 80.0)] {
        let critical = critical_value(alpha, df);
        let step = 1e-3;
        let density = |z: f64| (-0.5 * z * z).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let tail = |z: f64| {
            let left = critical - (z + lambda.sqrt()).powi(2);
            if left <= 0.0 { 1.0 } else { chi_square_p(left, df - 1).unwrap() }
        };
        let points = (-9000..=9000).map(|i| f64::from(i) * step);
        let expected: f64 = points.map(|z| density(z) * tail(z) * step).sum();
        let found = chi_square_power(alpha, df, lambda).unwrap();
        assert!((found - expected).abs() < 1e-5, "df {df}: {found} for {expected}");
    }
}

#[test]
fn four_times_the_observations_halve_what_can_be_seen() {
    let few = detectable_tv(1e-3, 20, 1000).unwrap();
    let many = detectable_tv(1e-3, 20, 4000).unwrap();
    assert!((few / many - 2.0).abs() < 1e-9 && few > 0.05 && few < 0.2, "{few} and {many}");
}

#[test]
fn senseless_questions_are_errors() {
    assert!(chi_square_power(0.0, 3, 1.0).is_err());
    assert!(chi_square_power(0.05, 0, 1.0).is_err());
    assert!(chi_square_power(0.05, 3, -1.0).is_err());
    assert!(detectable_tv(0.05, 20, 0).is_err());
    assert!(detectable_tv(0.05, 1, 10).is_err());
}

/// The statistic above which a test on level `alpha` rejects.
fn critical_value(alpha: f64, df: u64) -> f64 {
    let (mut low, mut high) = (0.0, 1e4);
    for _ in 0..100 {
        let middle = 0.5 * (low + high);
        if chi_square_p(middle, df).unwrap() <= alpha { high = middle } else { low = middle }
    }
    high
}

#[test]
fn two_cells_find_what_the_textbook_says() {
    // Cohen 1988, table 9.4 or 2.8016^2: the noncentrality of one degree of freedom at 5 % and 80 %.
    let found = detectable_tv(0.05, 2, 100).unwrap();
    assert!((found - 0.5 * (7.8489_f64 / 100.0).sqrt()).abs() < 1e-5, "{found}");
}
