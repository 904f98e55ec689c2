//! Jackknife intervals, their coverage by simulation, paired differences of distances, and FID-infinity.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]

mod features;

use features::{expected_sets, number, on_threads, set};
use specimen_stats::counter_rng::CounterRng;
use specimen_stats::features::FeatureRows;
use specimen_stats::fid_infinity::{Subsets, fid_infinity, published_sizes};
use specimen_stats::frechet::frechet_distance_factored;
use specimen_stats::frechet_interval::frechet_interval;
use specimen_stats::gaussian::{FactoredGaussian, Gaussian};
use specimen_stats::jackknife::{JackknifePlan, jackknife, jackknife_each};
use specimen_stats::{Statistic, StatsError, moments::Moments};

fn plan(n_groups: usize) -> JackknifePlan {
    JackknifePlan::new(11, n_groups, 0.95).unwrap()
}

/// `[n, d]` independent normal numbers of this mean and deviation.
fn normals(seed: u64, n: usize, d: usize, mean: f64, deviation: f64) -> FeatureRows {
    let rng = CounterRng::new(seed);
    // Box and Muller; one less a uniform is above 0.
    let one = |i: u64| {
        let radius = (-2.0 * (1.0 - rng.uniform(2 * i)).ln()).sqrt();
        radius * (std::f64::consts::TAU * rng.uniform(2 * i + 1)).cos()
    };
    FeatureRows::new((0..(n * d) as u64).map(|i| (mean + deviation * one(i)) as f32).collect(), d).unwrap()
}

/// The standard normal distribution of `d` features.
fn standard(d: usize) -> FactoredGaussian {
    let identity = (0..d * d).map(|i| if i % (d + 1) == 0 { 1.0 } else { 0.0 }).collect();
    Gaussian::new(vec![0.0; d], identity, None).unwrap().factor().unwrap()
}

fn distance(reference: &FactoredGaussian, rows: &FeatureRows) -> f64 {
    frechet_distance_factored(reference, &FactoredGaussian::of_rows(rows).unwrap()).unwrap().value()
}

#[test]
fn the_jackknife_of_a_mean_is_its_standard_error() {
    // Groups of one: the textbook identity, exact but for rounding.
    let x: Vec<f64> = (0..30).map(|i| (f64::from(i) * 1.7).sin()).collect();
    let mean = |kept: &[usize]| Ok(kept.iter().map(|&i| x[i]).sum::<f64>() / kept.len() as f64);
    let got = jackknife(30, &plan(30), mean).unwrap();
    let exact = specimen_stats::averages::standard_error(&x).unwrap();
    assert!((got.standard_error - exact).abs() < 1e-15, "{got:?}");
    assert!(got.bias.abs() < 1e-15 && (got.n, got.n_groups) == (30, 30));
    // Student's t of 29 degrees of freedom at 97.5 %.
    assert!((got.interval.upper - got.value - 2.045_229_642 * exact).abs() < 1e-8);
}

#[test]
fn statistics_of_one_pass_have_the_estimates_of_each_alone() {
    let values: Vec<f64> = (0..30).map(|i| (f64::from(i) * 0.7).sin()).collect();
    let sum = |kept: &[usize], power: i32| kept.iter().map(|&i| values[i].powi(power)).sum::<f64>();
    let together = jackknife_each(30, &plan(10), |kept| Ok([sum(kept, 1), sum(kept, 2)])).unwrap();
    for (estimate, power) in together.iter().zip([1, 2]) {
        assert_eq!(*estimate, jackknife(30, &plan(10), |kept| Ok(sum(kept, power))).unwrap());
    }
    assert!(jackknife_each(5, &plan(10), |_| Ok([0.0])).is_err());
}

#[test]
fn the_jackknife_finds_the_bias_of_a_variance_with_divisor_n() {
    let x: Vec<f64> = (0..40).map(|i| (f64::from(i) * 1.7).sin()).collect();
    let variance = |kept: &[usize]| {
        let mean = kept.iter().map(|&i| x[i]).sum::<f64>() / kept.len() as f64;
        Ok(kept.iter().map(|&i| (x[i] - mean).powi(2)).sum::<f64>() / kept.len() as f64)
    };
    let got = jackknife(40, &plan(40), variance).unwrap();
    let unbiased = got.value * 40.0 / 39.0;
    assert!((got.value - got.bias - unbiased).abs() < 1e-14, "{got:?}");
}

#[test]
fn groups_deal_every_row_once_and_evenly() {
    let groups = plan(12).groups(100).unwrap();
    let mut rows = groups.concat();
    rows.sort_unstable();
    assert_eq!(rows, (0..100).collect::<Vec<_>>());
    assert!(groups.iter().all(|group| group.len() == 8 || group.len() == 9));
    assert_ne!(groups, JackknifePlan::new(12, 12, 0.95).unwrap().groups(100).unwrap());
}

#[test]
fn leaving_out_moments_equals_leaving_out_rows() {
    let (reference, b) = (FactoredGaussian::of_rows(&set("a")).unwrap(), set("b"));
    let plan = plan(16);
    let by_rows = jackknife(b.n(), &plan, |kept| Ok(distance(&reference, &b.select(kept)))).unwrap();
    let got = frechet_interval(&reference, &b, &plan).unwrap();
    assert_eq!(got.value, by_rows.value);
    assert!((got.standard_error / by_rows.standard_error - 1.0).abs() < 1e-10, "{got:?} {by_rows:?}");
    // Fewer rows than features take the other route.
    let d = set("d_lowrank");
    let got = frechet_interval(&reference, &d, &plan).unwrap();
    let by_rows = jackknife(d.n(), &plan, |kept| Ok(distance(&reference, &d.select(kept)))).unwrap();
    assert_eq!(got, by_rows);
}

/// Share of 95 % intervals that hold the mean distance over all runs.
fn coverage(n: usize, d: usize, mean: f64, deviation: f64, n_groups: usize) -> f64 {
    const N_RUNS: u64 = 500;
    let reference = standard(d);
    let runs: Vec<_> = (0..N_RUNS)
        .map(|run| {
            let rows = normals(1000 * n as u64 + run, n, d, mean, deviation);
            frechet_interval(&reference, &rows, &plan(n_groups)).unwrap()
        })
        .collect();
    let expectation = runs.iter().map(|run| run.value).sum::<f64>() / N_RUNS as f64;
    let holds = |run: &&specimen_stats::jackknife::JackknifeEstimate| {
        run.interval.lower <= expectation && expectation <= run.interval.upper
    };
    runs.iter().filter(holds).count() as f64 / N_RUNS as f64
}

#[test]
fn intervals_of_a_frechet_distance_hold_its_expectation_at_their_level() {
    // Three standard errors of a share of 500 runs about 95 % are 2.9 points.
    for (n, d, mean, deviation, n_groups) in
        [(200, 3, 0.5, 1.3, 20), (120, 6, 0.3, 0.8, 20), (60, 12, 0.6, 1.0, 15), (20, 24, 0.8, 1.0, 20)]
    {
        let share = coverage(n, d, mean, deviation, n_groups);
        assert!((share - 0.95).abs() < 0.03, "{n} rows of {d} features: {share}");
    }
}

#[test]
fn intervals_of_equal_laws_are_wide_enough() {
    // At distance zero the estimate is a sum of squares, for which the jackknife errs on the wide side.
    let share = coverage(200, 3, 0.0, 1.0, 20);
    assert!(share > 0.92, "{share}");
}

#[test]
fn fid_infinity_over_prefixes_equals_numpy() {
    let expected = expected_sets();
    let reference = FactoredGaussian::of_rows(&set("a")).unwrap();
    let got = fid_infinity(&reference, &set("b"), &[100, 139, 178, 217, 256], Subsets::First).unwrap();
    for (i, (_, value)) in got.points.iter().enumerate() {
        let exact = number(&expected, &format!("/fid_infinity_a_b/values/{i}"));
        assert!((value / exact - 1.0).abs() < 1e-9, "{i}: {value}, expected {exact}");
    }
    for (name, value) in [("value", got.value), ("slope", got.slope)] {
        let exact = number(&expected, &format!("/fid_infinity_a_b/{name}"));
        assert!((value / exact - 1.0).abs() < 1e-9, "{name}: {value}, expected {exact}");
    }
}

#[test]
fn fid_infinity_of_equal_laws_is_near_zero_where_the_distance_is_not() {
    let (reference, rows) = (standard(16), normals(5, 3000, 16, 0.0, 1.0));
    let sizes = published_sizes(rows.n()).unwrap();
    assert_eq!((sizes.len(), sizes[0], sizes[1], sizes[14]), (15, 300, 492, 3000));
    let drawn = |seed| fid_infinity(&reference, &rows, &sizes, Subsets::Drawn { seed }).unwrap();
    let got = drawn(3);
    let biased = distance(&reference, &rows);
    assert!(got.value.abs() < 0.2 * biased, "{} against {biased}", got.value);
    assert_eq!(got, on_threads(3, || drawn(3)));
    assert_ne!(got, drawn(4));
    assert_eq!(published_sizes(100_000).unwrap()[0], 5000);
}

#[test]
fn the_digits_do_not_depend_on_shards_or_on_the_number_of_threads() {
    let (reference, rows) = (standard(6), normals(9, 700, 6, 0.2, 1.1));
    let mut merged = rows.select(&(0..77).collect::<Vec<_>>());
    merged.merge(&rows.select(&(77..700).collect::<Vec<_>>())).unwrap();
    let one = on_threads(1, || frechet_interval(&reference, &rows, &plan(20)).unwrap());
    assert_eq!(on_threads(4, || frechet_interval(&reference, &merged, &plan(20)).unwrap()), one);
}

#[test]
fn moments_without_a_part_are_those_of_the_rest() {
    let b = set("b");
    let of = |rows: std::ops::Range<usize>| {
        Moments::of_rows(b.select(&rows.collect::<Vec<_>>()).values(), b.d()).unwrap()
    };
    let rest = of(0..256).without(&of(0..30)).unwrap();
    let exact = of(30..256);
    assert_eq!(rest.n(), 226);
    let pairs = rest.covariance().unwrap().into_iter().zip(exact.covariance().unwrap());
    assert!(pairs.into_iter().all(|(x, y)| (x - y).abs() < 1e-13));
    assert_eq!(of(0..9).without(&of(0..9)).unwrap(), Moments::empty(b.d()).unwrap());
    assert!(of(0..9).without(&of(0..10)).is_err());
    assert!(of(0..9).without(&Moments::empty(3).unwrap()).is_err());
    assert!(Moments::of_gaussian(&of(0..9).value().unwrap()).unwrap().n() == 9);
}

#[test]
fn plans_and_sizes_that_cannot_be_are_errors() {
    assert!(JackknifePlan::new(1, 9, 0.95).is_err());
    assert!(JackknifePlan::new(1, 10, 1.0).is_err());
    assert!(JackknifePlan::new(1, 10, f64::NAN).is_err());
    assert!(matches!(plan(10).groups(9), Err(StatsError::TooFew { needed: 10, found: 9, .. })));
    assert!(jackknife(20, &plan(10), |kept| Ok(if kept.len() < 20 { f64::NAN } else { 1.0 })).is_err());
    let (reference, rows) = (standard(2), normals(1, 30, 2, 0.0, 1.0));
    let sizes = |sizes: &[usize]| fid_infinity(&reference, &rows, sizes, Subsets::First);
    assert!(matches!(sizes(&[10, 1]), Err(StatsError::OutOfRange { at: 1, .. })));
    assert!(matches!(sizes(&[31, 10]), Err(StatsError::OutOfRange { at: 0, .. })));
    assert!(matches!(sizes(&[30, 30]), Err(StatsError::NoSpread { .. })));
    assert!(sizes(&[]).is_err());
    assert!(published_sizes(19).is_err());
    assert!(frechet_interval(&standard(3), &rows, &plan(10)).is_err());
}

#[test]
fn groups_of_unequal_size_have_the_estimates_of_busing() {
    // Delete-m_j jackknife (Busing, Meijer and van der Leeden 1999, eq. 8 and 10) of a squared mean; fourteen rows in
    // ten groups, four of them of two.
    let x: Vec<f64> = (0..14).map(|i| (f64::from(i) * 0.9).sin() + 0.3).collect();
    let squared_mean = |kept: &[usize]| (kept.iter().map(|&i| x[i]).sum::<f64>() / kept.len() as f64).powi(2);
    let without = std::sync::Mutex::new(Vec::new());
    let got = jackknife(14, &plan(10), |kept| {
        without.lock().unwrap().push((14 - kept.len(), squared_mean(kept)));
        Ok(squared_mean(kept))
    });
    let got = got.unwrap();
    let groups: Vec<(f64, f64)> = without.into_inner().unwrap().iter().map(|&(m, x)| (m as f64, x)).collect();
    let groups: Vec<(f64, f64)> = groups.into_iter().filter(|group| group.0 > 0.0).collect();
    let mut sizes: Vec<f64> = groups.iter().map(|group| group.0).collect();
    sizes.sort_by(f64::total_cmp);
    assert_eq!(sizes, [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]);
    let corrected = 10.0 * got.value - groups.iter().map(|(m, x)| (1.0 - m / 14.0) * x).sum::<f64>();
    assert!((got.bias - (got.value - corrected)).abs() < 1e-14, "{got:?}");
    let variance: f64 = groups
        .iter()
        .map(|(m, x)| {
            let share = 14.0 / m;
            (share * got.value - (share - 1.0) * x - corrected).powi(2) / (share - 1.0)
        })
        .sum::<f64>()
        / 10.0;
    assert!((got.standard_error - variance.sqrt()).abs() < 1e-14, "{got:?}");
}

#[test]
fn fid_infinity_takes_subsets_of_two_rows_and_of_all() {
    let rows = normals(5, 6, 1, 0.0, 1.0);
    let found = fid_infinity(&standard(1), &rows, &[2, 3, 6], Subsets::First).unwrap();
    assert_eq!(found.points.iter().map(|point| point.0).collect::<Vec<_>>(), [2, 3, 6]);
    for wrong in [1, 7] {
        assert!(fid_infinity(&standard(1), &rows, &[2, wrong], Subsets::First).is_err(), "{wrong}");
    }
}
