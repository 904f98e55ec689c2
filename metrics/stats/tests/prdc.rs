//! Precision, recall, density, coverage and realism against prdc, torch-fidelity and their definitions.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]

mod features;

use features::{expected_sets, number, on_threads, recipe, set};
use specimen_stats::StatsError;
use specimen_stats::counter_rng::CounterRng;
use specimen_stats::features::FeatureRows;
use specimen_stats::prdc::{Prdc, PrdcValues, prdc};
use specimen_stats::realism::{Realism, realism};

fn check(pointer: &str, got: &PrdcValues, parts: &[&str]) {
    let expected = expected_sets();
    for &part in parts {
        let value = match part {
            "precision" => got.precision,
            "recall" => got.recall,
            "density" => got.density,
            _ => got.coverage,
        };
        let exact = number(&expected, &format!("{pointer}/{part}"));
        // Counts are equal; torch-fidelity's shares are f32.
        let tolerance = if pointer.ends_with("torch_fidelity") { 1e-7 } else { 1e-14 };
        assert!((value - exact).abs() < tolerance, "{pointer} {part}: {value}, expected {exact}");
    }
}

fn check_pair(name: &str, has_ties: bool) {
    let (real, generated) = name.split_once('|').unwrap();
    for k in [3, 5] {
        let got = prdc(&set(real), &set(generated), k).unwrap();
        let at = format!("/pairs/{name}/prdc_k{k}");
        let all = ["precision", "recall", "density", "coverage"];
        check(&format!("{at}/open"), &got.open, &all);
        check(&format!("{at}/closed"), &got.closed, &all);
        if !has_ties {
            check(&format!("{at}/prdc_package"), &got.open, &all);
            check(&format!("{at}/torch_fidelity"), &got.closed, &all[..2]);
            assert_eq!(got.open, got.closed, "{name}: continuous features have no ties");
        }
    }
}

#[test]
fn sets_without_ties_have_the_values_of_the_packages_under_both_rules() {
    check_pair("a|b", false);
    check_pair("c_lowrank|d_lowrank", false);
    check_pair("e2048|f2048", false);
}

#[test]
fn copies_are_counted_by_the_rule_and_not_by_rounding() {
    check_pair("a|a", true);
    check_pair("b|b_twice", true);
    check_pair("b_twice|b_twice", true);
}

#[test]
fn identical_constant_features_are_inside_closed_balls_and_outside_open_ones() {
    let constant = FeatureRows::new(vec![0.3; 20 * 7], 7).unwrap();
    let Prdc { open, closed, .. } = prdc(&constant, &constant, 3).unwrap();
    assert_eq!(open, PrdcValues { precision: 0.0, recall: 0.0, density: 0.0, coverage: 0.0 });
    assert_eq!(closed, PrdcValues { precision: 1.0, recall: 1.0, density: 20.0 / 3.0, coverage: 1.0 });
}

#[test]
fn the_worked_example_of_one_feature_holds() {
    // Real 0, 1, 3 with balls of radius 1, 1, 2; generated 0.5, 10 with balls of 9.5 both.
    let real = FeatureRows::new(vec![0.0, 1.0, 3.0], 1).unwrap();
    let generated = FeatureRows::new(vec![0.5, 10.0], 1).unwrap();
    let got = prdc(&real, &generated, 1).unwrap();
    // 0.5 lies in the balls of 0 and 1; all real rows lie within 9.5 of 0.5.
    let expected = PrdcValues { precision: 0.5, recall: 1.0, density: 1.0, coverage: 2.0 / 3.0 };
    assert_eq!((got.open, got.closed), (expected, expected));
    // Ball of 3 is larger than the median of 1 and is left out; 0.5 is half a radius from 0, 10 is nine from 1.
    assert_eq!(realism(&real, &generated, 1).unwrap(), [Realism::Score(2.0), Realism::Score(1.0 / 9.0)]);
}

#[test]
fn a_common_offset_moves_nothing_and_swapping_the_sets_swaps_precision_and_recall() {
    let (a, b) = (set("a"), set("b"));
    let moved =
        |x: &FeatureRows| FeatureRows::new(x.values().iter().map(|x| x + 8.0).collect(), x.d()).unwrap();
    // Adding 8 rounds features to 2^-20, far below the gaps between distances here.
    assert_eq!(prdc(&moved(&a), &moved(&b), 3).unwrap(), prdc(&a, &b, 3).unwrap());
    let (forward, backward) = (prdc(&a, &b, 3).unwrap().open, prdc(&b, &a, 3).unwrap().open);
    assert_eq!((forward.precision, forward.recall), (backward.recall, backward.precision));
}

#[test]
fn realism_equals_its_definition_and_a_copy_has_no_bound() {
    let expected = expected_sets();
    for name in ["a|b", "c_lowrank|d_lowrank", "e2048|f2048"] {
        let (real, generated) = name.split_once('|').unwrap();
        for (i, score) in realism(&set(real), &set(generated), 3).unwrap().iter().take(8).enumerate() {
            let exact = number(&expected, &format!("/pairs/{name}/realism_k3_first8/{i}"));
            let Realism::Score(score) = *score else { panic!("{name} {i}: {score:?}") };
            assert!((score / exact - 1.0).abs() < 1e-12, "{name} {i}: {score}, expected {exact}");
        }
    }
    let a = set("a");
    let n_copies = realism(&a, &a, 3).unwrap().iter().filter(|&&score| score == Realism::Copy).count();
    assert_eq!(n_copies, 150, "balls up to the median, half of 300, are kept");
}

#[test]
fn realism_and_precision_agree_on_who_is_inside_a_kept_ball() {
    let (a, b) = (set("a"), set("b"));
    let n_inside = realism(&a, &b, 3).unwrap().iter().filter(|&&x| x >= Realism::Score(1.0)).count();
    assert!(n_inside as f64 / b.n() as f64 <= prdc(&a, &b, 3).unwrap().closed.precision);
    assert!(n_inside > 0);
}

#[test]
fn merged_shards_and_any_number_of_threads_give_the_same_digits() {
    let (x, y) = (recipe("x", 700, 20, 0.0, 1.0).checked(), recipe("y", 600, 20, 0.1, 1.0).checked());
    let mut merged = y.select(&(0..41).collect::<Vec<_>>());
    merged.merge(&y.select(&(41..600).collect::<Vec<_>>())).unwrap();
    let whole = on_threads(1, || (prdc(&x, &y, 5).unwrap(), realism(&x, &y, 5).unwrap()));
    for n_threads in [2, 5] {
        let got = on_threads(n_threads, || (prdc(&x, &merged, 5).unwrap(), realism(&x, &merged, 5).unwrap()));
        assert_eq!(got, whole);
    }
}

#[test]
fn too_few_rows_for_the_neighbour_or_unequal_widths_are_errors() {
    let three = FeatureRows::new(vec![0.0, 1.0, 2.0], 1).unwrap();
    assert!(prdc(&three, &three, 2).is_ok());
    assert!(matches!(prdc(&three, &three, 3), Err(StatsError::TooFew { needed: 4, found: 3, .. })));
    assert!(prdc(&three, &three, 0).is_err());
    assert!(matches!(prdc(&three, &set("a"), 1), Err(StatsError::WrongSize { .. })));
    assert!(realism(&three, &three, 3).is_err());
    assert!(prdc(&FeatureRows::new(Vec::new(), 1).unwrap(), &three, 1).is_err());
}

/// Precision, recall, density and coverage by the definition, every distance in f64.
fn by_definition(real: &[Vec<f64>], generated: &[Vec<f64>], k: usize) -> PrdcValues {
    let distance = |x: &[f64], y: &[f64]| x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum::<f64>();
    let radius = |rows: &[Vec<f64>], i: usize| {
        let others = (0..rows.len()).filter(|&j| j != i);
        let mut all: Vec<f64> = others.map(|j| distance(&rows[i], &rows[j])).collect();
        all.sort_by(f64::total_cmp);
        all[k - 1]
    };
    let real_radii: Vec<f64> = (0..real.len()).map(|i| radius(real, i)).collect();
    let generated_radii: Vec<f64> = (0..generated.len()).map(|j| radius(generated, j)).collect();
    let holds = |i: usize, j: usize| distance(&real[i], &generated[j]) < real_radii[i];
    let is_held = |i: usize, j: usize| distance(&real[i], &generated[j]) < generated_radii[j];
    let (n, m) = (real.len(), generated.len());
    let count = |n: usize, what: &dyn Fn(usize) -> bool| (0..n).filter(|&at| what(at)).count() as f64;
    let n_held: f64 = (0..n).map(|i| count(m, &|j| holds(i, j))).sum();
    PrdcValues {
        precision: count(m, &|j| (0..n).any(|i| holds(i, j))) / m as f64,
        recall: count(n, &|i| (0..m).any(|j| is_held(i, j))) / n as f64,
        density: n_held / (k * m) as f64,
        coverage: count(n, &|i| (0..m).any(|j| holds(i, j))) / n as f64,
    }
}

#[test]
fn distances_that_f32_cannot_tell_apart_are_told_apart_by_f64() {
    let rows = |seed: u64, n: usize, d: usize, scale: f64, offset: f64| -> Vec<Vec<f64>> {
        let rng = CounterRng::new(seed);
        let value = |at: usize| f64::from((offset + scale * (rng.uniform(at as u64) - 0.5)) as f32);
        (0..n).map(|i| (0..d).map(|j| value(i * d + j)).collect()).collect()
    };
    let features = |rows: &[Vec<f64>]| {
        let values = rows.iter().flatten().map(|&x| x as f32).collect();
        FeatureRows::new(values, rows[0].len()).unwrap()
    };
    // High widths where all distances are alike, lengths that differ by far, and squares beyond the range of f32.
    for (seed, d, scale, offset) in
        [(1, 2048, 1.0, 0.0), (2, 512, 1e-3, 0.5), (3, 3, 1.0, 0.0), (4, 64, 1e22, 0.0), (5, 64, 1e-22, 0.0)]
    {
        let mut real = rows(seed, 300, d, scale, offset);
        let mut generated = rows(seed + 100, 280, d, scale, offset);
        if seed == 3 {
            real.iter_mut().step_by(3).flatten().for_each(|x| *x = f64::from((*x * 1e5) as f32));
            generated.iter_mut().step_by(4).flatten().for_each(|x| *x = f64::from((*x * 1e5) as f32));
        }
        let got = prdc(&features(&real), &features(&generated), 3).unwrap();
        assert_eq!(got.open, by_definition(&real, &generated, 3), "case {seed}");
    }
}

#[test]
fn a_tie_is_told_through_the_rounding_of_its_two_sides() {
    // The generated row lies as far from the first real one as the second real one does, along permuted axes; the third
    // real row makes the common origin one that f64 does not hold.
    let d = 48;
    for seed in 0..20 {
        let rng = CounterRng::new(seed);
        let step: Vec<f32> = (0..d as u64).map(|i| (rng.index(i, 2000) as f32 - 1000.0) / 1024.0).collect();
        let at: Vec<f32> = (0..d as u64).map(|i| rng.index(d as u64 + i, 5000) as f32 / 1024.0).collect();
        let shifted = |by: usize| -> Vec<f32> { (0..d).map(|i| at[i] + step[(i + by) % d]).collect() };
        let far = |by: f32| vec![by; d];
        let real = FeatureRows::new([at.clone(), shifted(0), far(1000.0)].concat(), d).unwrap();
        let generated = FeatureRows::new([shifted(7), far(-2000.0)].concat(), d).unwrap();
        let found = prdc(&real, &generated, 1).unwrap();
        // One ball more of two rows, in which the tie is the only one.
        assert_eq!(found.closed.density - found.open.density, 0.5, "seed {seed}");
    }
}

#[test]
fn a_tie_with_a_generated_ball_counts_beyond_every_real_one() {
    // The first real row ties with the ball of the first generated one; each set has a pair far off, whose balls are small.
    let d = 48;
    for seed in 0..20 {
        let rng = CounterRng::new(seed);
        let step: Vec<f32> = (0..d as u64).map(|i| (rng.index(i, 2000) as f32 - 1000.0) / 1024.0).collect();
        let at: Vec<f32> = (0..d as u64).map(|i| rng.index(d as u64 + i, 5000) as f32 / 1024.0).collect();
        let shifted = |by: usize| -> Vec<f32> { (0..d).map(|i| at[i] + step[(i + by) % d]).collect() };
        let near = |row: Vec<f32>| -> Vec<f32> { row.iter().map(|x| x + 0.125).collect() };
        let far = |by: f32| vec![by; d];
        let real = [shifted(7), near(shifted(7)), far(-20.0), near(far(-20.0))].concat();
        let generated = [at.clone(), shifted(0), far(10.0), near(far(10.0))].concat();
        let found =
            prdc(&FeatureRows::new(real, d).unwrap(), &FeatureRows::new(generated, d).unwrap(), 1).unwrap();
        assert_eq!(found.closed.recall - found.open.recall, 0.25, "seed {seed}");
    }
}
