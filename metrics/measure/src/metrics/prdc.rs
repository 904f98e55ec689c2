//! `prdc`: precision, recall, density and coverage of one set against another.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_stats::StatsError;
use specimen_stats::bootstrap::Interval;
use specimen_stats::features::FeatureRows;
use specimen_stats::jackknife::jackknife_each;

use crate::alike::check_rows;
use crate::error::{InMetric, MeasureError};
use crate::known_answers::Known;
use crate::measurement::{Measurement, SideFacts};
use crate::meter::Meter;
use crate::metrics::{Metric, Outcome};

const NAME: &str = "prdc";
/// The metric of this file.
pub const METRIC: Metric = Metric {
    name: NAME,
    table: NAME,
    run: |meter, sides| {
        let (real, generated) = sides.both();
        Ok(Outcome { values: prdc(meter, real, generated)?, pictures: Vec::new() })
    },
    known_answers,
};
/// The four values, in the order of their names.
const NAMES: [&str; 4] = ["precision", "recall", "density", "coverage"];

/// `[prdc]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PrdcRule {
    /// Which neighbour a ball reaches.
    pub k: usize,
    /// Whether the surface of a ball belongs to it.
    pub rule: Surface,
}

/// How a distance is compared with a radius.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub enum Surface {
    /// The surface does not belong to the ball.
    #[serde(rename = "<")]
    Open,
    /// The surface belongs to the ball.
    #[serde(rename = "<=")]
    Closed,
}

impl Surface {
    /// `<` or `<=`.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Open => "<",
            Self::Closed => "<=",
        }
    }
}

/// Returns the four values of what is at `generated` against what is at `real`. Intervals, if they are asked
/// for, are the uncertainty that comes from the generated side; those of shares are cut to 0 and 1, that of the
/// density to 0.
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

fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    // Radii 3, 2, 2, 3 on the real side; half of the other side is far away.
    let real = known.rows("real", 1, &[0., 1., 2., 3.])?;
    let generated = known.rows("generated", 1, &[1.5, 2.5, 20., 21.])?;
    let measured = prdc(&mut known.meter(r#"prdc = { k = 3, rule = "<=" }"#)?, &real, &generated)?;
    for (measured, expected) in measured.iter().zip([0.5, 1.0, 2.0 / 3.0, 1.0]) {
        known.answer(measured.metric, expected, measured.value);
    }
    // One row is on the edge of a radius, and does not count where `<` is the rule.
    let edge = known.rows("edge", 1, &[1., 6., 20., 21.])?;
    let names = ["precision by <", "recall by <", "density by <", "coverage by <"];
    let measured = prdc(&mut known.meter(r#"prdc = { k = 3, rule = "<" }"#)?, &real, &edge)?;
    for ((measured, name), expected) in measured.iter().zip(names).zip([0.25, 1.0, 1.0 / 3.0, 1.0]) {
        known.answer(name, expected, measured.value);
    }
    Ok(())
}
