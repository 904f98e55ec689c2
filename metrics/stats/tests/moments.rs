//! Moments: golden values, merging, and independence from how rows are grouped.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]

mod features;

use features::{expected, number, recipe, shipped};
use specimen_stats::moments::{BLOCK_ROWS, Moments, MomentsAccumulator};
use specimen_stats::{Statistic, StatsError};

#[test]
fn mean_and_covariance_equal_numpy_to_rounding() {
    let a = shipped("a");
    let moments = Moments::of_rows(&a.rows, a.d).unwrap();
    let expected = expected();
    // Sums of 300 terms below 2, in either order: 300 roundings of 2^-52 each, before the division.
    let tolerance = 300.0 * f64::EPSILON;
    for i in 0..4 {
        let mean = number(&expected, &format!("/moments_a/mu_first4/{i}"));
        assert!((moments.mean().unwrap()[i] - mean).abs() < tolerance);
    }
    let covariance = moments.covariance().unwrap();
    assert!((covariance[0] - number(&expected, "/moments_a/sigma00")).abs() < tolerance);
    assert!((covariance[1] - number(&expected, "/moments_a/sigma01")).abs() < tolerance);
    assert_eq!(covariance[1], covariance[a.d]);
    let frobenius = covariance.iter().map(|x| x * x).sum::<f64>().sqrt();
    assert!((frobenius - number(&expected, "/moments_a/frobenius")).abs() < 64.0 * tolerance);
}

#[test]
fn rows_pushed_in_any_grouping_give_the_same_digits() {
    let features = recipe("g", 2 * BLOCK_ROWS + 77, 20, 0.0, 1.0);
    let whole = Moments::of_rows(&features.rows, features.d).unwrap();
    for n_rows in [1, 7, BLOCK_ROWS - 1, BLOCK_ROWS, BLOCK_ROWS + 1, 10_000] {
        let mut accumulator = MomentsAccumulator::new(features.d).unwrap();
        for group in features.rows.chunks(n_rows * features.d) {
            accumulator.push_rows(group).unwrap();
        }
        assert_eq!(accumulator.finish().unwrap(), whole, "groups of {n_rows} rows");
    }
}

#[test]
fn blocks_reduced_apart_and_merged_in_plan_order_give_the_same_digits() {
    let features = recipe("g", 3 * BLOCK_ROWS, 20, 0.0, 1.0);
    let mut merged = Moments::empty(features.d).unwrap();
    for block in features.rows.chunks(BLOCK_ROWS * features.d) {
        merged.merge(&Moments::of_block(block, features.d).unwrap()).unwrap();
    }
    assert_eq!(merged, Moments::of_rows(&features.rows, features.d).unwrap());
}

#[test]
fn merging_shards_equals_one_pass_to_rounding() {
    let a = shipped("a");
    let whole = Moments::of_rows(&a.rows, a.d).unwrap();
    let (first, second) = a.rows.split_at(113 * a.d);
    let mut merged = Moments::of_rows(first, a.d).unwrap();
    merged.merge(&Moments::of_rows(second, a.d).unwrap()).unwrap();
    assert_eq!(merged.n(), 300);
    for (x, y) in merged.covariance().unwrap().iter().zip(whole.covariance().unwrap()) {
        assert!((x - y).abs() < 300.0 * f64::EPSILON, "{x} {y}");
    }
}

#[test]
fn a_large_common_offset_does_not_cancel() {
    // Values 4096 + {0, 1/16, ...}: exact in f32; sums of squares would lose 24 bits of the variance.
    let rows: Vec<f32> = (0..1000).map(|i| 4096.0 + (i % 5) as f32 / 16.0).collect();
    let variance = Moments::of_rows(&rows, 1).unwrap().covariance().unwrap()[0];
    let exact = 2.0 / 256.0 * 1000.0 / 999.0;
    assert!((variance / exact - 1.0).abs() < 1e-12, "{variance}");
}

#[test]
fn serialised_moments_come_back_unchanged_and_damaged_ones_do_not() {
    let a = shipped("a");
    let moments = Moments::of_rows(&a.rows, a.d).unwrap();
    let text = serde_json::to_string(&moments).unwrap();
    assert_eq!(serde_json::from_str::<Moments>(&text).unwrap(), moments);
    let short = r#"{"n": 3, "mean": [0.0, 1.0], "m2": [1.0, 0.0]}"#;
    assert!(serde_json::from_str::<Moments>(short).unwrap_err().to_string().contains("expected 3, found 2"));
}

#[test]
fn ragged_rows_nan_and_mixed_widths_are_refused_and_change_nothing() {
    assert!(matches!(
        Moments::of_block(&[1.0; 5], 2),
        Err(StatsError::WrongSize { expected: 2, found: 1, .. })
    ));
    let mut moments = Moments::of_block(&[1.0, 2.0], 2).unwrap();
    let before = moments.clone();
    assert!(matches!(moments.push(&[0.0, f32::NAN]), Err(StatsError::NotFinite { at: 1, .. })));
    assert!(moments.merge(&Moments::empty(3).unwrap()).is_err());
    assert_eq!(moments, before);
    assert!(Moments::empty(0).is_err());
    assert!(Moments::empty(2).unwrap().mean().is_err());
    assert!(matches!(moments.covariance(), Err(StatsError::TooFew { needed: 2, found: 1, .. })));
}
