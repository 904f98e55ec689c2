//! Torch's bilinear interpolation, of floats and of bytes, against values that torch computed.

use specimen_pixels::resample::torch::{bilinear, bilinear_antialias};
use specimen_pixels::resample::torch_u8;
use specimen_pixels::{Image, decode};

use crate::golden;

/// A few units in the last place of 255 in `f32`: torch's sums are contracted and ordered by its vector units.
const TOLERANCE: f64 = 8e-5;

#[test]
fn plain_aligned_and_antialiased_values_are_those_of_torch() {
    let cases = golden::json("torch_bilinear.json");
    let cases = cases["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 28);
    for case in cases {
        let size = |name: &str| golden::length(&case[name]);
        let pixels = golden::numbers(&case["pixels"]).into_iter().map(|value| value as u8).collect();
        let image = Image::new(size("width"), size("height"), pixels);
        let (width, height) = (size("to_width"), size("to_height"));
        let kind = case["kind"].as_str().unwrap();
        let planes = golden::numbers(&case["planes"]);
        if kind == "u8" {
            let resized = torch_u8::bilinear(&image, width, height).to_float().to_planes();
            let resized: Vec<f64> = resized.into_iter().map(f64::from).collect();
            assert_eq!(resized, planes, "{width}x{height}");
            continue;
        }
        let image = image.to_float();
        let resized = match kind {
            "plain" => bilinear(&image, width, height, false),
            "corners" => bilinear(&image, width, height, true),
            "antialias" => bilinear_antialias(&image, width, height),
            other => panic!("{other}"),
        };
        assert_eq!(planes.len(), resized.values().len());
        for (found, expected) in resized.to_planes().into_iter().zip(planes) {
            let difference = (f64::from(found) - expected).abs();
            assert!(difference <= TOLERANCE, "{kind} {width}x{height}: {found} against {expected}");
        }
    }
}

#[test]
fn squashed_bytes_are_bit_identical_on_every_fixture() {
    let expected = golden::json("torch_u8.json");
    let expected = expected.as_object().unwrap();
    assert_eq!(expected.len(), 13);
    for (file, expected) in expected {
        let image = decode(&std::fs::read(golden::path("prep").join(file)).unwrap()).unwrap();
        let squashed = torch_u8::bilinear(&image, 299, 299);
        assert_eq!(golden::sha256(squashed.rgb()), *expected, "{file}");
    }
}
