//! What is at a path: pictures, rows of features, or their mean and covariance. The content decides, not the option
//! under which it was given.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use specimen_pixels::Source;
use specimen_stats::features::FeatureRows;
use specimen_stats::gaussian::Gaussian;
use specimen_stats::npy_rows::{NpyRows, element_type};
use specimen_stats::statistics_file::{Content, Origin, ReadFeatures, StatisticsFile};

use crate::error::MeasureError;

/// Whether JPEG files are decoded with SIMD, which changes no pixel.
pub use specimen_pixels::simd_jpeg;

/// One side of a comparison.
#[derive(Debug)]
pub enum Input {
    /// A folder, archive, list or array of pictures.
    Images(Source),
    /// A `.npy` matrix of features, `[n, d]`, not read yet.
    Rows(RowsFile),
    /// The features in a `.npz` (`feats` of clean-fid, `reps` of dgm-eval), not read yet.
    Features(Archive),
    /// The mean and covariance in a `.npz` (pytorch-fid, clean-fid, ours), not read yet.
    Statistics(Archive),
}

/// An opened `.npz`, whose headers are read and fit each other.
#[derive(Debug)]
pub struct Archive {
    path: PathBuf,
    file: StatisticsFile<BufReader<File>>,
}

/// An opened matrix of features.
#[derive(Debug)]
pub struct RowsFile {
    path: PathBuf,
    rows: NpyRows<BufReader<File>>,
    n_read: usize,
}

impl Input {
    /// Opens what is at `path`: a `.npz` with `mu` and `sigma` or with features; a `.npy` of bytes (pictures) or
    /// of floats (features); else a source of pictures. Entries of a folder that cannot be listed are left out if
    /// `keep_going`, else an error.
    pub fn open(path: &Path, keep_going: bool) -> Result<Self, MeasureError> {
        let extension = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
        match extension.as_str() {
            "npz" => Self::open_npz(path),
            "npy" if !is_bytes(path)? => RowsFile::open(path).map(Self::Rows),
            "pt" | "pth" | "safetensors" if path.is_file() => Err(crate::error::not_converted(path)),
            _ if keep_going => Ok(Self::Images(Source::open_keeping_going(path)?)),
            _ => Ok(Self::Images(Source::open(path)?)),
        }
    }

    fn open_npz(path: &Path) -> Result<Self, MeasureError> {
        let file = File::open(path).map_err(|e| MeasureError::io(path, "read", e))?;
        let file = StatisticsFile::open(BufReader::new(file)).map_err(|e| MeasureError::array(path, e))?;
        let content = file.content();
        let archive = Archive { path: path.to_path_buf(), file };
        Ok(match content {
            Content::Statistics => Self::Statistics(archive),
            Content::Features(_) => Self::Features(archive),
        })
    }

    /// Features of a row, where a file says it; nothing of pictures.
    pub fn n_dims(&self) -> Option<usize> {
        match self {
            Self::Images(_) => None,
            Self::Rows(file) => Some(file.n_dims()),
            Self::Features(archive) | Self::Statistics(archive) => Some(archive.n_dims()),
        }
    }
}

impl Archive {
    /// Features of a row.
    pub fn n_dims(&self) -> usize {
        self.file.d()
    }

    /// What made the features; absent in the files of other tools.
    pub fn origin(&self) -> Option<&Origin> {
        self.file.origin()
    }

    /// Reads the mean and covariance.
    pub fn gaussian(&mut self) -> Result<Gaussian, MeasureError> {
        self.file.statistics().map_err(|e| MeasureError::array(&self.path, e))
    }

    /// Reads the features, and says how many of their numbers were rounded to f32.
    pub fn features(&mut self) -> Result<(FeatureRows, u64), MeasureError> {
        let read = self.file.features().map_err(|e| MeasureError::array(&self.path, e))?;
        let ReadFeatures { features, n_rounded } = read;
        Ok((features, n_rounded))
    }
}

impl RowsFile {
    /// Opens the matrix at `path`.
    pub fn open(path: &Path) -> Result<Self, MeasureError> {
        let file = File::open(path).map_err(|e| MeasureError::io(path, "read", e))?;
        let rows = NpyRows::open(BufReader::new(file)).map_err(|source| MeasureError::array(path, source))?;
        Ok(Self { path: path.to_path_buf(), rows, n_read: 0 })
    }

    /// Features of a row.
    pub fn n_dims(&self) -> usize {
        self.rows.n_columns()
    }

    /// Numbers read so far that f32 does not hold, and that were rounded.
    pub fn n_rounded(&self) -> u64 {
        self.rows.n_rounded()
    }

    /// The next rows, at most `max_rows`; none behind the last.
    pub fn next_rows(&mut self, max_rows: usize) -> Result<Vec<f32>, MeasureError> {
        let d = self.n_dims().max(1);
        let rows = self.rows.next_rows(max_rows).map_err(|source| MeasureError::array(&self.path, source))?;
        if let Some(at) = rows.iter().position(|x| !x.is_finite()) {
            let (row, column) = (self.n_read + at / d, at % d);
            return Err(MeasureError::NotFinite { path: self.path.clone(), row, column, value: rows[at] });
        }
        self.n_read += rows.len() / d;
        Ok(rows)
    }
}

/// Whether the `.npy` at `path` holds bytes, which are pixels.
fn is_bytes(path: &Path) -> Result<bool, MeasureError> {
    let mut file = File::open(path).map_err(|e| MeasureError::io(path, "read", e))?;
    let element = element_type(&mut file).map_err(|source| MeasureError::array(path, source))?;
    Ok(element.trim_start_matches(['|', '<', '>', '=']) == "u1")
}
