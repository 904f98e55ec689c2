//! KID over subsets and CMMD against torch-fidelity, clean-fid and their formulas in f64.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]

mod features;

use features::{expected_sets, number, on_threads, recipe, set};
use specimen_stats::StatsError;
use specimen_stats::cmmd::cmmd;
use specimen_stats::features::FeatureRows;
use specimen_stats::kid::kid_of_rows;
use specimen_stats::kid_subsets::{SubsetPlan, SubsetRule, kid_over_subsets};
use specimen_stats::numpy_random::NumpyRandom;

const PAIRS: [&str; 6] = ["a|b", "a|a", "c_lowrank|d_lowrank", "e2048|f2048", "b_twice|b_twice", "b|b_twice"];

fn pair(name: &str) -> (FeatureRows, FeatureRows) {
    let (first, second) = name.split_once('|').unwrap();
    (set(first), set(second))
}

fn plan(rule: SubsetRule, size: usize, seed: u32) -> SubsetPlan {
    SubsetPlan::new(rule, 10, size, seed).unwrap()
}

#[test]
fn choices_are_those_of_numpys_legacy_generator() {
    let expected = expected_sets();
    let mut rng = NumpyRandom::new(2020);
    for (name, n) in [("choice_300_40", 300), ("then_choice_256_40", 256)] {
        let indices: Vec<usize> =
            serde_json::from_value(expected["random_state_2020"][name].clone()).unwrap();
        assert_eq!(rng.choice(n, 40), indices, "{name}");
    }
}

#[test]
fn kid_over_torch_fidelitys_subsets_equals_its_formula_and_its_f32_value() {
    let expected = expected_sets();
    for name in PAIRS {
        let (first, second) = pair(name);
        let got = kid_over_subsets(&first, &second, &plan(SubsetRule::TorchFidelity, 40, 2020)).unwrap();
        for (part, value) in [("mean", got.mean), ("deviation", got.deviation)] {
            let of = |whose: &str| {
                number(&expected, &format!("/pairs/{name}/kid_subsets_10_of_40/{whose}/{part}"))
            };
            // Three means below 5 of 40 x 40 kernels, as in `tests/kid.rs`.
            assert!((value - of("f64")).abs() < 1e-13, "{name} {part}: {value}, expected {}", of("f64"));
            assert!((value - of("torch_fidelity")).abs() < 1e-5, "{name} {part}: {value}");
        }
    }
}

#[test]
fn kid_over_clean_fids_subsets_equals_clean_fid() {
    let expected = expected_sets();
    for name in PAIRS {
        let (first, second) = pair(name);
        let got = kid_over_subsets(&first, &second, &plan(SubsetRule::CleanFid, 45, 7)).unwrap();
        let theirs = number(&expected, &format!("/pairs/{name}/clean_fid_kid_10_of_45_seed_7"));
        assert!((got.mean - theirs).abs() < 1e-12, "{name}: {}, expected {theirs}", got.mean);
        // The smaller set of this pair has 40 rows, and clean-fid takes what there is.
        assert_eq!(got.subset_size, if name.starts_with('c') { 40 } else { 45 });
    }
}

#[test]
fn one_subset_of_everything_is_the_kid_over_all_rows() {
    let (a, b) = (set("c_lowrank"), set("d_lowrank"));
    let some = b.select(&(0..40).collect::<Vec<_>>());
    let whole = kid_of_rows(&a, &some).unwrap();
    let plan = SubsetPlan::new(SubsetRule::TorchFidelity, 1, 40, 3).unwrap();
    let subset = kid_over_subsets(&a, &some, &plan).unwrap();
    assert!((subset.mean - whole).abs() < 1e-13 && subset.deviation == 0.0);
}

#[test]
fn cmmd_equals_its_formula() {
    let expected = expected_sets();
    for name in PAIRS {
        let (first, second) = pair(name);
        let got = cmmd(&first, &second).unwrap();
        let exact = number(&expected, &format!("/pairs/{name}/cmmd"));
        // Up to 90,000 kernels within 1e-2 of 1, times 1000: 10 sqrt(90000) 2^-52 for each of three means.
        assert!((got - exact).abs() < 3e-12, "{name}: {got}, expected {exact}");
    }
}

#[test]
fn cmmd_ignores_lengths_and_order_and_is_zero_for_equal_sets() {
    let (a, b) = (set("a"), set("b"));
    let forward = cmmd(&a, &b).unwrap();
    assert!((cmmd(&b, &a).unwrap() - forward).abs() < 1e-12);
    let doubled = FeatureRows::new(a.values().iter().map(|x| 2.0 * x).collect(), a.d()).unwrap();
    assert!((cmmd(&doubled, &b).unwrap() - forward).abs() < 1e-12);
    assert!(cmmd(&a, &a).unwrap().abs() < 1e-12);
}

#[test]
fn merged_shards_have_the_digits_of_the_whole() {
    let (a, b) = (set("a"), set("b"));
    let mut merged = a.select(&(0..113).collect::<Vec<_>>());
    merged.merge(&a.select(&(113..300).collect::<Vec<_>>())).unwrap();
    let plan = plan(SubsetRule::TorchFidelity, 40, 5);
    assert_eq!(cmmd(&merged, &b).unwrap(), cmmd(&a, &b).unwrap());
    assert_eq!(kid_over_subsets(&merged, &b, &plan).unwrap(), kid_over_subsets(&a, &b, &plan).unwrap());
    assert!(merged.merge(&set("e2048")).is_err());
    assert_eq!(merged, a);
}

#[test]
fn the_digits_do_not_depend_on_the_number_of_threads() {
    let (x, y) = (recipe("x", 700, 20, 0.0, 1.0).checked(), recipe("y", 600, 20, 0.1, 1.0).checked());
    let all = |n_threads: usize| {
        on_threads(n_threads, || {
            let plan = plan(SubsetRule::CleanFid, 300, 5);
            (cmmd(&x, &y).unwrap(), kid_of_rows(&x, &y).unwrap(), kid_over_subsets(&x, &y, &plan).unwrap())
        })
    };
    let one = all(1);
    assert_eq!(one, all(2));
    assert_eq!(one, all(5));
}

#[test]
fn what_has_no_discrepancy_is_an_error() {
    let (c, e) = (set("c_lowrank"), set("e2048"));
    assert!(matches!(cmmd(&c, &e), Err(StatsError::WrongSize { expected: 64, found: 2048, .. })));
    let zeros = FeatureRows::new(vec![1.0, 0.0, 0.0, 0.0], 2).unwrap();
    assert!(matches!(cmmd(&zeros, &zeros), Err(StatsError::OutOfRange { at: 1, .. })));
    assert!(cmmd(&FeatureRows::new(Vec::new(), 64).unwrap(), &c).is_err());
    let too_large = plan(SubsetRule::TorchFidelity, 41, 1);
    let refused = kid_over_subsets(&c, &set("d_lowrank"), &too_large);
    assert!(matches!(refused, Err(StatsError::SubsetTooLarge { size: 41, n_smaller: 40 })));
    assert!(SubsetPlan::new(SubsetRule::CleanFid, 0, 40, 1).is_err());
    assert!(SubsetPlan::new(SubsetRule::CleanFid, 1, 1, 1).is_err());
    assert!(kid_over_subsets(&c, &set("d_lowrank"), &plan(SubsetRule::CleanFid, 1000, 3)).is_ok());
}
