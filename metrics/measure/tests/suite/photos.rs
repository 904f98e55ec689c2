//! Two halves of real photos, from files to the value, against what the reference tools print for the same weights
//! (`tests/golden/halves.json`, made by the script beside it). Weights are those by recipe, so none are needed.

use std::path::{Path, PathBuf};

use serde_json::Value;
use specimen_extract::network::{Dtype, NetworkName};
use specimen_extract::open::open_recipe;
use specimen_measure::error::MeasureError;
use specimen_measure::meter::{Meter, Settings};
use specimen_measure::metrics::clip_score::ClipScoreRule;
use specimen_measure::metrics::fid::fid;
use specimen_measure::metrics::inception_score::inception_score;
use specimen_measure::metrics::prdc::prdc;
use specimen_measure::network::{NetworkRule, Networks, Opened, TextNetwork};
use specimen_measure::protocol::Protocol;

/// Inception with weights by recipe.
struct Recipe;

impl Networks for Recipe {
    fn images(&self, _: &NetworkRule, layers: &[&str]) -> Result<Opened, MeasureError> {
        let network = open_recipe(NetworkName::InceptionFid, layers, Dtype::F32).unwrap();
        Ok(Opened { network: Box::new(network), provenance: None })
    }

    fn texts(&self, _: &NetworkRule, _: &ClipScoreRule) -> Result<Box<dyn TextNetwork>, MeasureError> {
        unreachable!("no text is scored here")
    }
}

/// The first and the last twenty photos by name, as lists of paths.
fn halves(root: &Path, photos: &Path) -> [PathBuf; 2] {
    let mut files: Vec<PathBuf> = std::fs::read_dir(photos)
        .unwrap()
        .map(|entry| entry.unwrap().path().canonicalize().unwrap())
        .collect();
    files.sort();
    assert_eq!(files.len(), 40);
    [("real.txt", &files[..20]), ("generated.txt", &files[20..])].map(|(name, half)| {
        let list = root.join(name);
        let lines: Vec<&str> = half.iter().map(|file| file.to_str().unwrap()).collect();
        std::fs::write(&list, lines.join("\n")).unwrap();
        list
    })
}

fn check(what: &str, found: f64, expected: &Value, tolerance: f64) {
    let expected = expected.as_f64().unwrap();
    assert!((found - expected).abs() <= tolerance * expected.abs(), "{what}: {found}, the tool {expected}");
}

#[test]
fn two_halves_of_the_photos_have_the_values_of_the_reference_tools() {
    let test = "two_halves_of_the_photos_have_the_values_of_the_reference_tools";
    let Some(photos) = specimen_testdata::find(test, "photos/coco_val2017") else { return };
    let root = tempfile::tempdir().unwrap();
    let [real, generated] = halves(root.path(), &photos);
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/halves.json");
    let expected: Value = serde_json::from_slice(&std::fs::read(golden).unwrap()).unwrap();
    let settings =
        Settings { cache: Some(root.path().join("cache")), keep_going: false, interval: false, batch: 4 };
    let meter = |protocol| Meter::with(Protocol::named(protocol).unwrap(), &Recipe, settings.clone());
    // 20 rows of 2048 features: the tools take roots of two thousand eigenvalues that should be zero, and what is left of
    // each adds up to 1.5e-5 of the value, in torchmetrics, which also rounds to f32, to 2.7e-5. Exact arithmetic on
    // each tool's own features has nothing to add: there the difference is at most 7e-7.
    for protocol in [
        "pytorch-fid",
        "clean",
        "clean-legacy-pytorch",
        "clean-legacy-tf",
        "lantern",
        "tf1",
        "torchmetrics-1.8",
    ] {
        let measured = fid(&mut meter(protocol), &real, &generated).unwrap();
        let tolerance = if protocol == "torchmetrics-1.8" { 3e-5 } else { 1.7e-5 };
        check(protocol, measured.value, &expected["fid"][protocol], tolerance);
        check("exact arithmetic", measured.value, &expected["exact"][protocol], 1e-6);
        assert_eq!(measured.n, [Some(20), Some(20)]);
        assert_eq!(measured.extractor.as_deref(), Some("inception-fid-2048-f32@recipe"));
    }
    // The features of `tf1` are there already; only the logits are new.
    let mut tf1 = meter("tf1");
    let four = prdc(&mut tf1, &real, &generated).unwrap();
    assert_eq!(tf1.n_forward(), 0);
    check("precision", four[0].value, &expected["torch_fidelity"]["precision"], 1e-6);
    check("recall", four[1].value, &expected["torch_fidelity"]["recall"], 1e-6);
    let score = inception_score(&mut tf1, &generated).unwrap();
    check("is", score.value, &expected["torch_fidelity"]["inception_score_mean"], 1e-5);
}
