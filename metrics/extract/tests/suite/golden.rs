//! The committed golden files, and how features are compared with them.

use std::path::{Path, PathBuf};

use serde_json::Value;
use specimen_extract::{extractor::Features, recipe_weights::uniform};
use specimen_pixels::{
    Pipeline, decode,
    network::{Batch, FeatureNetwork},
};
use specimen_stats::npy::read_npy;

/// A file below `tests/golden`.
pub(crate) fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// A JSON file below `tests/golden`.
pub(crate) fn json(name: &str) -> Value {
    serde_json::from_slice(&std::fs::read(path(name)).unwrap()).unwrap()
}

/// A matrix of f32 below `tests/golden`.
pub(crate) fn features(name: &str) -> Features {
    let matrix = read_npy(&std::fs::read(path(name)).unwrap()).unwrap();
    Features { n_dims: matrix.n_columns, rows: matrix.to_f32().unwrap() }
}

/// What `network` gives for `batch`.
pub(crate) fn forward(network: &dyn FeatureNetwork, batch: &Batch) -> Features {
    Features { n_dims: network.n_dims(), rows: network.rows(batch).unwrap() }
}

/// `n` values in `[-spread, spread)` that belong to `name`, as `recipe.py` makes them.
pub(crate) fn by_recipe(name: &str, n: usize, spread: f64) -> Vec<f32> {
    uniform(name, n).map(|u| (spread * u) as f32).collect()
}

/// The golden pictures of the pixels, each as `steps` make it, in one batch.
pub(crate) fn pictures(names: &[&str], steps: &str) -> Batch {
    let pipeline: Pipeline = serde_json::from_str(steps).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../pixels/tests/golden/prep");
    let mut batch = Batch { n: names.len(), height: 0, width: 0, values: Vec::new() };
    for name in names {
        let image = decode(&std::fs::read(folder.join(name)).unwrap()).unwrap();
        let picture = pipeline.apply(image).unwrap().into_float();
        (batch.width, batch.height) = (picture.width(), picture.height());
        batch.values.extend(picture.to_planes());
    }
    batch
}

/// Each value within `tolerance` of the expected one, absolute.
pub(crate) fn check_close(what: &str, found: &Features, expected: &Features, tolerance: f32) {
    assert_eq!((found.n_dims, found.rows.len()), (expected.n_dims, expected.rows.len()), "{what}");
    let distance = largest_distance(found, expected);
    assert!(distance <= tolerance, "{what}: off by {distance:e}, at most {tolerance:e}");
}

/// The largest absolute difference.
pub(crate) fn largest_distance(a: &Features, b: &Features) -> f32 {
    let differences = a.rows.iter().zip(&b.rows).map(|(a, b)| (a - b).abs());
    differences.fold(0.0, |largest, x| if x > largest || x.is_nan() { x } else { largest })
}
