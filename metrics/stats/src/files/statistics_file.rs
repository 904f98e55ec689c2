//! Files of statistics and features that other tools read and write.
//!
//! Statistics: `mu` `[d]` and `sigma` `[d, d]` (divisor `n - 1`), as pytorch-fid `--save-stats` and clean-fid's custom
//! statistics have them. Ours add `n`, which the others ignore and which makes a file mergeable. Features: `feats`
//! `[n, d]` (clean-fid's KID statistics) or `reps` (dgm-eval). Both kinds of ours also say what made the features
//! (`extractor`, `pixels`), which the tools ignore. Pickled objects in such files are never unpacked.

use std::io::{Read, Seek};

use crate::error::StatsError;
use crate::features::FeatureRows;
use crate::gaussian::Gaussian;
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

/// An archive of statistics or features, opened: what it is of is known, and no number of it is in memory yet.
#[derive(Debug)]
pub struct StatisticsFile<R> {
    archive: Npz<R>,
    content: Content,
    d: usize,
    origin: Option<Origin>,
}

/// What an archive holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// `mu` and `sigma`.
    Statistics,
    /// Rows of features under this name.
    Features(&'static str),
}

/// Features that were read.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadFeatures {
    /// The rows.
    pub features: FeatureRows,
    /// Numbers that f32 does not hold, and that were rounded to the nearest that it does.
    pub n_rounded: u64,
}

/// Rows that are unpacked at a time.
const ROWS_AT_ONCE: usize = 256;

impl<R: Read + Seek> StatisticsFile<R> {
    /// Opens the archive in `file`; one with `mu` holds statistics.
    ///
    /// # Errors
    /// A file that is no archive, has neither statistics nor features, has shapes that do not fit each other, or
    /// states half of its origin.
    pub fn open(file: R) -> Result<Self, StatsError> {
        let mut archive = Npz::over(file)?;
        let origin = origin_in(&mut archive)?;
        let names = archive.names();
        let has = |name: &str| names.iter().any(|found| found == name);
        if has("mu") {
            let d = width_of_statistics(&mut archive)?;
            return Ok(Self { archive, content: Content::Statistics, d, origin });
        }
        let Some(name) = FEATURES.into_iter().find(|name| has(name)) else {
            let found =
                if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) };
            let expected = "`feats` or `reps`, or `mu` and `sigma` (pictures as `arr_0`: save them as .npy)";
            return Err(fault("arrays", expected, &found));
        };
        let [_, d] = archive.shape(name)?;
        Ok(Self { archive, content: Content::Features(name), d, origin })
    }

    /// What it holds.
    pub fn content(&self) -> Content {
        self.content
    }

    /// Features of a row.
    pub fn d(&self) -> usize {
        self.d
    }

    /// What made the features; absent in the files of other tools.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Reads the mean and covariance; the number of rows is known if the file says it.
    ///
    /// # Errors
    /// A file of features, a damaged file, a matrix that is no covariance.
    pub fn statistics(&mut self) -> Result<Gaussian, StatsError> {
        statistics_in(&mut self.archive)
    }

    /// Reads the features.
    ///
    /// # Errors
    /// A file of statistics, a damaged file, a number that is not finite.
    pub fn features(&mut self) -> Result<ReadFeatures, StatsError> {
        let Content::Features(name) = self.content else {
            return Err(fault("arrays", "`feats` or `reps`", "`mu` and `sigma`"));
        };
        let mut rows = self.archive.rows(name)?;
        let (mut values, d) = (Vec::new(), rows.n_columns());
        loop {
            let some = rows.next_rows(ROWS_AT_ONCE).map_err(|error| damaged(name, error))?;
            if some.is_empty() {
                break;
            }
            if let Some(at) = some.iter().position(|x| !x.is_finite()) {
                let (at, value) = (values.len() + at, f64::from(some[at]));
                return Err(StatsError::NotFinite { what: "feature rows", at, value });
            }
            values.extend(some);
        }
        Ok(ReadFeatures { n_rounded: rows.n_rounded(), features: FeatureRows::new(values, d)? })
    }
}

/// What is wrong with an entry.
fn damaged(name: &str, error: StatsError) -> StatsError {
    fault("entry", &format!("a whole `{name}`"), &error.to_string())
}

/// What made the features of a file; absent in the files of other tools.
fn origin_in<R: Read + Seek>(archive: &mut Npz<R>) -> Result<Option<Origin>, StatsError> {
    if !ORIGIN.iter().any(|name| archive.has(name)) {
        return Ok(None);
    }
    Ok(Some(Origin { extractor: archive.text(ORIGIN[0])?, pixels: archive.text(ORIGIN[1])? }))
}

/// The arrays that say it.
fn arrays_of(origin: Option<&Origin>) -> Vec<(&'static str, Vec<u8>)> {
    let Some(Origin { extractor, pixels }) = origin else { return Vec::new() };
    ORIGIN.into_iter().zip([extractor, pixels].map(|text| write_npy_text(text))).collect()
}

/// Reads statistics of any of the tools; the number of rows is known if the file says it.
///
/// # Errors
/// A file that is no archive with `mu` and `sigma`, shapes that do not fit each other, a matrix that is no
/// covariance.
pub fn read_statistics(bytes: &[u8]) -> Result<Gaussian, StatsError> {
    let mut archive = Npz::open(bytes)?;
    width_of_statistics(&mut archive)?;
    statistics_in(&mut archive)
}

/// Features of a row behind `mu` and `sigma`, by their headers; fails where the shapes do not fit each other, before the
/// arrays take memory.
fn width_of_statistics<R: Read + Seek>(archive: &mut Npz<R>) -> Result<usize, StatsError> {
    let (mean, covariance) = (archive.shape("mu")?, archive.shape("sigma")?);
    let d = mean[0].saturating_mul(mean[1]);
    check_shape("shape of `mu`", mean, [1, d])?;
    check_shape("shape of `sigma`", covariance, [d, d])?;
    if archive.has("n") {
        let n = archive.shape("n")?;
        check_shape("shape of `n`", n, [1, 1])?;
    }
    Ok(d)
}

/// The statistics in an archive whose shapes were checked.
fn statistics_in<R: Read + Seek>(archive: &mut Npz<R>) -> Result<Gaussian, StatsError> {
    let (mean, covariance) = (archive.array("mu")?, archive.array("sigma")?);
    let n = if archive.has("n") { Some(count(&archive.array("n")?)?) } else { None };
    Gaussian::new(mean.values, covariance.values, n)
}

/// Returns the file of `gaussian`: `mu`, `sigma`, and `n` and `origin` if known. Written from [`Moments`](crate::moments::Moments), a file
/// merges again to rounding; shards that must agree to the last digit keep the moments themselves.
///
/// # Errors
/// Arrays that do not fit an archive.
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

/// Returns the file of `features` as clean-fid keeps them for KID: `feats`, f32, and `origin` if known.
///
/// # Errors
/// Arrays that do not fit an archive.
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

fn check_shape(what: &'static str, found: [usize; 2], expected: [usize; 2]) -> Result<(), StatsError> {
    if found == expected {
        return Ok(());
    }
    let [expected, found] = [expected, found].map(|[n_rows, n_columns]| format!("{n_rows} x {n_columns}"));
    Err(fault(what, &expected, &found))
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
