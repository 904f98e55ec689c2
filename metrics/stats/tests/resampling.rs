//! The bootstrap and the interval of a median against values written out from their formulas, and what rests on them.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]

mod features;

use features::{golden, number};
use serde_json::Value;
use specimen_stats::StatsError;
use specimen_stats::bootstrap::{BootstrapPlan, Estimate, MOST_ENUMERATED, bootstrap};
use specimen_stats::counter_rng::CounterRng;
use specimen_stats::median_interval::median_interval;
use specimen_stats::paired::{Paired, detectable_difference};

fn expected() -> Value {
    serde_json::from_slice(&std::fs::read(golden("expected_resampling.json")).unwrap()).unwrap()
}

fn values(expected: &Value) -> Vec<f64> {
    expected["values"].as_array().unwrap().iter().map(|value| value.as_f64().unwrap()).collect()
}

fn assert_near(what: &str, found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-9 * expected.abs(), "{what}: {found} is not {expected}");
}

fn assert_estimate(found: &Estimate, expected: &Value, name: &str) {
    let of = |part: &str| number(expected, &format!("/{name}/{part}"));
    assert_near("value", found.value, of("value"));
    assert_near("standard error", found.standard_error, of("standard_error"));
    let ends = found.interval.unwrap();
    assert_near("lower end", ends.lower, of("lower"));
    assert_near("upper end", ends.upper, of("upper"));
}

#[test]
fn the_stream_of_the_scrambled_zero_is_that_of_splitmix64() {
    // The seed whose scrambled form is 0.
    let rng = CounterRng::new(0x9E37_79B9_7F4A_7C15);
    let expected = expected();
    for (counter, bits) in (0..).zip(expected["splitmix64_from_0"].as_array().unwrap()) {
        assert_eq!(rng.bits(counter), bits.as_u64().unwrap(), "counter {counter}");
    }
}

#[test]
fn the_bootstrap_of_a_skewed_mean_has_the_values_of_its_formula() {
    let expected = expected();
    let values = values(&expected);
    let plan = BootstrapPlan::new(5, 2000, 0.9).unwrap();
    let found = bootstrap(values.len(), &plan, |chosen| {
        chosen.iter().map(|&i| values[i]).sum::<f64>() / chosen.len() as f64
    });
    assert_estimate(&found.unwrap(), &expected, "bootstrap_mean");
}

#[test]
fn the_bootstrap_of_a_geometric_mean_ratio_has_the_values_of_its_formula() {
    let expected = expected();
    let baseline = values(&expected).into_iter().enumerate();
    let paired = Paired::join(baseline, (0..9).map(|i| (i, 1.0))).unwrap();
    let plan = BootstrapPlan::new(6, 2000, 0.95).unwrap();
    let found = paired.geometric_mean_ratio(&plan).unwrap();
    assert_estimate(&found, &expected, "bootstrap_geometric_mean");
}

#[test]
fn of_few_observations_every_resample_counts_and_no_seed_moves_a_digit() {
    let expected = expected();
    let values = values(&expected).split_off(3);
    let of = |n: usize, seed: u64| {
        let plan = BootstrapPlan::new(seed, 2000, 0.95).unwrap();
        let mean =
            |chosen: &[usize]| chosen.iter().map(|&i| values[i % 6]).sum::<f64>() / chosen.len() as f64;
        bootstrap(n, &plan, mean).unwrap()
    };
    assert_estimate(&of(6, 5), &expected, "bootstrap_all_resamples");
    assert_eq!(of(6, 5), of(6, 6));
    assert_eq!(of(MOST_ENUMERATED, 5), of(MOST_ENUMERATED, 6));
    assert_ne!(of(MOST_ENUMERATED + 1, 5), of(MOST_ENUMERATED + 1, 6));
}

#[test]
fn the_interval_of_a_mean_difference_is_the_bootstrap_of_the_differences() {
    let expected = expected();
    let method = values(&expected).into_iter().enumerate();
    let paired = Paired::join((0..9).map(|i| (i, 0.0)), method).unwrap();
    let plan = BootstrapPlan::new(5, 2000, 0.9).unwrap();
    let found = paired.mean_difference(&plan).unwrap();
    assert_near("value", found.value, number(&expected, "/bootstrap_mean/value"));
    let ends = found.interval.unwrap();
    assert_near("lower end", ends.lower, number(&expected, "/bootstrap_mean/lower"));
    assert_near("upper end", ends.upper, number(&expected, "/bootstrap_mean/upper"));
}

#[test]
fn intervals_of_a_median_interpolate_between_exact_coverages() {
    let expected = expected();
    for case in expected["medians"].as_array().unwrap() {
        let (level, n) = (case[0].as_f64().unwrap(), case[1].as_u64().unwrap());
        let values: Vec<f64> = (0..n).map(|k| (k * k) as f64 * 0.5).collect();
        let found = median_interval(&values, level).unwrap().interval;
        for (end, name) in [(found.lower, "lower"), (found.upper, "upper")] {
            let exact = case[2][name].as_f64().unwrap();
            assert!((end - exact).abs() < 1e-9, "{name} of {n} at {level}: {end} is not {exact}");
        }
    }
}

#[test]
fn the_interval_of_a_median_ratio_is_that_of_the_ratios() {
    let baseline = (0..12).map(|i| (i, 2.0 + f64::from(i)));
    let method = (0..12).map(|i| (i, 4.0 + f64::from(i * i % 7)));
    let ratios: Vec<f64> = baseline.clone().zip(method.clone()).map(|((_, a), (_, b))| a / b).collect();
    let paired = Paired::join(baseline, method).unwrap();
    assert_eq!(paired.median_ratio(0.9).unwrap(), median_interval(&ratios, 0.9).unwrap());
    assert_eq!(paired.ids(), (0..12).collect::<Vec<i32>>());
}

#[test]
fn a_standard_error_that_is_none_detects_nothing() {
    for wrong in [-1.0, f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        assert!(matches!(detectable_difference(wrong, 9), Err(StatsError::OutOfRange { .. })), "{wrong}");
    }
    assert_eq!(detectable_difference(0.0, 9).unwrap(), 0.0);
    assert!(detectable_difference(1.0, 1).is_err());
}

#[test]
fn a_value_beyond_all_its_replicates_has_an_interval() {
    // All twelve observations at once come up in no resample: every replicate lies below, or above.
    let n_different =
        |chosen: &[usize]| chosen.iter().collect::<std::collections::BTreeSet<_>>().len() as f64;
    for sign in [1.0, -1.0] {
        let plan = BootstrapPlan::new(3, 2000, 0.9).unwrap();
        let found = bootstrap(12, &plan, |chosen| sign * n_different(chosen)).unwrap();
        assert_eq!(found.value, sign * 12.0);
        let ends = found.interval.unwrap();
        assert!(ends.lower <= ends.upper && ends.upper.abs() < 12.0, "{found:?}");
    }
}

#[test]
fn a_level_that_is_none_is_refused_as_such() {
    for level in [-0.5, 0.0, 1.0, 1.5, f64::NAN] {
        let found = median_interval(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], level);
        assert!(matches!(found, Err(StatsError::OutOfRange { .. })), "{level}: {found:?}");
    }
}
