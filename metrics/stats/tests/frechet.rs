//! Fréchet distances against exact values and against what the Python packages return.
#![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]

mod features;

use features::{Features, expected, number, recipe, shipped};
use specimen_stats::frechet::{FrechetDistance, frechet_distance, frechet_distance_factored};
use specimen_stats::gaussian::Gaussian;
use specimen_stats::moments::Moments;
use specimen_stats::{Statistic, StatsError};

fn gaussian(features: &Features) -> Gaussian {
    Moments::of_rows(&features.rows, features.d).unwrap().value().unwrap()
}

/// Checks every part against the exact values. Traces are sums over `d` variances or at most `d` singular values whose
/// roundings are independent, on either side, so parts agree within `2 sqrt(d) 2^-52 (tr S1 + tr S2)`: 4e-15 of the
/// traces at d = 64 and 2e-14 at d = 2048, far below the 1e-9 relative that is promised.
/// `eigenvalue_share` of `tr sqrt(S1 S2)` is added, twice: 1e-11 for full-rank pairs, where roots of eigenvalues may be
/// taken within that bound, else 0.
fn check_exact(pair: &str, first: &Gaussian, second: &Gaussian, eigenvalue_share: f64) {
    let got = frechet_distance(first, second).unwrap();
    let expected = expected();
    let exact = |part: &str| number(&expected, &format!("/pairs/{pair}/exact_f64/{part}"));
    let tolerance = 2.0 * (first.mean().len() as f64).sqrt() * f64::EPSILON * (exact("tr1") + exact("tr2"))
        + 2.0 * eigenvalue_share * exact("tr_sqrt");
    for (part, value) in [
        ("fid", got.value()),
        ("mean_term", got.mean_term),
        ("tr1", got.trace_first),
        ("tr2", got.trace_second),
        ("tr_sqrt", got.trace_sqrt),
    ] {
        let error = (value - exact(part)).abs();
        assert!(error <= tolerance, "{pair} {part}: {value} off by {error:e}, allowed {tolerance:e}");
    }
    // Their square roots of rounding errors cost 1.3e-6 relative, torchmetrics' f32 output a further 2e-6.
    for (package, relative) in [
        ("pytorch_fid", 1e-5),
        ("clean_fid_fid_from_feats", 1e-5),
        ("torch_fidelity", 1e-5),
        ("torchmetrics_FID_class", 1e-5),
    ] {
        let theirs = number(&expected, &format!("/pairs/{pair}/{package}"));
        assert!((got.value() - theirs).abs() <= relative * theirs.abs() + 1e-9, "{pair} {package}: {theirs}");
    }
}

#[test]
fn full_rank_features_give_the_exact_distance() {
    check_exact("a|b", &gaussian(&shipped("a")), &gaussian(&shipped("b")), 1e-11);
}

#[test]
fn a_set_is_at_distance_zero_from_itself() {
    let a = gaussian(&shipped("a"));
    check_exact("a|a", &a, &a, 1e-11);
    assert!(frechet_distance(&a, &a).unwrap().covariance_term >= 0.0);
}

#[test]
fn fewer_rows_than_features_give_the_exact_distance() {
    check_exact(
        "c_lowrank|d_lowrank",
        &gaussian(&shipped("c_lowrank")),
        &gaussian(&shipped("d_lowrank")),
        0.0,
    );
}

#[test]
fn fifty_rows_of_2048_features_give_the_exact_distance() {
    let (e, f) = (recipe("e", 60, 2048, 0.0, 1.0), recipe("f", 50, 2048, 0.03, 1.0));
    check_exact("e2048|f2048", &gaussian(&e), &gaussian(&f), 0.0);
}

#[test]
fn the_rank_is_found_when_the_number_of_rows_is_not_told() {
    let without_n = |name: &str| {
        let known = gaussian(&shipped(name));
        Gaussian::new(known.mean().to_vec(), known.covariance().to_vec(), None).unwrap()
    };
    let (c, d) = (without_n("c_lowrank"), without_n("d_lowrank"));
    assert_eq!((c.factor().unwrap().rank(), d.factor().unwrap().rank()), (39, 49));
    check_exact("c_lowrank|d_lowrank", &c, &d, 0.0);
}

#[test]
fn the_shipped_matrix_is_the_one_the_recipe_makes() {
    assert_eq!(shipped("b").rows, recipe("b", 256, 64, 0.05, 0.9).rows);
}

#[test]
fn a_factored_reference_gives_the_same_digits_and_the_order_does_not_matter() {
    let (a, d) = (gaussian(&shipped("a")), gaussian(&shipped("d_lowrank")));
    let forward = frechet_distance(&a, &d).unwrap();
    assert_eq!(frechet_distance_factored(&a.factor().unwrap(), &d.factor().unwrap()).unwrap(), forward);
    let backward = frechet_distance(&d, &a).unwrap();
    assert!((forward.value() - backward.value()).abs() < 1e-11, "{forward:?} {backward:?}");
}

#[test]
fn one_dimension_follows_the_closed_form() {
    // (m1 - m2)^2 + (s1 - s2)^2.
    let one =
        |mean: f64, deviation: f64| Gaussian::new(vec![mean], vec![deviation * deviation], None).unwrap();
    let FrechetDistance { mean_term, covariance_term, .. } =
        frechet_distance(&one(1.0, 3.0), &one(-1.0, 0.5)).unwrap();
    assert!((mean_term - 4.0).abs() < 1e-15 && (covariance_term - 6.25).abs() < 1e-14);
    let constant = frechet_distance(&one(1.0, 3.0), &one(1.0, 0.0)).unwrap();
    assert!((constant.value() - 9.0).abs() < 1e-14);
}

#[test]
fn a_variance_a_million_millionth_of_the_largest_keeps_its_digits() {
    // tr sqrt(S S) = tr S. The root of a rounding error in the eigenvalue 1e-24 would be 1e-8.
    let thin = Gaussian::new(vec![0.0; 2], vec![1.0, 0.0, 0.0, 1e-12], None).unwrap();
    let got = frechet_distance(&thin, &thin).unwrap();
    assert!((got.trace_sqrt - got.trace_first).abs() <= 2.0 * f64::EPSILON, "{got:?}");
}

#[test]
fn a_spectrum_over_eight_decades_keeps_the_digits_of_its_exact_trace() {
    // Commuting diagonal covariances in a common random basis: tr sqrt(S1 S2) is the sum of sqrt(s_i t_i).
    let d = 40;
    let reflect = |values: &dyn Fn(usize) -> f64| {
        // A Householder reflection mixes all directions; H diag H is exact to rounding.
        let u: Vec<f64> = (0..d).map(|i| ((i * 7 + 3) as f64).sin()).collect();
        let square: f64 = u.iter().map(|x| x * x).sum();
        let h = |i: usize, j: usize| f64::from(u8::from(i == j)) - 2.0 * u[i] * u[j] / square;
        let entry = |i: usize, j: usize| (0..d).map(|k| h(i, k) * values(k) * h(j, k)).sum::<f64>();
        let covariance = (0..d * d).map(|at| entry((at / d).max(at % d), (at / d).min(at % d))).collect();
        Gaussian::new(vec![0.0; d], covariance, None).unwrap()
    };
    let s = |k: usize| 10_f64.powf(-8.0 * k as f64 / (d - 1) as f64);
    let t = |k: usize| 3.0 * 10_f64.powf(-8.0 * ((k * 11) % d) as f64 / (d - 1) as f64);
    let exact: f64 = (0..d).map(|k| (s(k) * t(k)).sqrt()).sum();
    let got = frechet_distance(&reflect(&s), &reflect(&t)).unwrap().trace_sqrt;
    // The matrices themselves are rounded, which moves an eigenvalue of 1e-8 by up to 2^-52 and its root by 1e-12.
    assert!((got / exact - 1.0).abs() < 1e-9, "{got} {exact}");
}

#[test]
fn statistics_once_stored_as_f32_cost_no_more_than_their_rounding() {
    let rounded = |name: &str| {
        let exact = gaussian(&shipped(name));
        let covariance = exact.covariance().iter().map(|&x| f64::from(x as f32)).collect();
        Gaussian::new(exact.mean().to_vec(), covariance, exact.n()).unwrap()
    };
    let got = frechet_distance(&rounded("c_lowrank"), &rounded("d_lowrank")).unwrap().value();
    let exact = number(&expected(), "/pairs/c_lowrank|d_lowrank/exact_f64/fid");
    // Rounding entries by 2^-24 moves zero eigenvalues to about 1e-7, each adding up to the root of that.
    assert!((got - exact).abs() < 2.0 * 64.0 * 1e-7_f64.sqrt(), "{got} {exact}");
}

#[test]
fn what_is_no_covariance_is_refused() {
    let fault = |covariance: Vec<f64>| Gaussian::new(vec![0.0; 2], covariance, None);
    assert!(matches!(fault(vec![1.0, 0.5, 0.2, 1.0]), Err(StatsError::NotCovariance { .. })));
    assert!(matches!(fault(vec![-1.0, 0.0, 0.0, 1.0]), Err(StatsError::NotCovariance { .. })));
    assert!(matches!(fault(vec![1.0, f64::NAN, 0.0, 1.0]), Err(StatsError::NotFinite { at: 1, .. })));
    assert!(matches!(fault(vec![1.0, 0.0, 1.0]), Err(StatsError::WrongSize { expected: 4, found: 3, .. })));
    let indefinite = fault(vec![1.0, 2.0, 2.0, 1.0]).unwrap();
    assert!(matches!(indefinite.factor(), Err(StatsError::NotCovariance { .. })));
    let hollow = fault(vec![0.0, 1.0, 1.0, 0.0]).unwrap();
    assert!(matches!(hollow.factor(), Err(StatsError::NotCovariance { .. })));
}

#[test]
fn one_row_or_unequal_features_have_no_distance() {
    let one_row = Moments::of_rows(&[1.0, 2.0], 2).unwrap();
    assert!(matches!(one_row.value(), Err(StatsError::TooFew { needed: 2, found: 1, .. })));
    let narrow = Gaussian::new(vec![0.0], vec![1.0], None).unwrap();
    let wide = Gaussian::new(vec![0.0; 2], vec![1.0, 0.0, 0.0, 1.0], None).unwrap();
    assert!(matches!(
        frechet_distance(&narrow, &wide),
        Err(StatsError::WrongSize { expected: 1, found: 2, .. })
    ));
}
