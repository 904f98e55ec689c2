//! Values of the reference tools on features and statistics files (`metrics/stats/tests/golden`, whose README says how
//! they were made), through the paths that a person gives.

use std::path::PathBuf;

use serde_json::Value;
use specimen_measure::meter::{Meter, Settings};
use specimen_measure::metrics::cmmd::cmmd;
use specimen_measure::metrics::fid::fid;
use specimen_measure::metrics::kid::kid;
use specimen_measure::metrics::prdc::prdc;
use specimen_measure::network::NoNetworks;
use specimen_measure::protocol::Protocol;

pub(crate) fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../stats/tests/golden").join(name)
}

fn expected() -> Value {
    serde_json::from_slice(&std::fs::read(path("expected.json")).unwrap()).unwrap()
}

/// Values of metrics over sets, where `expected` has those of distances.
fn sets() -> Value {
    serde_json::from_slice(&std::fs::read(path("expected_sets.json")).unwrap()).unwrap()
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
    let value = cmmd(&mut meter("cmmd"), &a, &b).unwrap().value;
    let exact = sets()["pairs"]["a|b"]["cmmd"].as_f64().unwrap();
    assert!((value - exact).abs() < 3e-12, "{value}, exactly {exact}");
}

/// The built-in protocol `name` with subsets of `size` rows, ten of them, by `seed`.
fn small_subsets(name: &str, size: usize, seed: u32) -> Protocol {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../protocols/{name}.toml"));
    let text = std::fs::read_to_string(file).unwrap();
    let lines = text.lines().map(|line| match line.split_once(" = ") {
        Some(("n_subsets", _)) => "n_subsets = 10".to_owned(),
        Some(("subset_size", _)) => format!("subset_size = {size}"),
        Some(("seed", _)) => format!("seed = {seed}"),
        _ => line.to_owned(),
    });
    Protocol::parse(name, &lines.collect::<Vec<_>>().join("\n")).unwrap()
}

#[test]
fn kid_over_subsets_draws_of_the_side_that_the_tool_draws_of_first() {
    let pair = &sets()["pairs"]["a|b"];
    let of = |protocol: &Protocol, real: &str, generated: &str| {
        kid(&mut Meter::new(protocol.clone(), &NoNetworks), &path(real), &path(generated)).unwrap()
    };
    // The tools were given a (300 rows) as their first set and b (256) as their second.
    let tools = &pair["kid_subsets_10_of_40"]["f64"];
    let number = |value: &Value| value.as_f64().unwrap();
    let tf1 = small_subsets("tf1", 40, 2020);
    let torchmetrics = small_subsets("torchmetrics-1.8", 40, 2020);
    for (protocol, real, generated) in [(&tf1, "b.npy", "a.npy"), (&torchmetrics, "a.npy", "b.npy")] {
        let found = of(protocol, real, generated);
        assert!((found.value - number(&tools["mean"])).abs() < 1e-13, "{protocol}: {}", found.value);
        assert!((number(&found.details["deviation"]) - number(&tools["deviation"])).abs() < 1e-13);
        // The other way round it is another value.
        assert!((of(protocol, generated, real).value - found.value).abs() > 1e-6, "{protocol}");
    }
    let found = of(&small_subsets("clean", 45, 7), "a.npy", "b.npy").value;
    assert!((found - number(&pair["clean_fid_kid_10_of_45_seed_7"])).abs() < 1e-12, "{found}");
}

#[test]
fn an_interval_beside_subsets_says_that_it_is_of_all_pairs() {
    let settings = Settings { cache: None, keep_going: false, interval: true, batch: 16 };
    let of = |protocol: Protocol| {
        let mut meter = Meter::with(protocol, &NoNetworks, settings.clone());
        kid(&mut meter, &path("a.npy"), &path("b.npy")).unwrap()
    };
    let subsets = of(small_subsets("tf1", 40, 2020));
    let all_pairs = of(Protocol::named("pytorch-fid").unwrap());
    assert_eq!(subsets.ci95, None);
    assert_eq!(subsets.details["all_pairs"], all_pairs.value);
    assert_eq!(subsets.details["all_pairs_ci95"], serde_json::json!(all_pairs.ci95.unwrap()));
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
    for measured in &four {
        let exact = sets()["pairs"]["a|b"]["prdc_k5"]["prdc_package"][measured.metric].as_f64().unwrap();
        assert!((measured.value - exact).abs() < 1e-14, "{}: {}", measured.metric, measured.value);
    }
    // Copies of the real side lie on surfaces, which k = 3 and `<=` of torch-fidelity take in.
    for (measured, part) in prdc(&mut meter("tf1"), &path("a.npy"), &path("a.npy")).unwrap().iter().zip(names)
    {
        let exact = sets()["pairs"]["a|a"]["prdc_k3"]["closed"][part].as_f64().unwrap();
        assert!((measured.value - exact).abs() < 1e-14, "{part}: {}", measured.value);
    }
}
