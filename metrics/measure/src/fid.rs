//! `fid`: the Frechet distance of the features of two sets.

use std::path::Path;

use specimen_stats::frechet::frechet_distance_factored;
use specimen_stats::frechet_interval::frechet_interval;
use specimen_stats::gaussian::FactoredGaussian;

use crate::error::{InMetric, MeasureError};
use crate::measurement::Measurement;
use crate::meter::{Meter, check_widths};
use crate::sample::Factored;
use crate::statistics;

const NAME: &str = "fid";

/// Returns the distance of what lies at `generated` from what lies at `real`. The interval, if one is asked for, is the
/// uncertainty that comes from the generated side, and needs its rows.
pub fn fid(meter: &mut Meter<'_>, real: &Path, generated: &Path) -> Result<Measurement, MeasureError> {
    fid_saving(meter, real, generated, None)
}

/// As [`fid`], writing the statistics of the real side to `save`, for the next comparison with it.
pub fn fid_saving(
    meter: &mut Meter<'_>,
    real: &Path,
    generated: &Path,
    save: Option<&Path>,
) -> Result<Measurement, MeasureError> {
    meter.protocol().rule(NAME, |recipe| recipe.fid.as_ref())?;
    let (reference, extractor) = meter.side(real)?;
    if let Some(save) = save {
        let gaussian = reference.clone().gaussian().map_err(|e| MeasureError::array(real, e))?;
        statistics::write(&gaussian, save)?;
    }
    let d = reference.d();
    let reference = reference.factored().map_err(|e| MeasureError::array(real, e))?;
    let (other, extractor_of_other, interval) = match meter.interval() {
        None => {
            let (side, extractor) = meter.side(generated)?;
            check_widths((real, d), (generated, side.d()))?;
            (side.factored().map_err(|e| MeasureError::array(generated, e))?, extractor, None)
        }
        Some(plan) => {
            let rows = meter.rows(generated, "the interval of fid")?;
            check_widths((real, d), (generated, rows.features.d()))?;
            let interval = frechet_interval(&reference.factored, &rows.features, &plan).in_metric(NAME)?;
            let factored =
                FactoredGaussian::of_rows(&rows.features).map_err(|e| MeasureError::array(generated, e))?;
            let n = Some(rows.features.n() as u64);
            (Factored { n, factored }, rows.extractor, Some(interval.interval))
        }
    };
    let distance = frechet_distance_factored(&reference.factored, &other.factored).in_metric(NAME)?;
    let n = vec![reference.n, other.n];
    let measured = meter.measurement(NAME, distance.value(), n, extractor.or(extractor_of_other))?;
    Ok(measured
        .with_interval(interval)
        .with_detail("mean_term", distance.mean_term)
        .with_detail("covariance_term", distance.covariance_term))
}
