//! The scene evaluator is the same network behind both seams.

use specimen_extract::{
    extractor::{FeatureExtractor, Pictures},
    network::{Batch, FeatureNet},
    scene_features::SceneFeatures,
};

#[test]
fn a_batch_of_pixels_has_the_features_of_its_pictures() {
    let net = SceneFeatures::embedded().unwrap();
    let n = 70;
    let bytes: Vec<u8> = (0..n * 64 * 64 * 3_usize).map(|i| (i * i / 7 % 251) as u8).collect();
    let pictures = Pictures { width: 64, height: 64, channels: 3, bytes };
    let value = |picture: usize, channel: usize, pixel: usize| {
        f32::from(pictures.bytes[(picture * 64 * 64 + pixel) * 3 + channel]) / 127.5 - 1.0
    };
    let planes = (0..n).flat_map(|picture| (0..3).map(move |channel| (picture, channel)));
    let values = planes.flat_map(|(p, c)| (0..64 * 64).map(move |pixel| value(p, c, pixel)));
    let batch = Batch { n, height: 64, width: 64, values: values.collect() };
    assert_eq!(net.forward(&batch).unwrap(), net.features(&pictures).unwrap());
    let identity = FeatureNet::identity(&net);
    assert!(identity.starts_with("scenes-feature-f32@"), "{identity}");
    let small = Batch { n: 1, height: 32, width: 32, values: vec![0.0; 3 * 32 * 32] };
    let message = net.forward(&small).unwrap_err().to_string();
    assert!(message.starts_with("scenes takes at least one picture of 64x64"), "{message}");
}
