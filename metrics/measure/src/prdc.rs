//! `prdc`: precision, recall, density and coverage of one set against another.

use std::path::Path;

use specimen_stats::StatsError;
use specimen_stats::bootstrap::Interval;
use specimen_stats::features::FeatureRows;
use specimen_stats::jackknife::jackknife_each;

use crate::error::{InMetric, MeasureError};
use crate::measurement::{Measurement, SideFacts};
use crate::meter::{Meter, check_rows};
use crate::rules::{PrdcRule, Surface};

pub(crate) const NAME: &str = "prdc";
/// The four values, in the order of their names.
pub(crate) const NAMES: [&str; 4] = ["precision", "recall", "density", "coverage"];

/// Returns the four values of what lies at `generated` against what lies at `real`. Intervals, if they are asked
/// for, are the uncertainty that comes from the generated side; those of shares are cut to 0 and 1, that of the
/// density to 0.
///
/// # Errors
/// A side that cannot be read or has no rows; a protocol without the metric.
pub fn prdc(meter: &mut Meter<'_>, real: &Path, generated: &Path) -> Result<Vec<Measurement>, MeasureError> {
    let of = [real, generated];
    let rule = *meter.protocol().rule(NAME, |recipe| recipe.prdc.as_ref())?;
    meter.check_sides(&of.map(|path| (path, Some(NAME))))?;
    let reference = meter.rows(real, NAME)?;
    let other = meter.rows(generated, NAME)?;
    check_rows((real, &reference), (generated, &other))?;
    let (real, generated) = (&reference.features, &other.features);
    let values = values(real, generated, rule).in_metric(NAME, &of)?;
    let intervals = meter.interval().map(|plan| {
        jackknife_each(generated.n(), &plan, |kept| self::values(real, &generated.select(kept), rule))
            .in_metric(NAME, &of)
    });
    let intervals = intervals.transpose()?.map(|estimates| estimates.map(|estimate| estimate.interval));
    let sides = [SideFacts::of(&reference), SideFacts::of(&other)];
    let measured = NAMES.into_iter().zip(values).enumerate().map(|(at, (name, value))| {
        Ok(meter
            .measurement(name, value, &of, &sides)?
            .with_interval_from(
                intervals
                    .map(|intervals| if name == "density" { intervals[at] } else { share(intervals[at]) }),
                0.0,
            )
            .with_detail("k", rule.k)
            .with_detail("rule", rule.rule.sign()))
    });
    measured.collect()
}

/// The interval of a share: Student's t knows no bounds, a share has 0 and 1.
fn share(interval: Interval) -> Interval {
    let [lower, upper] = [interval.lower, interval.upper].map(|end| end.clamp(0.0, 1.0));
    Interval { lower, upper, ..interval }
}

fn values(real: &FeatureRows, generated: &FeatureRows, rule: PrdcRule) -> Result<[f64; 4], StatsError> {
    let both = specimen_stats::prdc::prdc(real, generated, rule.k)?;
    let values = match rule.rule {
        Surface::Open => both.open,
        Surface::Closed => both.closed,
    };
    Ok([values.precision, values.recall, values.density, values.coverage])
}
