//! Files of statistics and features that other tools read and write.
//!
//! Statistics: `mu` `[d]` and `sigma` `[d, d]` (divisor `n - 1`), as pytorch-fid `--save-stats` and clean-fid's custom
//! statistics have them. Ours add `n`, which the others ignore and which makes a file mergeable. Features: `feats`
//! `[n, d]` (clean-fid's KID statistics) or `reps` (dgm-eval). Both kinds of ours also say what made the features
//! (`extractor`, `pixels`), which the tools ignore. Pickled objects in such files are never unpacked.

use crate::error::StatsError;
use crate::features::FeatureRows;
use crate::gaussian::Gaussian;
use crate::moments::Moments;
use crate::npy::Matrix;
use crate::npy_write::{Values, write_npy, write_npy_text};
use crate::npz::{Npz, Packing, write_npz};

/// Names under which tools keep features.
const FEATURES: [&str; 2] = ["feats", "reps"];

/// Names under which a file says what made its features.
const ORIGIN: [&str; 2] = ["extractor", "pixels"];

/// What made the features behind a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The network with layer, element type and digest of its weights.
    pub extractor: String,
    /// Digest of the steps from a decoded picture to what the network sees, in hex.
    pub pixels: String,
}

/// Reads what made the features of a file of statistics or features; absent in the files of other tools. Fails on what
/// is no archive and on one that says half of it.
pub fn read_origin(bytes: &[u8]) -> Result<Option<Origin>, StatsError> {
    let mut archive = Npz::open(bytes)?;
    let names = archive.names();
    if !ORIGIN.iter().any(|name| names.iter().any(|found| found == name)) {
        return Ok(None);
    }
    Ok(Some(Origin { extractor: archive.text(ORIGIN[0])?, pixels: archive.text(ORIGIN[1])? }))
}

/// The arrays that say it.
fn arrays_of(origin: Option<&Origin>) -> Vec<(&'static str, Vec<u8>)> {
    let Some(Origin { extractor, pixels }) = origin else { return Vec::new() };
    ORIGIN.into_iter().zip([extractor, pixels].map(|text| write_npy_text(text))).collect()
}

/// Reads statistics of any of the tools; the number of rows is known if the file says it. Fails on what is not an
/// archive with `mu` and `sigma`, on shapes that do not fit each other, and on what is no covariance.
pub fn read_statistics(bytes: &[u8]) -> Result<Gaussian, StatsError> {
    let mut archive = Npz::open(bytes)?;
    let (mean, covariance) = (archive.array("mu")?, archive.array("sigma")?);
    let d = mean.values.len();
    check_shape("shape of `mu`", &mean, 1, d)?;
    check_shape("shape of `sigma`", &covariance, d, d)?;
    let n = if archive.names().iter().any(|name| name == "n") {
        Some(count(&archive.array("n")?)?)
    } else {
        None
    };
    Gaussian::new(mean.values, covariance.values, n)
}

/// Reads statistics that can be merged; fails where [`read_statistics`] does and when the file does not say `n`.
pub fn read_moments(bytes: &[u8]) -> Result<Moments, StatsError> {
    Moments::of_gaussian(&read_statistics(bytes)?)
}

/// Returns the file of `gaussian`: `mu`, `sigma`, and `n` and `origin` if known. Written from [`Moments`], a file merges again to
/// rounding; shards that must agree to the last digit keep the moments themselves.
pub fn write_statistics(
    gaussian: &Gaussian,
    origin: Option<&Origin>,
    packing: Packing,
) -> Result<Vec<u8>, StatsError> {
    let d = gaussian.mean().len();
    let mut arrays = vec![
        ("mu", write_npy(&[d], Values::F64(gaussian.mean()))),
        ("sigma", write_npy(&[d, d], Values::F64(gaussian.covariance()))),
    ];
    if let Some(n) = gaussian.n() {
        let n = i64::try_from(n).map_err(|_| fault("`n`", "a count below 2^63", &n.to_string()))?;
        arrays.push(("n", write_npy(&[], Values::I64(&[n]))));
    }
    arrays.extend(arrays_of(origin));
    write_npz(&arrays, packing)
}

/// Reads features kept by clean-fid or dgm-eval. Fails on an archive with neither, and on f64 values that f32 cannot
/// hold exactly.
pub fn read_features(bytes: &[u8]) -> Result<FeatureRows, StatsError> {
    let mut archive = Npz::open(bytes)?;
    let names = archive.names();
    let Some(name) = FEATURES.into_iter().find(|name| names.iter().any(|found| found == name)) else {
        let found = if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) };
        let expected = "`feats` or `reps`, or `mu` and `sigma` (pictures as `arr_0`: save them as .npy)";
        return Err(fault("arrays", expected, &found));
    };
    let matrix = archive.array(name)?;
    if let Some(rounded) = matrix.values.iter().find(|&&x| x.is_finite() && f64::from(x as f32) != x) {
        let expected = "features that are f32, whatever type they are kept in";
        return Err(fault("feature", expected, &rounded.to_string()));
    }
    FeatureRows::new(matrix.values.iter().map(|&x| x as f32).collect(), matrix.n_columns)
}

/// Returns the file of `features` as clean-fid keeps them for KID: `feats`, f32, and `origin` if known.
pub fn write_features(
    features: &FeatureRows,
    origin: Option<&Origin>,
    packing: Packing,
) -> Result<Vec<u8>, StatsError> {
    let npy = write_npy(&[features.n(), features.d()], Values::F32(features.values()));
    let mut arrays = vec![("feats", npy)];
    arrays.extend(arrays_of(origin));
    write_npz(&arrays, packing)
}

fn check_shape(
    what: &'static str,
    matrix: &Matrix,
    n_rows: usize,
    n_columns: usize,
) -> Result<(), StatsError> {
    if (matrix.n_rows, matrix.n_columns) == (n_rows, n_columns) {
        return Ok(());
    }
    let expected = format!("{n_rows} x {n_columns}");
    Err(fault(what, &expected, &format!("{} x {}", matrix.n_rows, matrix.n_columns)))
}

/// Returns the one whole number above zero that `matrix` holds.
fn count(matrix: &Matrix) -> Result<u64, StatsError> {
    match matrix.values[..] {
        [n] if n >= 1.0 && n.fract() == 0.0 && n < (1_u64 << 53) as f64 => Ok(n as u64),
        _ => Err(fault("`n`", "one whole number of 1 or more", &format!("{:?}", matrix.values))),
    }
}

fn fault(what: &'static str, expected: &str, found: &str) -> StatsError {
    StatsError::Npz { what, expected: expected.to_owned(), found: found.to_owned() }
}
