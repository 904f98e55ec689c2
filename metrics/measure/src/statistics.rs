//! `stats`: files of statistics and features that other tools read, written aside and renamed when whole.

use std::path::Path;

use specimen_stats::gaussian::Gaussian;
use specimen_stats::npz::Packing;
use specimen_stats::statistic::Statistic;
use specimen_stats::statistics_file::{Origin, write_features, write_statistics};

use crate::alike::{check_origins, check_widths};
use crate::error::{InMetric, MeasureError};
use crate::meter::Meter;
use crate::sample::Rows;
use crate::whole_file::write_whole;

const NAME: &str = "stats";

/// Mean and covariance of all `sources` together, merged in the order given: pictures, features, and statistics that
/// say how many rows they are of. Sources that are known to be made differently are refused, and what one of them
/// does not say the whole does not.
pub fn collect(meter: &mut Meter<'_>, sources: &[&Path]) -> Result<(Gaussian, Option<Origin>), MeasureError> {
    let (first, others) = sources.split_first().expect("a command line has at least one source");
    let (side, origin) = meter.side(first)?;
    let d = side.d();
    if others.is_empty() {
        return Ok((side.gaussian().map_err(|e| MeasureError::array(first, e))?, origin));
    }
    let mut origins = Origins::of(first, origin);
    let mut moments = side.moments().map_err(|e| MeasureError::array(first, e))?;
    for other in others {
        let (side, origin) = meter.side(other)?;
        origins.add(other, origin)?;
        check_widths((first, d), (other, side.d()))?;
        let later = side.moments().map_err(|e| MeasureError::array(other, e))?;
        moments.merge(&later).map_err(|e| MeasureError::array(other, e))?;
    }
    Ok((moments.value().in_metric(NAME, sources)?, origins.of_all()))
}

/// The rows of all `sources`, in the order given, and what made them, as [`collect`].
pub fn collect_rows(meter: &mut Meter<'_>, sources: &[&Path]) -> Result<Rows, MeasureError> {
    let (first, others) = sources.split_first().expect("a command line has at least one source");
    let Rows { features: mut rows, origin } = meter.rows(first, NAME)?;
    let mut origins = Origins::of(first, origin);
    for other in others {
        let Rows { features: later, origin } = meter.rows(other, NAME)?;
        origins.add(other, origin)?;
        check_widths((first, rows.d()), (other, later.d()))?;
        rows.merge(&later).map_err(|e| MeasureError::array(other, e))?;
    }
    Ok(Rows { features: rows, origin: origins.of_all() })
}

/// What made the features of sources that are put together.
struct Origins<'p> {
    /// The first that is known, with its source.
    known: Option<(&'p Path, Origin)>,
    are_all_known: bool,
}

impl<'p> Origins<'p> {
    fn of(path: &'p Path, origin: Option<Origin>) -> Self {
        Self { are_all_known: origin.is_some(), known: origin.map(|origin| (path, origin)) }
    }

    /// Fails when it is known that the source at `path` was made differently.
    fn add(&mut self, path: &'p Path, origin: Option<Origin>) -> Result<(), MeasureError> {
        self.are_all_known &= origin.is_some();
        match &self.known {
            Some((first, known)) => check_origins((first, Some(known)), (path, origin.as_ref())),
            None => {
                self.known = origin.map(|origin| (path, origin));
                Ok(())
            }
        }
    }

    /// What made all of them, if each says it.
    fn of_all(self) -> Option<Origin> {
        self.known.filter(|_| self.are_all_known).map(|(_, origin)| origin)
    }
}

/// Writes `mu`, `sigma` and, where they are known, `n` and what made the features: a file that pytorch-fid and
/// clean-fid read, and that merges.
pub fn write(gaussian: &Gaussian, origin: Option<&Origin>, path: &Path) -> Result<(), MeasureError> {
    let bytes = write_statistics(gaussian, origin, Packing::Deflated);
    write_whole(path, &bytes.map_err(|e| MeasureError::array(path, e))?)
}

/// What is odd about statistics that are taken all the same.
pub fn oddness(gaussian: &Gaussian) -> Option<&'static str> {
    let (mean, covariance) = (gaussian.mean(), gaussian.covariance());
    let are_whole = |numbers: &[f64]| numbers.iter().all(|x| x.fract() == 0.0);
    if covariance.iter().all(|&x| x == 0.0) {
        return Some(
            "sigma is 0 everywhere: every picture had the same features, or the file was never filled",
        );
    }
    (are_whole(mean) && are_whole(covariance))
        .then_some("mu and sigma are whole numbers: were they rounded, or is it another table?")
}

/// Writes `feats`, as clean-fid keeps them for KID, and what made them, where it is known.
pub fn write_rows(rows: &Rows, path: &Path) -> Result<(), MeasureError> {
    let bytes = write_features(&rows.features, rows.origin.as_ref(), Packing::Deflated);
    write_whole(path, &bytes.map_err(|e| MeasureError::array(path, e))?)
}
