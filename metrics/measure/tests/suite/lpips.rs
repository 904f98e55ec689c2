//! LPIPS through the protocols: weights where they are looked for, a value pair by pair, and what is refused.

use std::path::Path;

use specimen_extract::lpips::{LpipsName, OpenLpips, write_recipe};
use specimen_measure::{
    MeasureError,
    metrics::pair_metric,
    network::{Batch, Dtype, Networks, NoNetworks, PairNetwork},
    pair_protocol::PairProtocol,
    pairs::{Intervals, PairOutcome, Pairs, measure_pairs},
    published::Published,
};

/// Writes a picture whose bytes are those of `byte`.
fn picture(path: &Path, [width, height]: [usize; 2], byte: impl Fn(usize) -> u8) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mut file = format!("P6\n{width} {height}\n255\n").into_bytes();
    file.extend((0..width * height * 3).map(byte));
    std::fs::write(path, file).unwrap();
}

fn measure(networks: &dyn Networks, a: &Path, b: &Path) -> Result<PairOutcome, MeasureError> {
    let (protocol, metric) = (PairProtocol::named("lpips-squeeze").unwrap(), pair_metric("lpips").unwrap());
    let measure = (metric.open)(&protocol, networks)?;
    let pairs = Pairs::open(a, b)?;
    measure_pairs((metric, &protocol), measure.as_ref(), &pairs, Intervals::OverPairs, |_| {})
}

#[test]
fn the_value_is_the_mean_over_pairs_of_any_size_with_the_weights_that_are_given() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let weights = root.join("both.safetensors");
    write_recipe(&weights, LpipsName::Squeeze).unwrap();
    let byte = |at: usize| (at * 7 + at / 50) as u8;
    let sizes = [[24, 30], [40, 20], [33, 33], [30, 24], [20, 40], [34, 32]];
    for (at, size) in sizes.into_iter().enumerate() {
        picture(&root.join(format!("a/{at}.ppm")), size, byte);
        picture(&root.join(format!("b/{at}.ppm")), size, |i| byte(i) ^ if at == 2 { 0 } else { 32 });
    }
    let networks = Published::new(Some(root), Some(weights));
    let PairOutcome { measured, pairs } = measure(&networks, &root.join("a"), &root.join("b")).unwrap();
    let net = OpenLpips::open_recipe(LpipsName::Squeeze, Dtype::F32);
    let mut sum = 0.0;
    for (pair, [width, height]) in pairs.iter().zip(sizes) {
        let batch = |xor: u8| {
            let plane = |c: usize| (0..width * height).map(move |at| byte(3 * at + c) ^ xor);
            let values = (0..3).flat_map(plane).map(|byte| (f64::from(byte) / 127.5 - 1.0) as f32).collect();
            Batch { n: 1, width, height, values }
        };
        let expected = net.distances([&batch(0), &batch(if pair.name == "2" { 0 } else { 32 })]).unwrap()[0];
        assert_eq!(pair.score, Some(expected), "{}", pair.name);
        sum += expected;
    }
    assert_eq!(pairs[2].score, Some(0.0));
    assert!((measured.value.unwrap() - sum / 6.0).abs() < 1e-15 && measured.ci95.is_some());
    assert!(measured.protocol.starts_with("lpips-squeeze@"), "{}", measured.protocol);
    let answered = serde_json::to_value(&measured).unwrap();
    let extractor = measured.extractor.unwrap();
    assert!(extractor.starts_with("lpips-squeeze-f32@") && extractor.contains(" + squeezenet1-1-f32@"));
    let why = "both.safetensors: of unknown origin: it does not name the file it was made from";
    assert_eq!(
        answered["notes"],
        serde_json::json!([format!("{extractor}: no published digest vouches for its weights: {why}")])
    );
}

#[test]
fn pictures_that_are_too_small_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let weights = root.join("both.safetensors");
    write_recipe(&weights, LpipsName::Squeeze).unwrap();
    for side in ["a", "b"] {
        picture(&root.join(side).join("small.ppm"), [40, 16], |at| at as u8);
    }
    let error = measure(&Published::new(Some(root), Some(weights)), &root.join("a"), &root.join("b"));
    let message = error.unwrap_err().to_string();
    assert!(message.contains("a/small.ppm and ") && message.contains("at least 17x17 pixels, found 40x16"));
}

#[test]
fn without_networks_the_metric_says_which_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let none = measure(&NoNetworks, folder.path(), folder.path()).unwrap_err().to_string();
    assert!(none.contains("lpips-squeeze"), "{none}");
}
