//! `stats`: files of statistics and features that other tools read, written aside and renamed when whole.

use std::path::Path;

use specimen_stats::features::FeatureRows;
use specimen_stats::gaussian::Gaussian;
use specimen_stats::npz::Packing;
use specimen_stats::statistic::Statistic;
use specimen_stats::statistics_file::{write_features, write_statistics};

use crate::error::{InMetric, MeasureError};
use crate::meter::{Meter, check_widths};
use crate::whole_file::write_whole;

const NAME: &str = "stats";

/// Mean and covariance of all `sources` together, merged in the order given: pictures, features, and statistics that
/// say how many rows they are of. Fails for no source and for sources of unequal width.
pub fn collect(meter: &mut Meter<'_>, sources: &[&Path]) -> Result<Gaussian, MeasureError> {
    let (first, others) = sources.split_first().expect("a command line has at least one source");
    let (side, _) = meter.side(first)?;
    let d = side.d();
    if others.is_empty() {
        return side.gaussian().map_err(|e| MeasureError::array(first, e));
    }
    let mut moments = side.moments().map_err(|e| MeasureError::array(first, e))?;
    for other in others {
        let (side, _) = meter.side(other)?;
        check_widths((first, d), (other, side.d()))?;
        let later = side.moments().map_err(|e| MeasureError::array(other, e))?;
        moments.merge(&later).map_err(|e| MeasureError::array(other, e))?;
    }
    moments.value().in_metric(NAME)
}

/// The rows of all `sources`, in the order given.
pub fn collect_rows(meter: &mut Meter<'_>, sources: &[&Path]) -> Result<FeatureRows, MeasureError> {
    let (first, others) = sources.split_first().expect("a command line has at least one source");
    let mut rows = meter.rows(first, NAME)?.features;
    for other in others {
        let later = meter.rows(other, NAME)?.features;
        check_widths((first, rows.d()), (other, later.d()))?;
        rows.merge(&later).map_err(|e| MeasureError::array(other, e))?;
    }
    Ok(rows)
}

/// Writes `mu`, `sigma` and, where it is known, `n`: a file that pytorch-fid and clean-fid read, and that merges.
pub fn write(gaussian: &Gaussian, path: &Path) -> Result<(), MeasureError> {
    let bytes = write_statistics(gaussian, Packing::Deflated).map_err(|e| MeasureError::array(path, e))?;
    write_whole(path, &bytes)
}

/// Writes `feats`, as clean-fid keeps them for KID.
pub fn write_rows(rows: &FeatureRows, path: &Path) -> Result<(), MeasureError> {
    let bytes = write_features(rows, Packing::Deflated).map_err(|e| MeasureError::array(path, e))?;
    write_whole(path, &bytes)
}
