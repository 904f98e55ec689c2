//! The steps in the protocols' own files against what the tools made of the same pictures (`prep/expected.json` of the
//! crate of pixels, whose README says how it was made).

use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};
use specimen_measure::protocol::Protocol;
use specimen_pixels::{Picture, Pipeline, decode};

/// Protocol, how many of its first steps, and what the tools' result is called. Those of `lantern-pr`, `prdc`, `cmmd` and
/// `torchmetrics-clip` are in no tool's result there.
const STEPS: [(&str, usize, &str); 10] = [
    ("clean", 2, "cleanfid_clean_f32_299"),
    ("clean-legacy-tf", 1, "tf1_bilinear_f32_299_chw"),
    ("clipscore", 4, "clip_normalized_f32_chw"),
    ("fd-dinov2", 3, "dgmeval_dinov2_f32_224_chw"),
    ("lantern", 4, "cleanfid_clean_after_lantern_f32_299"),
    ("lantern-clip", 2, "lantern_centercrop_lanczos256_u8"),
    ("pytorch-fid", 2, "pytorchfid_bilinear_f32_299_chw"),
    ("sjd", 2, "pytorchfid_bilinear_f32_299_chw"),
    ("tf1", 1, "tf1_bilinear_f32_299_chw"),
    ("torchmetrics-1.8", 1, "torchmetrics_antialias_f32_299_chw"),
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../pixels/tests/golden/prep")
}

fn bytes_of(picture: Picture, planes: bool) -> (Vec<u8>, Vec<f32>) {
    match picture {
        Picture::Bytes(image) => (image.rgb().to_vec(), Vec::new()),
        Picture::Floats(image) => {
            let values = if planes { image.to_planes() } else { image.into_values() };
            (values.iter().flat_map(|value| value.to_le_bytes()).collect(), values)
        }
    }
}

#[test]
fn protocols_make_the_pixels_of_their_tools() {
    let expected: Value =
        serde_json::from_slice(&std::fs::read(folder().join("expected.json")).unwrap()).unwrap();
    for (name, n_steps, made) in STEPS {
        let protocol = Protocol::named(name).unwrap();
        let steps = Pipeline::new(protocol.recipe().pixels.steps()[..n_steps].to_vec()).unwrap();
        for (file, expected) in expected.as_object().unwrap() {
            let image = decode(&std::fs::read(folder().join(file)).unwrap()).unwrap();
            let (bytes, values) = bytes_of(steps.apply(image).unwrap(), made.ends_with("_chw"));
            let expected = &expected[made];
            // torch orders its sums as its vector units like: by value, to 1e-5 of the range.
            let range = match name {
                "pytorch-fid" | "sjd" => 1.0,
                "torchmetrics-1.8" => 255.0,
                _ => {
                    let found: String =
                        Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
                    assert_eq!(found, expected["sha256"], "{name} {file}");
                    continue;
                }
            };
            let samples = expected["samples"].as_array().unwrap();
            assert_eq!(samples.len(), 8);
            for (found, sample) in values.iter().step_by(values.len() / 8).zip(samples) {
                let difference = (f64::from(*found) - sample.as_f64().unwrap()).abs();
                assert!(difference <= 1e-5 * range, "{name} {file}: {found}, the tool {sample}");
            }
        }
    }
}
