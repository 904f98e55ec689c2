//! FD-DINOv2 from files to the value against its equation on the features of transformers (`tests/golden/fd_dinov2.json`, made by
//! `make_fd_dinov2.py` beside it), under the protocol's own steps. Weights are those by recipe. The network is the smaller
//! published one: with the protocol's own the same comparison is in docs/measurements.

use std::path::{Path, PathBuf};

use serde_json::Value;
use specimen_extract::network::{Dtype, NetworkName};
use specimen_extract::open::open_recipe;
use specimen_measure::error::MeasureError;
use specimen_measure::meter::{Meter, Settings};
use specimen_measure::metrics::clip_score::ClipScoreRule;
use specimen_measure::metrics::fid::fid;
use specimen_measure::network::{NetworkRule, Networks, Opened, TextNetwork};
use specimen_measure::protocol::Protocol;

/// DINOv2 with weights by recipe.
struct Recipe;

impl Networks for Recipe {
    fn images(&self, rule: &NetworkRule, layers: &[&str]) -> Result<Opened, MeasureError> {
        assert_eq!(rule.name, "dinov2-vit-b14");
        let network = open_recipe(NetworkName::Dinov2VitB14, layers, Dtype::F32).unwrap();
        Ok(Opened { network: Box::new(network), provenance: None })
    }

    fn texts(&self, _: &NetworkRule, _: &ClipScoreRule) -> Result<Box<dyn TextNetwork>, MeasureError> {
        unreachable!("no text is scored here")
    }
}

/// The first six and the last seven golden pictures by name, as lists of paths.
fn halves(root: &Path) -> [PathBuf; 2] {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pixels/tests/golden/prep");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path().canonicalize().unwrap())
        .filter(|file| file.extension().is_some_and(|ending| ending != "json"))
        .collect();
    files.sort();
    assert_eq!(files.len(), 13);
    [("a.txt", &files[..6]), ("b.txt", &files[6..])].map(|(name, half)| {
        let list = root.join(name);
        let lines: Vec<&str> = half.iter().map(|file| file.to_str().unwrap()).collect();
        std::fs::write(&list, lines.join("\n")).unwrap();
        list
    })
}

#[test]
fn two_halves_of_the_golden_pictures_have_the_distance_of_the_reference() {
    let text = include_str!("../../../protocols/fd-dinov2.toml");
    let text = text.replace("name = \"dinov2-vit-l14\"", "name = \"dinov2-vit-b14\"");
    let protocol = Protocol::parse("base.toml", &text).unwrap();
    let root = tempfile::tempdir().unwrap();
    let [a, b] = halves(root.path());
    let settings = Settings { cache: None, keep_going: false, interval: false, batch: 4 };
    let measured = fid(&mut Meter::with(protocol, &Recipe, settings), &a, &b).unwrap();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/fd_dinov2.json");
    let golden: Value = serde_json::from_slice(&std::fs::read(golden).unwrap()).unwrap();
    let expected = golden["b14"]["fd"].as_f64().unwrap();
    let apart = (measured.value - expected).abs() / expected;
    assert!(apart <= 1e-5, "{}, the reference {expected}: {apart:e}", measured.value);
    assert_eq!(measured.n, [Some(6), Some(7)]);
    assert_eq!(measured.extractor.as_deref(), Some("dinov2-vit-b14-cls-f32@recipe"));
}
