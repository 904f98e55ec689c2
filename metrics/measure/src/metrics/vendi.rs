//! `vendi`: how many different pictures one set holds.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_stats::jackknife::jackknife;

use crate::error::{InMetric, MeasureError};
use crate::known_answers::Known;
use crate::measurement::{Measurement, SideFacts};
use crate::meter::Meter;
use crate::metrics::Metric;

const NAME: &str = "vendi";
/// The metric of this file.
pub const METRIC: Metric = Metric {
    name: NAME,
    table: NAME,
    run: |meter, sides| Ok(vendi(meter, sides.generated)?.into()),
    known_answers,
};

/// `[vendi]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VendiRule {
    /// The kernel whose eigenvalues are counted.
    pub kernel: VendiKernel,
}

/// The kernel of the Vendi score.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum VendiKernel {
    /// The cosine of two rows.
    Cosine,
}

/// Returns the Vendi score of what is at `path`, with an interval if one is asked for, cut to 1, the least score
/// that there is.
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

fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    let axes = known.rows("axes", 3, &[2., 0., 0., 0., 3., 0., 0., 0., 4.])?;
    let found = vendi(&mut known.meter(r#"vendi = { kernel = "cosine" }"#)?, &axes)?.value;
    known.answer(NAME, 3.0, found);
    Ok(())
}
