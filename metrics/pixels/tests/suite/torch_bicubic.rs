//! Torch's bicubic interpolation of floats against values that torch computed, and the whole preprocessing of HPSv2
//! against the package.

use specimen_pixels::resample::torch_bicubic::{antialiased, plain};
use specimen_pixels::{FloatImage, Image, Pipeline, decode};

use crate::golden;

/// In units of white: some units in the last place of 1 in `f32`, which torch's sums are contracted and ordered by.
const TOLERANCE: f64 = 2e-6;

#[test]
fn plain_and_antialiased_values_are_those_of_torch() {
    let cases = golden::json("torch_bicubic.json");
    let cases = cases["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 16);
    for case in cases {
        let size = |name: &str| golden::length(&case[name]);
        let pixels = golden::numbers(&case["pixels"]).into_iter().map(|value| value as f32 / 255.0).collect();
        let image = FloatImage::new(size("width"), size("height"), pixels);
        let (width, height) = (size("to_width"), size("to_height"));
        let kind = case["kind"].as_str().unwrap();
        let resized = match kind {
            "plain" => plain(&image, width, height),
            "antialias" => antialiased(&image, width, height),
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

fn steps(antialias: bool) -> Pipeline {
    let text = format!(
        r#"[
        {{"step":"standardise","subtract":[0,0,0],"divide":[255,255,255]}},
        {{"step":"resize","to":{{"longest-side":224}},"by":{{"engine":"torch-bicubic","antialias":{antialias}}}}},
        {{"step":"pad-to-square","side":224}},
        {{"step":"standardise","subtract":[0.48145466,0.4578275,0.40821073],"divide":[0.26862954,0.26130258,0.27577711]}}
        ]"#
    );
    serde_json::from_str(&text).unwrap()
}

fn of_fixture(file: &str, steps: &Pipeline) -> Vec<f32> {
    let image: Image = decode(&std::fs::read(golden::path("prep").join(file)).unwrap()).unwrap();
    steps.apply(image).unwrap().into_float().to_planes()
}

#[test]
fn the_steps_of_hpsv2_make_what_its_package_makes_of_every_fixture() {
    let expected = golden::json("hpsv2.json");
    let expected = expected.as_object().unwrap();
    assert_eq!(expected.len(), 13);
    for (kind, steps) in [("antialias", steps(true)), ("plain", steps(false))] {
        for (file, expected) in expected {
            let planes = of_fixture(file, &steps);
            assert_eq!(golden::numbers(&expected[kind]["shape"]), [3.0, 224.0, 224.0]);
            let values = golden::numbers(&expected[kind]["values"]);
            assert_eq!(values.len(), planes.len().div_ceil(997));
            for (found, expected) in planes.iter().step_by(997).zip(values) {
                // Divided by a deviation of 0.26 behind the resize.
                let difference = (f64::from(*found) - expected).abs() * 0.26;
                assert!(difference <= TOLERANCE, "{kind} {file}: {found} against {expected}");
            }
        }
    }
}

#[test]
fn antialiasing_changes_pictures_by_much_more_than_rounding() {
    let [with, without] =
        [true, false].map(|antialias| of_fixture("coco_640x427_420.jpg", &steps(antialias)));
    let largest = with.iter().zip(&without).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(largest > 0.1, "{largest}");
}
