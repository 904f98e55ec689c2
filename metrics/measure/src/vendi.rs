//! `vendi`: how many different pictures one set holds.

use std::path::Path;

use specimen_stats::jackknife::jackknife;

use crate::error::{InMetric, MeasureError};
use crate::measurement::{Measurement, SideFacts};
use crate::meter::Meter;

const NAME: &str = "vendi";

/// Returns the Vendi score of what lies at `path`, with an interval if one is asked for, cut to 1, the least score
/// that there is.
///
/// # Errors
/// A path that cannot be read or has no rows; a protocol without the metric.
pub fn vendi(meter: &mut Meter<'_>, path: &Path) -> Result<Measurement, MeasureError> {
    meter.protocol().rule(NAME, |recipe| recipe.vendi.as_ref())?;
    let rows = meter.rows(path, NAME)?;
    let value = specimen_stats::vendi::vendi(&rows.features).in_metric(NAME, &[path])?;
    let interval = meter.interval().map(|plan| {
        let of = |kept: &[usize]| specimen_stats::vendi::vendi(&rows.features.select(kept));
        jackknife(rows.features.n(), &plan, of).in_metric(NAME, &[path])
    });
    let measured = meter.measurement(NAME, value, &[path], &[SideFacts::of(&rows)])?;
    Ok(measured.with_interval_from(interval.transpose()?.map(|estimate| estimate.interval), 1.0))
}
