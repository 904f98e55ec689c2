//! Unbiased KID against values computed with NumPy in f64.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]

mod features;

use features::{Features, expected, number, recipe, shipped};
use specimen_stats::StatsError;
use specimen_stats::kid::kid;

/// The three means are below 5. Each sums up to 300 columns of 300 values, whose roundings are independent: about
/// `sqrt(300)` units for a column and as many for their sum, so 2 x 17 x (5 + 5 + 2 x 5) x 2^-52 = 1.5e-13.
const TOLERANCE: f64 = 1.5e-13;

fn check(pair: &str, first: &Features, second: &Features) {
    let exact = number(&expected(), &format!("/pairs/{pair}/kid_full_unbiased_f64"));
    let got = kid(&first.rows, &second.rows, first.d).unwrap();
    assert!((got - exact).abs() < TOLERANCE, "{pair}: {got}, expected {exact}");
}

#[test]
fn the_distance_over_all_rows_equals_numpy() {
    check("a|b", &shipped("a"), &shipped("b"));
    check("c_lowrank|d_lowrank", &shipped("c_lowrank"), &shipped("d_lowrank"));
    check("e2048|f2048", &recipe("e", 60, 2048, 0.0, 1.0), &recipe("f", 50, 2048, 0.03, 1.0));
}

#[test]
fn a_set_against_itself_is_negative_because_pairs_with_itself_count_on_one_side_only() {
    check("a|a", &shipped("a"), &shipped("a"));
}

#[test]
fn the_order_of_the_sets_and_of_their_rows_does_not_matter() {
    let (a, b) = (shipped("a"), shipped("b"));
    let forward = kid(&a.rows, &b.rows, a.d).unwrap();
    assert!((kid(&b.rows, &a.rows, a.d).unwrap() - forward).abs() < TOLERANCE);
    let reversed: Vec<f32> = a.rows.chunks(a.d).rev().flatten().copied().collect();
    assert!((kid(&reversed, &b.rows, a.d).unwrap() - forward).abs() < TOLERANCE);
}

#[test]
fn the_worked_example_of_one_feature_holds() {
    // Rows 0, 1 against 1, 1. Within: k(0, 1) = 1 and k(1, 1) = 8; between: (1 + 1 + 8 + 8) / 4.
    assert!((kid(&[0.0, 1.0], &[1.0, 1.0], 1).unwrap() - (1.0 + 8.0 - 9.0)).abs() < 1e-15);
}

#[test]
fn one_row_ragged_rows_and_nan_have_no_distance() {
    assert!(matches!(kid(&[1.0], &[1.0, 2.0], 1), Err(StatsError::TooFew { needed: 2, found: 1, .. })));
    assert!(matches!(kid(&[1.0; 5], &[1.0; 4], 2), Err(StatsError::WrongSize { .. })));
    assert!(matches!(kid(&[1.0, f32::NAN], &[1.0, 2.0], 1), Err(StatsError::NotFinite { at: 1, .. })));
    assert!(kid(&[], &[], 0).is_err());
}
