//! Statistics without a reference: Vendi score and Inception Score, against torch-fidelity and their formulas.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]

mod features;

use features::{expected_sets, number, on_threads, recipe, set};
use specimen_stats::StatsError;
use specimen_stats::features::FeatureRows;
use specimen_stats::inception_score::{SplitCut, SplitOrder, inception_score, inception_score_cut};
use specimen_stats::vendi::vendi;

fn logits() -> FeatureRows {
    let a = set("a");
    FeatureRows::new(a.values().iter().map(|x| 4.0 * x).collect(), a.d()).unwrap()
}

#[test]
fn the_vendi_score_equals_its_formula_by_either_matrix() {
    let expected = expected_sets();
    // More rows than features and fewer.
    for name in ["a", "b", "b_twice", "c_lowrank", "d_lowrank", "e2048", "f2048"] {
        let (got, exact) = (vendi(&set(name)).unwrap(), number(&expected, &format!("/vendi/{name}")));
        assert!((got / exact - 1.0).abs() < 1e-11, "{name}: {got}, expected {exact}");
    }
}

#[test]
fn the_vendi_score_counts_different_pictures() {
    let orthogonal = FeatureRows::new(vec![3.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0], 3).unwrap();
    assert!((vendi(&orthogonal).unwrap() - 3.0).abs() < 1e-14);
    let alike = FeatureRows::new([1.0, 2.0, 3.0].repeat(50), 3).unwrap();
    assert!((vendi(&alike).unwrap() - 1.0).abs() < 1e-12);
    let b = set("b");
    let first = b.select(&(0..100).collect::<Vec<_>>());
    assert!((vendi(&set("b_twice")).unwrap() - vendi(&first).unwrap()).abs() < 1e-10, "copies add nothing");
}

#[test]
fn the_inception_score_equals_torch_fidelity_for_any_order_and_number_of_splits() {
    let expected = expected_sets();
    for (name, n_splits, order) in [
        ("as_given_10", 10, SplitOrder::AsGiven),
        ("shuffled_10", 10, SplitOrder::Shuffled(2020)),
        ("as_given_7", 7, SplitOrder::AsGiven),
    ] {
        let got = inception_score(&logits(), n_splits, order).unwrap();
        for (part, value) in [("mean", got.mean), ("deviation", got.deviation)] {
            let exact = number(&expected, &format!("/inception_score_of_4a/{name}/{part}"));
            assert!((value / exact - 1.0).abs() < 1e-11, "{name} {part}: {value}, expected {exact}");
        }
        assert_eq!(got.values.len(), n_splits);
    }
}

#[test]
fn chunks_are_those_of_torch_and_their_deviation_that_of_a_sample() {
    // torch.chunk cuts 23 rows for 10 splits into seven of 3 and one of 2.
    let rows = logits().select(&(0..23).collect::<Vec<_>>());
    let got = inception_score_cut(&rows, 10, SplitOrder::AsGiven, SplitCut::Chunks).unwrap();
    let alone = |from: usize, to: usize| {
        inception_score(&rows.select(&(from..to).collect::<Vec<_>>()), 1, SplitOrder::AsGiven).unwrap().mean
    };
    let expected: Vec<f64> = (0..8).map(|i| alone(3 * i, (3 * i + 3).min(23))).collect();
    assert_eq!(got.values.len(), 8);
    for (value, expected) in got.values.iter().zip(&expected) {
        assert!((value / expected - 1.0).abs() < 1e-13, "{value} {expected}");
    }
    let mean = expected.iter().sum::<f64>() / 8.0;
    let variance = expected.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / 7.0;
    assert!((got.mean - mean).abs() < 1e-12 && (got.deviation - variance.sqrt()).abs() < 1e-12);
}

#[test]
fn sure_and_even_classes_score_their_number_and_equal_pictures_score_one() {
    // One class is certain: the others underflow to probability 0 and add nothing.
    let sure: Vec<f32> =
        (0..40).flat_map(|i| (0..4).map(move |j| if i % 4 == j { 2000.0 } else { 0.0 })).collect();
    let sure = FeatureRows::new(sure, 4).unwrap();
    assert!((inception_score(&sure, 1, SplitOrder::AsGiven).unwrap().mean - 4.0).abs() < 1e-13);
    let equal = FeatureRows::new([0.5, 1.0, -3.0].repeat(20), 3).unwrap();
    let got = inception_score(&equal, 2, SplitOrder::AsGiven).unwrap();
    assert!((got.mean - 1.0).abs() < 1e-14 && got.deviation < 1e-14);
}

#[test]
fn merged_shards_and_any_number_of_threads_give_the_same_digits() {
    let x = recipe("x", 2500, 20, 0.0, 1.0).checked();
    let mut merged = x.select(&(0..700).collect::<Vec<_>>());
    merged.merge(&x.select(&(700..2500).collect::<Vec<_>>())).unwrap();
    let both = |rows: &FeatureRows| {
        (vendi(rows).unwrap(), inception_score(rows, 10, SplitOrder::Shuffled(1)).unwrap())
    };
    let whole = on_threads(1, || both(&x));
    assert_eq!(on_threads(2, || both(&merged)), whole);
    assert_eq!(on_threads(5, || both(&merged)), whole);
}

#[test]
fn no_rows_no_direction_and_more_splits_than_pictures_are_errors() {
    let none = FeatureRows::new(Vec::new(), 3).unwrap();
    assert!(vendi(&none).is_err());
    assert!(matches!(
        vendi(&FeatureRows::new(vec![0.0; 3], 3).unwrap()),
        Err(StatsError::OutOfRange { at: 0, .. })
    ));
    let split = |n_splits| inception_score(&logits().select(&[0, 1, 2]), n_splits, SplitOrder::AsGiven);
    assert!(split(3).is_ok());
    assert!(matches!(split(4), Err(StatsError::TooFew { needed: 4, found: 3, .. })));
    assert!(split(0).is_err());
}

#[test]
fn directions_and_classes_without_mass_add_nothing() {
    let alike = FeatureRows::new([1.0, 0.0].repeat(3), 2).unwrap();
    assert!((vendi(&alike).unwrap() - 1.0).abs() < 1e-12);
    // The third class underflows to exactly 0 in every row.
    let logits = FeatureRows::new([0.0, 1.0, -2000.0, 1.0, 0.0, -2000.0].repeat(4), 3).unwrap();
    let two = FeatureRows::new([0.0, 1.0, 1.0, 0.0].repeat(4), 2).unwrap();
    let score = |rows: &FeatureRows| inception_score(rows, 1, SplitOrder::AsGiven).unwrap().mean;
    assert!((score(&logits) - score(&two)).abs() < 1e-12 && score(&two) > 1.0);
}
