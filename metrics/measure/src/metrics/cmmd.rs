//! `cmmd`: the maximum mean discrepancy of the CLIP embeddings of two sets.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_stats::jackknife::jackknife;

use crate::alike::check_rows;
use crate::error::{InMetric, MeasureError};
use crate::known_answers::Known;
use crate::measurement::{Measurement, SideFacts};
use crate::meter::Meter;
use crate::metrics::Metric;

const NAME: &str = "cmmd";
/// The metric of this file.
pub const METRIC: Metric = Metric {
    name: NAME,
    table: NAME,
    run: |meter, sides| {
        let (real, generated) = sides.both();
        Ok(cmmd(meter, real, generated)?.into())
    },
    known_answers,
};

/// `[cmmd]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CmmdRule {
    /// The kernel of the biased estimate.
    pub kernel: CmmdKernel,
}

/// The kernel of CMMD.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CmmdKernel {
    /// Gaussian of width 10 on embeddings of unit length, times 1000.
    #[serde(rename = "gaussian-10")]
    Gaussian10,
}

/// Returns the discrepancy between what is at `real` and at `generated`. The interval, if one is asked for, is the
/// uncertainty that comes from the generated side, cut to 0, the least that there is.
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

fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    // Unit vectors at a right angle.
    let (across, up) = (known.rows("across", 2, &[5., 0.])?, known.rows("up", 2, &[0., 0.1])?);
    let found = cmmd(&mut known.meter(r#"cmmd = { kernel = "gaussian-10" }"#)?, &across, &up)?.value;
    known.answer(NAME, 2000.0 * (1.0 - (-0.01_f64).exp()), found);
    Ok(())
}
