//! What holds for any features: symmetry, zero at equality, invariance to a common move, and associative merging.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]

mod features;

use features::{on_threads, recipe, set};
use specimen_stats::Statistic;
use specimen_stats::features::FeatureRows;
use specimen_stats::frechet::{FrechetDistance, frechet_distance_factored};
use specimen_stats::gaussian::FactoredGaussian;
use specimen_stats::moments::Moments;

/// Sets of full rank, of more features than rows, and of one feature.
fn pairs() -> Vec<(FeatureRows, FeatureRows)> {
    vec![
        (set("a"), set("b")),
        (set("a"), set("d_lowrank")),
        (set("c_lowrank"), set("d_lowrank")),
        (recipe("p", 40, 7, 0.0, 1.0).checked(), recipe("q", 9, 7, 0.3, 2.0).checked()),
        (recipe("p", 40, 1, 0.0, 1.0).checked(), recipe("q", 9, 1, 0.3, 2.0).checked()),
    ]
}

fn distance(first: &FeatureRows, second: &FeatureRows) -> FrechetDistance {
    let factored = |rows| FactoredGaussian::of_rows(rows).unwrap();
    frechet_distance_factored(&factored(first), &factored(second)).unwrap()
}

/// What rounding may do to a distance whose traces are these (see `tests/frechet.rs`).
fn rounding(of: &FrechetDistance, d: usize) -> f64 {
    2.0 * (d as f64).sqrt() * f64::EPSILON * (of.trace_first + of.trace_second) + 2e-11 * of.trace_sqrt
}

#[test]
fn the_distance_is_symmetric_and_its_terms_are_not_negative() {
    for (first, second) in pairs() {
        let (forward, backward) = (distance(&first, &second), distance(&second, &first));
        assert!((forward.value() - backward.value()).abs() <= rounding(&forward, first.d()), "{forward:?}");
        assert!(forward.mean_term >= 0.0 && forward.covariance_term >= 0.0);
    }
}

#[test]
fn a_set_is_at_distance_zero_from_itself_and_from_itself_in_another_order() {
    for (first, second) in pairs() {
        for rows in [first, second] {
            let backwards = rows.select(&(0..rows.n()).rev().collect::<Vec<_>>());
            for other in [&rows, &backwards] {
                let got = distance(&rows, other);
                assert!(got.value() <= rounding(&got, rows.d()) + 1e-24, "{got:?}");
            }
        }
    }
}

#[test]
fn a_common_move_changes_nothing_and_a_move_of_one_side_the_mean_term_only() {
    for (first, second) in pairs() {
        // A quarter of a million steps of 2^-18: what f32 keeps of a feature below 32 either way.
        let coarse = |rows: &FeatureRows, offset: f32| {
            let values = rows.values().iter().map(|x| (x * 65536.0).round() / 65536.0 + offset).collect();
            FeatureRows::new(values, rows.d()).unwrap()
        };
        let here = distance(&coarse(&first, 0.0), &coarse(&second, 0.0));
        let there = distance(&coarse(&first, 16.0), &coarse(&second, 16.0));
        // Means of 16 are rounded 16 times as coarsely.
        let tolerance = 32.0 * rounding(&here, first.d());
        assert!((here.value() - there.value()).abs() <= tolerance, "{here:?} {there:?}");
        let apart = distance(&coarse(&first, 0.0), &coarse(&first, 16.0));
        let d = first.d();
        assert!((apart.mean_term / (256.0 * d as f64) - 1.0).abs() < 1e-12, "{apart:?}");
        assert!(apart.covariance_term <= 32.0 * rounding(&apart, d), "{apart:?}");
    }
}

#[test]
fn rows_and_their_moments_give_the_same_distance() {
    let through_moments = |rows: &FeatureRows| {
        Moments::of_rows(rows.values(), rows.d()).unwrap().value().unwrap().factor().unwrap()
    };
    for (first, second) in pairs() {
        let direct = distance(&first, &second);
        let other = frechet_distance_factored(&through_moments(&first), &through_moments(&second)).unwrap();
        assert!(
            (direct.value() - other.value()).abs() <= rounding(&direct, first.d()),
            "{direct:?} {other:?}"
        );
    }
}

#[test]
fn merging_is_associative_to_a_trillionth() {
    let x = recipe("x", 900, 12, 0.0, 1.0).checked();
    let part = |rows: std::ops::Range<usize>| {
        Moments::of_rows(x.select(&rows.collect::<Vec<_>>()).values(), x.d()).unwrap()
    };
    let merged = |mut first: Moments, second: &Moments| {
        first.merge(second).unwrap();
        first
    };
    let (a, b, c) = (part(0..17), part(17..640), part(640..900));
    let left = merged(merged(a.clone(), &b), &c).value().unwrap();
    let right = merged(a, &merged(b, &c)).value().unwrap();
    let both = |of: &specimen_stats::gaussian::Gaussian| [of.mean(), of.covariance()].concat();
    let largest = both(&left).into_iter().map(f64::abs).fold(0.0, f64::max);
    for (l, r) in both(&left).iter().zip(both(&right)) {
        assert!((l - r).abs() <= 1e-12 * largest, "{l} {r}");
    }
}

#[test]
fn the_distance_has_the_same_digits_on_any_number_of_threads() {
    let (a, b) = (set("a"), set("b"));
    let one = on_threads(1, || distance(&a, &b));
    assert_eq!(on_threads(3, || distance(&a, &b)), one);
}
