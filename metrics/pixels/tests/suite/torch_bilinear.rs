//! Torch's bilinear interpolation against values that torch computed.

use specimen_pixels::Image;
use specimen_pixels::resample::torch::{bilinear, bilinear_antialias};

use crate::golden;

/// A few units in the last place of 255 in `f32`: torch's sums are contracted and ordered by its vector units.
const TOLERANCE: f64 = 8e-5;

#[test]
fn plain_aligned_and_antialiased_values_are_those_of_torch() {
    let cases = golden::json("torch_bilinear.json");
    let cases = cases["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 21);
    for case in cases {
        let size = |name: &str| golden::length(&case[name]);
        let pixels = golden::numbers(&case["pixels"]).into_iter().map(|value| value as u8).collect();
        let image = Image::new(size("width"), size("height"), pixels).to_float();
        let (width, height) = (size("to_width"), size("to_height"));
        let kind = case["kind"].as_str().unwrap();
        let resized = match kind {
            "plain" => bilinear(&image, width, height, false),
            "corners" => bilinear(&image, width, height, true),
            "antialias" => bilinear_antialias(&image, width, height),
            other => panic!("{other}"),
        };
        let planes = golden::numbers(&case["planes"]);
        assert_eq!(planes.len(), resized.values().len());
        for (found, expected) in resized.to_planes().into_iter().zip(planes) {
            let difference = (f64::from(found) - expected).abs();
            assert!(difference <= TOLERANCE, "{kind} {width}x{height}: {found} against {expected}");
        }
    }
}
