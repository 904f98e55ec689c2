//! Paired comparisons: pairing by id, coverage of the intervals, and known answers.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]

use specimen_stats::StatsError;
use specimen_stats::bootstrap::{BootstrapPlan, Interval, MIN_RESAMPLES, bootstrap};
use specimen_stats::counter_rng::CounterRng;
use specimen_stats::normal::normal_quantile;
use specimen_stats::paired::{Paired, detectable_difference, ratio_of_sums_change, scores_up_to_rounding};
use specimen_stats::student::student_two_sided_p;
use specimen_stats::t_power::{detectable_mean, t_power};

fn plan(seed: u64, level: f64) -> BootstrapPlan {
    BootstrapPlan::new(seed, MIN_RESAMPLES, level).unwrap()
}

/// Log-normal run times of `n` prompts: a shared difficulty (deviation 0.5) and noise on each side (0.2, 0.3), the
/// method being twice as fast. The expectation of baseline over method is `2 exp((0.04 - 0.09) / 2)`.
fn simulated_times(dataset: u64, n: u64) -> Paired<u64> {
    times_of_ratio(2.0, dataset, n)
}

/// The same, the method being `ratio` times as fast.
fn times_of_ratio(ratio: f64, dataset: u64, n: u64) -> Paired<u64> {
    let rng = CounterRng::new(dataset);
    let normal = |counter: u64| normal_quantile(rng.uniform(counter).max(1e-12)).unwrap();
    let time = |i: u64, side: u64, scale: f64, noise: f64| {
        scale * (0.5 * normal(3 * i) + noise * normal(3 * i + side)).exp()
    };
    let baseline = (0..n).map(|i| (i, time(i, 1, ratio, 0.2)));
    let method = (0..n).map(|i| (i, time(i, 2, 1.0, 0.3)));
    Paired::join(baseline, method).unwrap()
}

/// The share of 2000 simulated comparisons of 60 prompts whose interval covers `truth` is within four binomial
/// deviations of `level`: 0.93 to 0.97 at 95 %. `examples/coverage.rs` counts many more.
fn check_coverage(level: f64, truth: f64, interval: impl Fn(&Paired<u64>, &BootstrapPlan) -> Interval) {
    let n_datasets = 2000_u64;
    let n_covered = (0..n_datasets)
        .filter(|&dataset| {
            let interval = interval(&simulated_times(100_000 + dataset, 60), &plan(dataset, level));
            (interval.lower..=interval.upper).contains(&truth)
        })
        .count();
    let share = n_covered as f64 / n_datasets as f64;
    let deviation = (level * (1.0 - level) / n_datasets as f64).sqrt();
    assert!((share - level).abs() <= 4.0 * deviation, "{share} covered");
}

#[test]
fn ninety_five_percent_intervals_of_the_speedup_cover_the_true_speedup() {
    let truth = 2.0 * (-0.025_f64).exp();
    check_coverage(0.95, truth, |pairs, plan| pairs.ratio_of_sums(plan).unwrap().interval.unwrap());
}

#[test]
fn eighty_percent_intervals_cover_the_true_speedup_four_times_in_five() {
    let truth = 2.0 * (-0.025_f64).exp();
    check_coverage(0.8, truth, |pairs, plan| pairs.ratio_of_sums(plan).unwrap().interval.unwrap());
}

#[test]
fn intervals_of_the_geometric_mean_cover_the_true_geometric_mean() {
    check_coverage(0.95, 2.0, |pairs, plan| pairs.geometric_mean_ratio(plan).unwrap().interval.unwrap());
}

#[test]
fn intervals_of_the_median_ratio_cover_the_true_median() {
    check_coverage(0.95, 2.0, |pairs, _| pairs.median_ratio(0.95).unwrap().interval);
}

#[test]
fn a_null_ratio_is_found_significant_once_in_twenty_and_a_detectable_one_four_times_in_five() {
    // The deviation of a log ratio is hypot(.2, .3); 2.80 standard errors of 60 pairs are what 80 % power sees.
    let detectable = (0.13_f64 / 60.0).sqrt() * 2.801_585;
    let n_datasets = 2000_u64;
    let found = |shift: f64| {
        let is_found = |dataset: &u64| {
            let logs = simulated_times(200_000 + dataset, 60).logarithms().unwrap();
            let shifted = Paired::join(
                logs.ids().iter().map(|&id| (id, 0.0)),
                logs.differences().zip(logs.ids()).map(|(d, &id)| (id, d + 2.0_f64.ln() + shift)),
            );
            shifted.unwrap().mean_difference(&plan(1, 0.95)).unwrap().p.unwrap() < 0.05
        };
        (0..n_datasets).filter(is_found).count() as f64 / n_datasets as f64
    };
    assert!((found(0.0) - 0.05).abs() < 0.02, "{}", found(0.0));
    assert!((found(detectable) - 0.8).abs() < 0.04, "{}", found(detectable));
}

#[test]
fn intervals_of_the_mean_difference_cover_the_true_difference() {
    // Log-normal means: exp(variance / 2), with variances .25 + .09 and .25 + .04.
    let truth = (0.17_f64).exp() - 2.0 * (0.145_f64).exp();
    check_coverage(0.95, truth, |pairs, plan| pairs.mean_difference(plan).unwrap().interval.unwrap());
}

#[test]
fn the_bootstrap_standard_error_of_a_mean_is_the_textbook_one() {
    let values: Vec<f64> = (0..100).map(|i| f64::from(i * 37 % 100)).collect();
    let got = bootstrap(100, &BootstrapPlan::new(5, 20_000, 0.95).unwrap(), |chosen| {
        chosen.iter().map(|&i| values[i]).sum::<f64>() / chosen.len() as f64
    })
    .unwrap();
    // A resample's variance divides by n; 20,000 replicates know it to 1/200, four times which is 2 %.
    let textbook = (values.iter().map(|x| (x - 49.5_f64).powi(2)).sum::<f64>() / 100.0 / 100.0).sqrt();
    assert!((got.standard_error / textbook - 1.0).abs() < 0.02, "{} {textbook}", got.standard_error);
}

#[test]
fn the_speedup_is_the_ratio_of_sums_and_long_prompts_weigh_more_than_in_the_geometric_mean() {
    let pairs = Paired::join([("a", 10.0), ("b", 1.0)], [("a", 5.0), ("b", 1.0)]).unwrap();
    assert!((pairs.ratio_of_sums(&plan(1, 0.95)).unwrap().value - 11.0 / 6.0).abs() < 1e-15);
    assert!((pairs.geometric_mean_ratio(&plan(1, 0.95)).unwrap().value - 2.0_f64.sqrt()).abs() < 1e-15);
}

#[test]
fn pairs_meet_by_id_whatever_order_they_come_in() {
    let baseline: Vec<(u64, f64)> = (0..40).map(|i| (i, 5.0 + (i as f64).sin())).collect();
    let method: Vec<(u64, f64)> = (0..40).map(|i| (i, 2.0 + (i as f64).cos())).collect();
    let in_order = Paired::join(baseline.clone(), method.clone()).unwrap();
    let shuffled = Paired::join(baseline.into_iter().rev(), method).unwrap();
    assert_eq!(in_order, shuffled);
    let (a, b) = (in_order.ratio_of_sums(&plan(3, 0.95)), shuffled.ratio_of_sums(&plan(3, 0.95)));
    assert_eq!(a.unwrap(), b.unwrap());
    assert_ne!(in_order.ratio_of_sums(&plan(3, 0.95)), in_order.ratio_of_sums(&plan(4, 0.95)));
}

#[test]
fn a_constant_speedup_has_an_interval_without_width() {
    let pairs = Paired::join((0..10).map(|i| (i, 4.0)), (0..10).map(|i| (i, 2.0))).unwrap();
    let got = pairs.ratio_of_sums(&plan(1, 0.95)).unwrap();
    assert_eq!((got.value, got.standard_error), (2.0, 0.0));
    assert_eq!(got.interval.map(|ends| [ends.lower, ends.upper]), Some([2.0, 2.0]));
    let difference = pairs.mean_difference(&plan(1, 0.95)).unwrap();
    assert_eq!((difference.value, difference.z, difference.p), (-2.0, None, None));
    // The mean of eight equal numbers is another one by rounding.
    let pairs = Paired::join((0..8).map(|i| (i, 1.0)), (0..8).map(|i| (i, 255.0 / 87.0))).unwrap();
    let difference = pairs.mean_difference(&plan(1, 0.95)).unwrap();
    assert_eq!((difference.standard_error, difference.z, difference.p), (0.0, None, None));
}

#[test]
fn scores_that_differ_by_rounding_alone_are_the_same() {
    let baseline = [0.41, -0.02, 0.27];
    // What three pictures scored in a batch of three had more than in a batch of six; the last pair differs for real.
    let of = |last: f64| {
        let (baseline, method) = ((0..3).zip(baseline).collect(), [0.41 - 2.4e-7, -0.02 + 6e-8, last]);
        let method = scores_up_to_rounding(&baseline, &(0..3).zip(method).collect());
        Paired::join(baseline, method).unwrap()
    };
    let same = of(0.27).mean_difference(&plan(1, 0.95)).unwrap();
    assert_eq!((same.value, same.z, same.p, same.detectable), (0.0, None, None, 0.0));
    assert_eq!(of(0.2701).differences().map(|d| (d * 1e6).round()).collect::<Vec<_>>(), [0.0, 0.0, 100.0]);
}

#[test]
fn the_change_of_a_ratio_is_that_of_the_ratios_of_sums() {
    let of = |above: [f64; 4], below: [f64; 4]| Paired::join((0..4).zip(above), (0..4).zip(below)).unwrap();
    let first = of([10.0, 1.0, 4.0, 5.0], [5.0, 1.0, 2.0, 2.0]);
    let second = of([9.0, 1.5, 4.5, 5.0], [4.0, 1.0, 2.0, 1.0]);
    let found = ratio_of_sums_change(&first, &second, &plan(1, 0.95)).unwrap();
    assert!((found.first - 2.0).abs() < 1e-15 && (found.second - 2.5).abs() < 1e-15, "{found:?}");
    assert!((found.change.value - 0.5).abs() < 1e-15, "{found:?}");
    // Pulls: (above - 2 below) / 2.5 are 0, -0.4, 0, 0.4; (above - 2.5 below) / 2 are -0.5, -0.5, -0.25, 1.25.
    // Their differences -0.5, -0.1, -0.25, 0.85 have s^2 = (0.25 + 0.01 + 0.0625 + 0.7225) / 3.
    let error = (1.045_f64 / 3.0 / 4.0).sqrt();
    let expected = student_two_sided_p(3, 0.5 / error).unwrap();
    assert!((found.p.unwrap() - expected).abs() < 1e-12, "{found:?} {expected}");
    // scipy.stats.nct, see the test of detectable differences.
    assert!((found.detectable - 4.255_898_687 * error).abs() < 1e-6, "{found:?}");
    let same = ratio_of_sums_change(&first, &first, &plan(1, 0.95)).unwrap();
    assert_eq!((same.change.value, same.p, same.detectable), (0.0, None, 0.0));
    let other = Paired::join([(0, 1.0), (9, 1.0)], [(0, 1.0), (9, 1.0)]).unwrap();
    assert!(ratio_of_sums_change(&first, &other, &plan(1, 0.95)).is_err());
}

#[test]
fn the_test_of_a_ratio_is_of_the_ratio_of_sums() {
    let of = |above: [f64; 4], below: [f64; 4]| Paired::join((0..4).zip(above), (0..4).zip(below)).unwrap();
    let (p, detectable) = of([10.0, 1.0, 4.0, 5.0], [5.0, 1.0, 2.0, 2.0]).ratio_of_sums_test().unwrap();
    // A ratio of 2; pulls (above - 2 below) / 2.5 are 0, -0.4, 0, 0.4, on its logarithm half as much.
    let error = (0.32_f64 / 3.0 / 4.0).sqrt() / 2.0;
    let expected = student_two_sided_p(3, 2.0_f64.ln() / error).unwrap();
    assert!((p.unwrap() - expected).abs() < 1e-12, "{p:?} {expected}");
    // scipy.stats.nct, see the test of detectable differences.
    assert!((detectable - (4.255_898_687 * error).exp()).abs() < 1e-6, "{detectable}");
    let still = of([2.0, 4.0, 6.0, 8.0], [1.0, 2.0, 3.0, 4.0]).ratio_of_sums_test().unwrap();
    assert_eq!(still, (None, 1.0));
    // Where both means are alike, once in twenty.
    let is_found = |dataset: &u64| {
        let pairs = times_of_ratio(0.025_f64.exp(), 700_000 + dataset, 60);
        pairs.ratio_of_sums_test().unwrap().0.unwrap() < 0.05
    };
    let share = (0..1000).filter(is_found).count() as f64 / 1000.0;
    assert!((0.02..=0.09).contains(&share), "{share}");
}

#[test]
fn a_change_of_a_ratio_that_is_none_is_found_significant_once_in_twenty() {
    let n_datasets = 1000_u64;
    let is_found = |dataset: &u64| {
        let (a, b) = (simulated_times(500_000 + 2 * dataset, 24), simulated_times(500_001 + 2 * dataset, 24));
        ratio_of_sums_change(&a, &b, &plan(1, 0.95)).unwrap().p.unwrap() < 0.05
    };
    let share = (0..n_datasets).filter(is_found).count() as f64 / n_datasets as f64;
    assert!((0.03..=0.075).contains(&share), "{share}");
}

#[test]
fn the_mean_difference_equals_the_worked_example() {
    // Differences 1, 2, 3, 4: mean 2.5, s^2 5/3, standard error sqrt(5 / 12).
    let pairs = Paired::join((0..4).map(|i| (i, 0.0)), (0..4).map(|i| (i, f64::from(i) + 1.0))).unwrap();
    let got = pairs.mean_difference(&plan(1, 0.95)).unwrap();
    let standard_error = (5.0_f64 / 12.0).sqrt();
    assert!((got.value - 2.5).abs() < 1e-15 && (got.standard_error - standard_error).abs() < 1e-15);
    assert!((got.z.unwrap() - 2.5 / standard_error).abs() < 1e-14);
    assert!((got.detectable / standard_error - 4.255_898_687).abs() < 1e-6);
}

#[test]
fn the_detectable_difference_has_a_power_of_80_percent_by_the_noncentral_t() {
    // scipy 1.17.1: the d at which nct.sf(c, n - 1, d) + nct.cdf(-c, n - 1, d) = 0.8, c = t.ppf(0.975, n - 1).
    let expected = [
        (2, 16.334_008_870),
        (3, 5.653_489_266),
        (4, 4.255_898_687),
        (5, 3.761_059_554),
        (6, 3.513_902_729),
        (7, 3.366_894_897),
        (8, 3.269_759_840),
        (12, 3.078_388_676),
        (16, 2.997_862_578),
        (32, 2.892_201_501),
        (100, 2.829_126_328),
        (1000, 2.804_278_597),
        (5000, 2.802_120_145),
        (1_000_000, 2.801_584_478),
    ];
    for (n, expected) in expected {
        let found = detectable_difference(1.0, n).unwrap();
        assert!((found / expected - 1.0).abs() < 3e-8, "{n} pairs: {found} and not {expected}");
        assert!((t_power(0.05, n as u64 - 1, expected).unwrap() - 0.8).abs() < 1e-8, "{n} pairs");
    }
    // nct.sf(c, 9, 1) + nct.cdf(-c, 9, 1); without a difference the level is what is found.
    assert!((t_power(0.05, 9, 1.0).unwrap() - 0.145_949_950).abs() < 1e-8);
    assert!((t_power(0.05, 9, -1.0).unwrap() - 0.145_949_950).abs() < 1e-8);
    assert!((t_power(0.1, 9, 0.0).unwrap() - 0.1).abs() < 1e-10);
    assert!((t_power(0.05, 1, 0.0).unwrap() - 0.05).abs() < 4e-6);
    assert!(t_power(0.05, 0, 1.0).is_err() && t_power(0.05, 9, f64::NAN).is_err());
    assert!(detectable_mean(0.0, 9).is_err() && detectable_mean(f64::NAN, 9).is_err());
}

#[test]
fn ids_that_do_not_match_are_named() {
    let join = |a: &[(u32, f64)], b: &[(u32, f64)]| Paired::join(a.to_vec(), b.to_vec()).unwrap_err();
    let id = |id: u32| id.to_string();
    assert_eq!(
        join(&[(1, 1.0), (2, 1.0)], &[(1, 1.0)]),
        StatsError::Unpaired { id: id(2), present: "baseline" }
    );
    assert_eq!(
        join(&[(1, 1.0)], &[(1, 1.0), (7, 1.0)]),
        StatsError::Unpaired { id: id(7), present: "method" }
    );
    assert_eq!(
        join(&[(1, 1.0), (1, 2.0)], &[(1, 1.0)]),
        StatsError::DuplicateId { id: id(1), side: "baseline" }
    );
    assert!(matches!(join(&[(1, f64::NAN)], &[(1, 1.0)]), StatsError::NotFinite { at: 0, .. }));
    assert!(matches!(join(&[], &[]), StatsError::TooFew { .. }));
}

#[test]
fn fewer_than_six_pairs_have_values_and_p_values_and_no_interval() {
    for n in 2..=7_u32 {
        let baseline = (0..n).map(|i| (i, 4.0 + f64::from(i)));
        let pairs = Paired::join(baseline, (0..n).map(|i| (i, 2.0 + f64::from(3 * i * i)))).unwrap();
        let plan = plan(1, 0.95);
        let (ratio, geomean) =
            (pairs.ratio_of_sums(&plan).unwrap(), pairs.geometric_mean_ratio(&plan).unwrap());
        let difference = pairs.mean_difference(&plan).unwrap();
        let change = ratio_of_sums_change(&pairs, &pairs, &plan).unwrap().change;
        let found = [ratio.interval, geomean.interval, difference.interval, change.interval];
        assert_eq!(found.map(|interval| interval.is_some()), [6 <= n; 4], "{n} pairs");
        assert_eq!(pairs.median_ratio(0.95).is_ok(), 6 <= n, "{n} pairs");
        assert!(ratio.value > 0.0 && difference.p.is_some(), "{n} pairs");
    }
}

#[test]
fn one_pair_or_a_time_of_zero_has_no_interval() {
    let one = Paired::join([(1, 2.0)], [(1, 1.0)]).unwrap();
    assert!(matches!(one.ratio_of_sums(&plan(1, 0.95)), Err(StatsError::TooFew { needed: 2, found: 1, .. })));
    let zero = Paired::join([(1, 2.0), (2, 2.0)], [(1, 1.0), (2, 0.0)]).unwrap();
    assert!(matches!(zero.ratio_of_sums(&plan(1, 0.95)), Err(StatsError::OutOfRange { at: 1, .. })));
    assert!(zero.mean_difference(&plan(1, 0.95)).is_ok());
    assert!(BootstrapPlan::new(1, 100, 0.95).is_err());
    assert!(BootstrapPlan::new(1, 2000, 95.0).is_err());
    assert!(detectable_difference(f64::NAN, 9).is_err());
}

/// Pairs of scores in whole numbers of `unit`.
fn pairs_in(unit: f64, scores: &[(i32, i32)]) -> Paired<usize> {
    let side =
        |of: fn(&(i32, i32)) -> i32| scores.iter().map(move |pair| f64::from(of(pair)) * unit).enumerate();
    Paired::join(side(|pair| pair.0), side(|pair| pair.1)).unwrap()
}

/// The interval of the mean difference of scores in whole numbers of `unit`, in that unit.
fn interval_in(unit: f64, scores: &[(i32, i32)]) -> Interval {
    let interval = pairs_in(unit, scores).mean_difference(&plan(7, 0.95)).unwrap().interval.unwrap();
    Interval { lower: interval.lower / unit, upper: interval.upper / unit, ..interval }
}

#[test]
fn rounding_breaks_no_tie_between_resamples_and_moves_no_end_off_zero() {
    let symmetric = [(3, 3), (4, 4), (4, 3), (5, 5), (4, 4), (3, 3), (3, 4), (4, 4)];
    let leaning = [(4, 4), (3, 3), (4, 3), (5, 5), (4, 4), (3, 4), (2, 4), (4, 4)];
    let drawn: Vec<(i32, i32)> = (0..24).map(|at| (3, 3 + [0, 0, 1, -1, 2, 0][at % 6])).collect();
    for scores in [&symmetric[..], &leaning, &drawn] {
        // Fifths, such as shares of five attributes, have sums with rounding; whole numbers have none.
        let (whole, fifths) = (interval_in(1.0, scores), interval_in(0.2, scores));
        for (whole, fifth) in [(whole.lower, fifths.lower), (whole.upper, fifths.upper)] {
            assert!((whole - fifth).abs() < 1e-9, "{whole} in whole numbers, {fifth} in fifths: {scores:?}");
            assert_eq!((whole < 0.0, whole > 0.0), (fifth < 0.0, fifth > 0.0), "{scores:?}");
        }
        let ratio =
            |unit: f64| pairs_in(unit, scores).ratio_of_sums(&plan(7, 0.95)).unwrap().interval.unwrap();
        let (whole, fifths) = (ratio(1.0), ratio(0.2));
        for (whole, fifth) in [(whole.lower, fifths.lower), (whole.upper, fifths.upper)] {
            assert!((whole - fifth).abs() < 1e-9, "{whole} in whole numbers, {fifth} in fifths: {scores:?}");
            assert_eq!((whole < 1.0, whole > 1.0), (fifth < 1.0, fifth > 1.0), "{scores:?}");
        }
    }
    let even = interval_in(0.2, &symmetric);
    assert!((even.lower + even.upper).abs() < 1e-9 && even.upper > 0.0, "{even:?}");
}
