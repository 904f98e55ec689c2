//! `cmmd`: the maximum mean discrepancy of the CLIP embeddings of two sets.

use std::path::Path;

use specimen_stats::jackknife::jackknife;

use crate::error::{InMetric, MeasureError};
use crate::measurement::{Measurement, SideFacts};
use crate::meter::{Meter, check_rows};

const NAME: &str = "cmmd";

/// Returns the discrepancy between what lies at `real` and at `generated`. The interval, if one is asked for, is the
/// uncertainty that comes from the generated side, cut to 0, the least that there is.
///
/// # Errors
/// A side that cannot be read; a protocol without the metric.
pub fn cmmd(meter: &mut Meter<'_>, real: &Path, generated: &Path) -> Result<Measurement, MeasureError> {
    meter.protocol().rule(NAME, |recipe| recipe.cmmd.as_ref())?;
    let of = [real, generated];
    meter.check_sides(&of.map(|path| (path, Some(NAME))))?;
    let reference = meter.rows(real, NAME)?;
    let other = meter.rows(generated, NAME)?;
    check_rows((real, &reference), (generated, &other))?;
    let (real, generated) = (&reference.features, &other.features);
    let value = specimen_stats::cmmd::cmmd(real, generated).in_metric(NAME, &of)?;
    let interval = meter.interval().map(|plan| {
        let of_some = |kept: &[usize]| specimen_stats::cmmd::cmmd(real, &generated.select(kept));
        jackknife(generated.n(), &plan, of_some).in_metric(NAME, &of)
    });
    let sides = [SideFacts::of(&reference), SideFacts::of(&other)];
    let measured = meter.measurement(NAME, value, &of, &sides)?;
    Ok(measured.with_interval_from(interval.transpose()?.map(|estimate| estimate.interval), 0.0))
}
