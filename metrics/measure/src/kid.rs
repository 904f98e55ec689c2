//! `kid`: the kernel distance of the features of two sets, not scaled by 1000.

use std::path::Path;

use specimen_stats::jackknife::jackknife;
use specimen_stats::kid::kid_of_rows;
use specimen_stats::kid_subsets::kid_over_subsets;

use crate::error::{InMetric, MeasureError};
use crate::measurement::Measurement;
use crate::meter::{Meter, check_widths};

const NAME: &str = "kid";

/// Returns the distance of what lies at `generated` from what lies at `real` by the protocol's estimator. The interval,
/// if one is asked for, is that of the estimate over all pairs, of which subsets are a noisy copy.
pub fn kid(meter: &mut Meter<'_>, real: &Path, generated: &Path) -> Result<Measurement, MeasureError> {
    let rule = *meter.protocol().rule(NAME, |recipe| recipe.kid.as_ref())?;
    let reference = meter.rows(real, NAME)?;
    let other = meter.rows(generated, NAME)?;
    check_widths((real, reference.features.d()), (generated, other.features.d()))?;
    let (real, generated) = (&reference.features, &other.features);
    let n = vec![Some(real.n() as u64), Some(generated.n() as u64)];
    let interval = meter.interval().map(|plan| {
        jackknife(generated.n(), &plan, |kept| kid_of_rows(real, &generated.select(kept))).in_metric(NAME)
    });
    let interval = interval.transpose()?.map(|estimate| estimate.interval);
    let extractor = reference.extractor.or(other.extractor);
    let Some(plan) = rule.subsets().in_metric(NAME)? else {
        let value = kid_of_rows(real, generated).in_metric(NAME)?;
        return Ok(meter.measurement(NAME, value, n, extractor)?.with_interval(interval));
    };
    let over_subsets = kid_over_subsets(real, generated, &plan).in_metric(NAME)?;
    let measured = meter.measurement(NAME, over_subsets.mean, n, extractor)?;
    Ok(measured
        .with_interval(interval)
        .with_detail("deviation", over_subsets.deviation)
        .with_detail("n_subsets", over_subsets.values.len())
        .with_detail("subset_size", over_subsets.subset_size))
}
