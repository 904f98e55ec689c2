//! Scores of preference through their protocols: by stand-ins, and by a narrow ViT-H/14 with weights by recipe against the
//! reference implementations.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;
use specimen_extract::clip::shape::{ClipLayout, ClipShapes, TextShape, VisionShape};
use specimen_extract::{recipe_weights::write_clip, transformer::StackShape};
use specimen_measure::Measurement;
use specimen_measure::captions::{Captions, Choice};
use specimen_measure::meter::{Meter, Settings};
use specimen_measure::metrics::{CaptionsOf, METRICS, PictureScore, Sides, preference::preference};
use specimen_measure::network::{Networks, NoNetworks};
use specimen_measure::protocol::Protocol;
use specimen_measure::published::Published;

use crate::stand_in::{StandIns, folder_of};

/// Metric and protocol.
const ALL: [(&str, &str); 5] = [
    ("pickscore", "pickscore"),
    ("hpsv2.0", "hpsv2.0"),
    ("hpsv2.0", "hpsv2.0-no-antialias"),
    ("hpsv2.1", "hpsv2.1"),
    ("hpsv2.1", "hpsv2.1-no-antialias"),
];

fn name_of(metric: &str) -> &'static str {
    METRICS.iter().find(|known| known.name == metric).unwrap().name
}

fn meter<'n>(protocol: &str, networks: &'n dyn Networks, interval: bool) -> Meter<'n> {
    let settings = Settings { cache: None, keep_going: false, interval, batch: 4 };
    Meter::with(Protocol::find(protocol).unwrap(), networks, settings)
}

/// The value of `metric` of pictures whose captions are known by their names.
fn measured(
    (metric, protocol): (&str, &str),
    networks: &dyn Networks,
    interval: bool,
    folder: &Path,
    captions: &BTreeMap<String, String>,
) -> (Measurement, Vec<PictureScore>) {
    let sides = Sides { captions: Some(CaptionsOf::Names(captions)), ..Sides::one(folder) };
    let mut outcome = preference(name_of(metric), &mut meter(protocol, networks, interval), &sides).unwrap();
    (outcome.values.remove(0), outcome.pictures)
}

fn captions_of(n: usize, n_captions: usize) -> BTreeMap<String, String> {
    (0..n).map(|at| (format!("pictures_{at:04}.ppm"), format!("caption {}", at % n_captions))).collect()
}

#[test]
fn the_value_is_the_mean_of_scaled_cosines_on_the_scale_of_its_pictures() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "pictures", 9);
    let networks = StandIns::default();
    for pair in ALL {
        let (value, pictures) = measured(pair, &networks, false, &folder, &captions_of(9, 9));
        let mean = pictures.iter().map(|picture| picture.score).sum::<f64>() / 9.0;
        assert!((value.value - mean).abs() < 1e-9 && value.ci95.is_none(), "{pair:?}");
        // The stand-in of a network of texts says 1.5 of its scale.
        let factor = if pair.0 == "pickscore" { 1.5_f64.exp() } else { 100.0 };
        let raw = value.details["raw_cosine"].as_f64().unwrap();
        assert!((raw * factor - mean).abs() < 1e-9 && raw.abs() <= 1.0, "{pair:?}");
        assert!(value.protocol.starts_with(&format!("{}@", pair.1)), "{}", value.protocol);
        assert_eq!(value.details["text_extractor"], "letters-f32@0123456789ab");
        assert_eq!(pictures[3].caption, "caption 3");
    }
}

#[test]
fn pictures_of_one_caption_are_one_group_of_the_interval() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "pictures", 12);
    let networks = StandIns::default();
    let interval =
        |n_captions: usize| measured(ALL[3], &networks, true, &folder, &captions_of(12, n_captions)).0;
    let each = interval(12);
    let ends = each.ci95.unwrap();
    assert!(ends[0] < each.value && each.value < ends[1], "{each:?}");
    assert_ne!(interval(6).ci95, each.ci95);
    let few = interval(5);
    assert!(few.ci95.is_none() && few.notes.iter().any(|note| note.contains("are of 5 captions")), "{few:?}");
}

#[test]
fn captions_of_a_file_are_paired_by_id_and_none_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let folder = folder_of(root.path(), "pictures", 3);
    let file = root.path().join("c.tsv");
    std::fs::write(&file, "id\tprompt\n2\tc\n0\ta\n1\tb\n").unwrap();
    let captions = Captions::read(&file, Choice::Only).unwrap();
    let networks = StandIns::default();
    let sides = Sides { captions: Some(CaptionsOf::File(&captions)), ..Sides::one(&folder) };
    let outcome = preference("pickscore", &mut meter("pickscore", &networks, false), &sides).unwrap();
    let pairs: Vec<(&str, &str)> =
        outcome.pictures.iter().map(|picture| (picture.id.as_str(), picture.caption.as_str())).collect();
    assert_eq!(pairs, [("0", "a"), ("1", "b"), ("2", "c")]);
    assert_eq!(outcome.values[0].details["caption"], "only");
    assert_eq!(outcome.values[0].details["captions_cut"], 0);
    let none = preference("hpsv2.1", &mut meter("hpsv2.1", &networks, false), &Sides::one(&folder));
    let why = none.unwrap_err().to_string();
    assert!(why.contains("specimen hpsv2.1 IMAGES CAPTIONS"), "{why}");
    // A protocol of one version does not measure the other.
    let other = preference("hpsv2.0", &mut meter("hpsv2.1", &networks, false), &sides);
    let why = other.unwrap_err().to_string();
    assert!(why.contains("hpsv2.0, hpsv2.0-no-antialias"), "{why}");
}

#[test]
fn absent_weights_are_said_with_the_command_that_fetches_them() {
    let folder = tempfile::tempdir().unwrap();
    for (protocol, network, file) in [
        ("pickscore", "pickscore-v1", "model.safetensors of yuvalkirstain/PickScore_v1"),
        ("hpsv2.0-no-antialias", "hps-v2.0", "HPS_v2_compressed.pt"),
        ("hpsv2.1", "hps-v2.1", "HPS_v2.1_compressed.pt"),
    ] {
        let networks = Published::new(Some(folder.path()), None);
        let metric = ALL.iter().find(|(_, known)| *known == protocol).unwrap().0;
        let why = Meter::new(Protocol::named(protocol).unwrap(), &networks).check(metric);
        let why = why.unwrap_err().to_string();
        for part in [format!("`specimen data fetch {network}`").as_str(), file, "specimen convert '"] {
            assert!(why.contains(part), "{part}: {why}");
        }
    }
    let why = Meter::new(Protocol::named("hpsv2.1").unwrap(), &NoNetworks).check("hpsv2.1").unwrap_err();
    assert!(why.to_string().contains("hps-v2.1"), "{why}");
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name)
}

/// From pictures and texts to the numbers of PickScore's README and of the package hpsv2, with weights by recipe.
#[test]
fn scores_are_those_of_the_reference_implementations() {
    let test = "scores_are_those_of_the_reference_implementations";
    if specimen_testdata::find(test, "tokenizers/bpe_simple_vocab_16e6.txt.gz").is_none() {
        return;
    }
    let expected = std::fs::read(golden("extract/tests/golden/clip_h/expected.json")).unwrap();
    let expected: Value = serde_json::from_slice(&expected).unwrap();
    let texts: Vec<String> = serde_json::from_value(expected["texts"].clone()).unwrap();
    let files: Vec<String> = serde_json::from_value(expected["files"].clone()).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let folder = scratch.path().join("pictures");
    std::fs::create_dir(&folder).unwrap();
    for file in &files {
        std::fs::copy(golden("pixels/tests/golden/prep").join(file), folder.join(file)).unwrap();
    }
    let captions: BTreeMap<String, String> = files.iter().cloned().zip(texts).collect();
    // The package mends the encoding of two of them, which this program leaves to the user.
    let mend = |text: &String| text.replace("Ã©", "é").replace("â€™", "'");
    let mended = captions.iter().map(|(file, text)| (file.clone(), mend(text))).collect();
    let narrow =
        |stack: StackShape, width| StackShape { width, depth: 2, n_heads: 2, mlp: 4 * width, ..stack };
    let ClipShapes { vision, text, .. } = ClipShapes::H14;
    let vision = VisionShape { stack: narrow(vision.stack, 160), n_joint: 64, ..vision };
    let text = TextShape { stack: narrow(text.stack, 128), n_joint: 64, ..text };
    for (pair, layout, key) in [
        // Made with Pillow 13.
        (("pickscore", "pickscore+pillow-13"), ClipLayout::HuggingFace, "pickscore"),
        (ALL[1], ClipLayout::OpenAi, "hpsv2_antialias"),
        (ALL[2], ClipLayout::OpenAi, "hpsv2_plain"),
        (ALL[3], ClipLayout::OpenAi, "hpsv2_antialias"),
        (ALL[4], ClipLayout::OpenAi, "hpsv2_plain"),
    ] {
        let weights = scratch.path().join(format!("{key}.safetensors"));
        write_clip(&weights, layout, &vision, &text).unwrap();
        let networks = Published::new(None, Some(weights));
        let captions = if key == "pickscore" { &captions } else { &mended };
        let (value, pictures) = measured(pair, &networks, false, &folder, captions);
        let scores: Vec<f64> = serde_json::from_value(expected[key].clone()).unwrap();
        let largest = scores.iter().fold(0.0_f64, |most, score| most.max(score.abs()));
        assert_eq!(pictures.len(), files.len());
        for picture in &pictures {
            let at = files.iter().position(|file| *file == picture.file).unwrap();
            let apart = (picture.score - scores[at]).abs();
            assert!(apart <= 1e-5 * largest, "{pair:?} {}: {} {}", picture.file, picture.score, scores[at]);
        }
        let mean = scores.iter().sum::<f64>() / 5.0;
        assert!((value.value - mean).abs() <= 1e-5 * largest, "{pair:?}: {} {mean}", value.value);
    }
}
