//! Values of the reference tools on features and statistics files (`metrics/stats/tests/golden`, whose README says how
//! they were made), through the paths that a person gives.

use std::path::PathBuf;

use serde_json::Value;
use specimen_measure::cmmd::cmmd;
use specimen_measure::fid::fid;
use specimen_measure::kid::kid;
use specimen_measure::meter::Meter;
use specimen_measure::network::NoNetworks;
use specimen_measure::prdc::prdc;
use specimen_measure::protocol::Protocol;

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../stats/tests/golden").join(name)
}

fn expected() -> Value {
    serde_json::from_slice(&std::fs::read(path("expected.json")).unwrap()).unwrap()
}

fn meter(protocol: &str) -> Meter<'static> {
    Meter::new(Protocol::named(protocol).unwrap(), &NoNetworks)
}

fn check_fid(real: &str, generated: &str, exact: &Value, tolerance: f64) {
    let value = fid(&mut meter("pytorch-fid"), &path(real), &path(generated)).unwrap().value;
    let exact = exact.as_f64().unwrap();
    assert!((value - exact).abs() <= tolerance * exact, "{real} {generated}: {value}, exactly {exact}");
}

#[test]
fn the_distance_is_exact_for_features_statistics_and_any_mix() {
    let exact = &expected()["pairs"]["a|b"]["exact_f64"]["fid"];
    check_fid("a.npy", "b.npy", exact, 1e-9);
    check_fid("a_pytorch_fid_compressed.npz", "b_pytorch_fid_compressed.npz", exact, 1e-9);
    check_fid("a_cleanfid_uncompressed.npz", "b.npy", exact, 1e-9);
    check_fid("a_cleanfid_kid.npz", "b_pytorch_fid_compressed.npz", exact, 1e-9);
    check_fid("a_fortran.npz", "b.npy", exact, 1e-9);
}

#[test]
fn the_distance_is_exact_where_there_are_fewer_rows_than_features() {
    let exact = &expected()["pairs"]["c_lowrank|d_lowrank"]["exact_f64"]["fid"];
    check_fid("c_lowrank.npy", "d_lowrank.npy", exact, 1e-9);
}

#[test]
fn sets_of_features_have_the_values_of_the_formulas() {
    let pair = &expected()["pairs"]["a|b"];
    let (a, b) = (path("a.npy"), path("b.npy"));
    let value = kid(&mut meter("pytorch-fid"), &a, &b).unwrap().value;
    let exact = pair["kid_full_unbiased_f64"].as_f64().unwrap();
    assert!((value - exact).abs() < 1e-12, "{value}, exactly {exact}");
    assert!(cmmd(&mut meter("cmmd"), &a, &b).unwrap().value > 0.0);
}

#[test]
fn statistics_alone_are_refused_where_rows_are_needed() {
    let statistics = path("a_pytorch_fid_compressed.npz");
    let message = kid(&mut meter("pytorch-fid"), &statistics, &path("b.npy")).unwrap_err().to_string();
    assert!(message.contains("a_pytorch_fid_compressed.npz"), "{message}");
    assert!(message.contains("kid needs features"), "{message}");
}

#[test]
fn a_statistics_file_that_does_not_say_n_has_none() {
    let measured = fid(&mut meter("clean"), &path("a_pytorch_fid_compressed.npz"), &path("b.npy")).unwrap();
    assert_eq!(measured.n, [None, Some(256)]);
    assert_eq!(measured.extractor, None);
}

#[test]
fn prdc_is_four_values_with_k_and_rule() {
    let four = prdc(&mut meter("prdc"), &path("a.npy"), &path("b.npy")).unwrap();
    let names: Vec<&str> = four.iter().map(|measured| measured.metric).collect();
    assert_eq!(names, ["precision", "recall", "density", "coverage"]);
    assert_eq!((&four[0].details["k"], &four[0].details["rule"]), (&5.into(), &"<".into()));
}
