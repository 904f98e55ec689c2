//! The pipelines of the reference tools, written as a protocol's file would have them, on pictures of every kind.
//! Digests were made by the tools themselves (Pillow, clean-fid, torch-fidelity, torchvision).

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;
use specimen_pixels::{Image, Picture, Pipeline, decode};

use crate::golden;

/// Each convention of `prep/expected.json` as steps.
const CONVENTIONS: &str = r#"
pil_bicubic_u8_299 = [{ step = "resize", to = { square = 299 }, by = { engine = "pil-u8", filter = "bicubic" } }]
pil_bilinear_u8_299 = [{ step = "resize", to = { square = 299 }, by = { engine = "pil-u8", filter = "bilinear" } }]
pil_lanczos_u8_299 = [{ step = "resize", to = { square = 299 }, by = { engine = "pil-u8", filter = "lanczos" } }]
lantern_centercrop_lanczos256_u8 = [
    { step = "centre-crop", side = "shortest", offset = "half-even" },
    { step = "resize", to = { square = 256 }, by = { engine = "pil-u8", filter = "lanczos" } },
]
clip_resize224_crop_u8 = [
    { step = "resize", to = { shortest-side = 224 }, by = { engine = "pil-u8", filter = "bicubic" } },
    { step = "centre-crop", side = { pixels = 224 }, offset = "half-even" },
]
cleanfid_clean_f32_299 = [
    { step = "resize", to = { square = 299 }, by = { engine = "pil-f32", filter = "bicubic" } },
    { step = "clip" },
]
cleanfid_clean_after_lantern_f32_299 = [
    { step = "centre-crop", side = "shortest", offset = "half-even" },
    { step = "resize", to = { square = 256 }, by = { engine = "pil-u8", filter = "lanczos" } },
    { step = "resize", to = { square = 299 }, by = { engine = "pil-f32", filter = "bicubic" } },
    { step = "clip" },
]
pytorchfid_bilinear_f32_299_chw = [
    { step = "standardise", subtract = [0, 0, 0], divide = [255, 255, 255] },
    { step = "resize", to = { square = 299 }, by = { engine = "torch-bilinear", antialias = false, align_corners = false } },
]
tf1_bilinear_f32_299_chw = [{ step = "resize", to = { square = 299 }, by = { engine = "tf1-bilinear" } }]
torchmetrics_antialias_f32_299_chw = [
    { step = "resize", to = { square = 299 }, by = { engine = "torch-bilinear", antialias = true, align_corners = false } },
]
clip_normalized_f32_chw = [
    { step = "resize", to = { shortest-side = 224 }, by = { engine = "pil-u8", filter = "bicubic" } },
    { step = "centre-crop", side = { pixels = 224 }, offset = "half-even" },
    { step = "standardise", subtract = [0, 0, 0], divide = [255, 255, 255] },
    { step = "standardise", subtract = [0.48145466, 0.4578275, 0.40821073], divide = [0.26862954, 0.26130258, 0.27577711] },
]
"#;

/// Conventions whose floats are compared by value: torch contracts and orders its sums as its vector units like.
/// With each, the largest value that it can have.
const BY_VALUE: [(&str, f64); 2] =
    [("pytorchfid_bilinear_f32_299_chw", 1.0), ("torchmetrics_antialias_f32_299_chw", 255.0)];

#[derive(Deserialize)]
struct Conventions(BTreeMap<String, Pipeline>);

fn check_convention(name: &str) {
    let Conventions(conventions) = toml::from_str(CONVENTIONS).unwrap();
    let expected = golden::json("prep/expected.json");
    let pictures = expected.as_object().unwrap();
    assert_eq!(pictures.len(), 13);
    for (file, expected) in pictures {
        let image = decode(&std::fs::read(golden::path("prep").join(file)).unwrap()).unwrap();
        let made = conventions[name].apply(image).unwrap();
        assert_eq!(Some(made.size()), conventions[name].output_size());
        check_made(&format!("{file} {name}"), made, name, &expected[name]);
    }
}

fn check_made(place: &str, made: Picture, name: &str, expected: &Value) {
    match made {
        Picture::Bytes(image) => assert_eq!(golden::sha256(image.rgb()), expected["sha256"], "{place}"),
        Picture::Floats(image) => {
            let values = if name.ends_with("_chw") { image.to_planes() } else { image.into_values() };
            match BY_VALUE.iter().find(|(by_value, _)| *by_value == name) {
                Some((_, largest)) => check_values(place, &values, 1e-5 * largest, expected),
                None => assert_eq!(golden::sha256_f32(&values), expected["sha256"], "{place}"),
            }
        }
    }
}

fn check_values(place: &str, values: &[f32], tolerance: f64, expected: &Value) {
    let samples = golden::numbers(&expected["samples"]);
    let stride = values.len() / 8;
    for (found, expected) in values.iter().step_by(stride).zip(samples) {
        assert!((f64::from(*found) - expected).abs() <= tolerance, "{place}: {found} against {expected}");
    }
    let n = values.len() as f64;
    let mean = values.iter().map(|value| f64::from(*value)).sum::<f64>() / n;
    let variance = values.iter().map(|value| (f64::from(*value) - mean).powi(2)).sum::<f64>() / n;
    for (found, name) in [(mean, "mean"), (variance.sqrt(), "std")] {
        let expected = expected[name].as_f64().unwrap();
        assert!((found - expected).abs() <= tolerance, "{place}: {name} {found} against {expected}");
    }
}

#[test]
fn every_fixture_decodes_to_the_bytes_of_pillow() {
    for (file, expected) in golden::json("prep/expected.json").as_object().unwrap() {
        let image = decode(&std::fs::read(golden::path("prep").join(file)).unwrap()).unwrap();
        assert_eq!(golden::sha256(image.rgb()), expected["rgb_sha256"], "{file}");
    }
}

#[test]
fn pillow_resizes_are_bit_identical() {
    check_convention("pil_bicubic_u8_299");
    check_convention("pil_bilinear_u8_299");
    check_convention("pil_lanczos_u8_299");
}

#[test]
fn lanterns_crop_and_resize_are_bit_identical() {
    check_convention("lantern_centercrop_lanczos256_u8");
}

#[test]
fn clips_resize_crop_and_normalisation_are_bit_identical() {
    check_convention("clip_resize224_crop_u8");
    check_convention("clip_normalized_f32_chw");
}

#[test]
fn clean_fids_floats_are_bit_identical_also_behind_lanterns_crop() {
    check_convention("cleanfid_clean_f32_299");
    check_convention("cleanfid_clean_after_lantern_f32_299");
}

#[test]
fn torch_fidelitys_floats_are_bit_identical() {
    check_convention("tf1_bilinear_f32_299_chw");
}

#[test]
fn torchs_floats_agree_to_1e_5_of_their_range() {
    check_convention("pytorchfid_bilinear_f32_299_chw");
    check_convention("torchmetrics_antialias_f32_299_chw");
}

#[test]
fn a_pipeline_survives_being_written_down() {
    let Conventions(conventions) = toml::from_str(CONVENTIONS).unwrap();
    for pipeline in conventions.values() {
        let text = serde_json::to_string(pipeline).unwrap();
        assert_eq!(&serde_json::from_str::<Pipeline>(&text).unwrap(), pipeline);
        let image = Image::new(300, 260, vec![9; 300 * 260 * 3]);
        assert!(pipeline.apply(image).is_ok());
    }
}
