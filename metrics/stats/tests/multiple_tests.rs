//! Holm's correction against values of R, and what it refuses.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use specimen_stats::{StatsError, multiple_tests::holm};

fn check(p_values: &[f64], expected: &[f64]) {
    let found = holm(p_values).unwrap();
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() < 1e-15, "{p_values:?}: {found} for {expected}");
    }
}

#[test]
fn the_smallest_p_is_multiplied_by_all_and_none_falls_below_a_smaller_one() {
    // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), "holm").
    check(&[0.01, 0.04, 0.03, 0.005], &[0.03, 0.06, 0.06, 0.02]);
    check(&[0.5, 0.9], &[1.0, 1.0]);
    check(&[0.2], &[0.2]);
    check(&[0.0, 0.0, 1.0], &[0.0, 0.0, 1.0]);
    check(&[], &[]);
}

#[test]
fn what_is_no_probability_is_refused() {
    for wrong in [f64::NAN, -0.1, 1.1] {
        let error = holm(&[0.5, wrong]).unwrap_err();
        assert!(matches!(error, StatsError::OutOfRange { at: 1, .. }), "{error}");
    }
}
