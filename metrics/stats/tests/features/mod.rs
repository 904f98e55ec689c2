//! The feature matrices behind the golden values: read from the shipped files or rebuilt from their recipe.
//!
//! Shared by several test binaries, each of which uses a part.
#![allow(dead_code, clippy::unwrap_used, reason = "test support; no binary uses all of it")]

use std::path::Path;

use specimen_stats::features::FeatureRows;
use specimen_stats::npy::read_npy;

/// Rows of f32 features.
pub(crate) struct Features {
    /// `[n, d]` by rows.
    pub(crate) rows: Vec<f32>,
    /// Features a row.
    pub(crate) d: usize,
}

impl Features {
    /// The rows as checked rows.
    pub(crate) fn checked(self) -> FeatureRows {
        FeatureRows::new(self.rows, self.d).unwrap()
    }
}

/// The set `name` of the golden values, shipped or rebuilt.
pub(crate) fn set(name: &str) -> FeatureRows {
    match name {
        "e2048" => recipe("e", 60, 2048, 0.0, 1.0).checked(),
        "f2048" => recipe("f", 50, 2048, 0.03, 1.0).checked(),
        "b_twice" => {
            let twice: Vec<usize> = (0..100).flat_map(|i| [i, i]).collect();
            shipped("b").checked().select(&twice)
        }
        shipped_name => shipped(shipped_name).checked(),
    }
}

/// Path of a file in `tests/golden`.
pub(crate) fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// The shipped matrix `name`.
pub(crate) fn shipped(name: &str) -> Features {
    let matrix = read_npy(&std::fs::read(golden(&format!("{name}.npy"))).unwrap()).unwrap();
    Features { rows: matrix.to_f32().unwrap(), d: matrix.n_columns }
}

/// The expected values.
pub(crate) fn expected() -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(golden("expected.json")).unwrap()).unwrap()
}

/// The expected values of statistics of sets.
pub(crate) fn expected_sets() -> serde_json::Value {
    serde_json::from_slice(&std::fs::read(golden("expected_sets.json")).unwrap()).unwrap()
}

/// Runs `work` on a pool of this many threads.
pub(crate) fn on_threads<R: Send>(n_threads: usize, work: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new().num_threads(n_threads).build().unwrap().install(work)
}

/// A number of the expected values, by JSON pointer.
pub(crate) fn number(expected: &serde_json::Value, pointer: &str) -> f64 {
    expected.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is absent")).as_f64().unwrap()
}

/// The matrix of the recipe in `golden/README.md`.
pub(crate) fn recipe(tag: &str, n: usize, d: usize, shift: f64, scale: f64) -> Features {
    const K: usize = 16;
    let w = uniform(&format!("W{d}"), K * d);
    let z = uniform(&format!("{tag}z"), n * K);
    let e = uniform(&format!("{tag}e"), n * d);
    let mut rows = Vec::with_capacity(n * d);
    for i in 0..n {
        for j in 0..d {
            let signal: f64 = (0..K).map(|k| scale * z[i * K + k] * w[k * d + j]).sum();
            rows.push((signal + 0.3 * e[i * d + j] + 0.3 + shift).max(0.0) as f32);
        }
    }
    Features { rows, d }
}

/// Numbers in `[-1, 1)`, as the recipe defines them.
pub(crate) fn uniform(name: &str, n: usize) -> Vec<f64> {
    let hash = name
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |h, byte| (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    (1..=n as u64)
        .map(|i| {
            let mut z = hash.wrapping_add(i.wrapping_mul(0x9E37_79B9_7F4A_7C15));
            z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            z ^= z >> 31;
            2.0 * ((z >> 11) as f64 / (1_u64 << 53) as f64) - 1.0
        })
        .collect()
}
