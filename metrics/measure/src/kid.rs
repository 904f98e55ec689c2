//! `kid`: the kernel distance of the features of two sets, not scaled by 1000.

use std::path::Path;

use specimen_stats::bootstrap::Interval;
use specimen_stats::jackknife::jackknife;
use specimen_stats::kid::kid_of_rows;
use specimen_stats::kid_subsets::kid_over_subsets;

use crate::error::{InMetric, MeasureError};
use crate::measurement::{Measurement, SideFacts};
use crate::meter::{Meter, check_rows};
use crate::rules::{FirstSet, KidRule};

const NAME: &str = "kid";

/// Returns the distance of what lies at `generated` from what lies at `real` by the protocol's estimator. The
/// interval, if one is asked for, is that of the estimate over all pairs; under a rule of subsets, which are a noisy
/// copy of that estimate, value and interval over all pairs stand among the details, and the mean over subsets has
/// none.
///
/// # Errors
/// A side that cannot be read or has no rows; a protocol without the metric.
pub fn kid(meter: &mut Meter<'_>, real: &Path, generated: &Path) -> Result<Measurement, MeasureError> {
    let of = [real, generated];
    let rule = *meter.protocol().rule(NAME, |recipe| recipe.kid.as_ref())?;
    meter.check_sides(&of.map(|path| (path, Some(NAME))))?;
    let reference = meter.rows(real, NAME)?;
    let other = meter.rows(generated, NAME)?;
    check_rows((real, &reference), (generated, &other))?;
    let (real, generated) = (&reference.features, &other.features);
    let sides = [SideFacts::of(&reference), SideFacts::of(&other)];
    let interval = meter.interval().map(|plan| {
        let of_some = |kept: &[usize]| kid_of_rows(real, &generated.select(kept));
        jackknife(generated.n(), &plan, of_some).in_metric(NAME, &of)
    });
    let interval = interval.transpose()?.map(|estimate| estimate.interval);
    let KidRule::Subsets { first, .. } = rule else {
        let value = kid_of_rows(real, generated).in_metric(NAME, &of)?;
        return Ok(meter.measurement(NAME, value, &of, &sides)?.with_interval(interval));
    };
    let plan = rule.subsets().in_metric(NAME, &of)?.expect("a rule of subsets has a plan");
    let over_subsets = match first {
        FirstSet::Real => kid_over_subsets(real, generated, &plan),
        FirstSet::Generated => kid_over_subsets(generated, real, &plan),
    };
    let over_subsets = over_subsets.in_metric(NAME, &of)?;
    let measured = meter.measurement(NAME, over_subsets.mean, &of, &sides)?;
    let measured = measured
        .with_detail("deviation", over_subsets.deviation)
        .with_detail("n_subsets", over_subsets.values.len())
        .with_detail("subset_size", over_subsets.subset_size);
    let Some(Interval { lower, upper, .. }) = interval else { return Ok(measured) };
    let all_pairs = kid_of_rows(real, generated).in_metric(NAME, &of)?;
    Ok(measured.with_detail("all_pairs", all_pairs).with_detail("all_pairs_ci95", vec![lower, upper]))
}
