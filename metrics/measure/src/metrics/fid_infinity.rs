//! `fid-infinity`: the Frechet distance extrapolated to infinitely many generated pictures (Chong and Forsyth 2020). The
//! bias of the reference side stays.

use std::path::Path;

use specimen_stats::fid_infinity::{Subsets, fid_infinity as extrapolated, published_sizes};

use crate::alike::{check_origins, check_widths};
use crate::error::{InMetric, MeasureError};
use crate::known_answers::Known;
use crate::measurement::{Measurement, SideFacts};
use crate::meter::Meter;
use crate::metrics::Metric;

const NAME: &str = "fid-infinity";
/// The metric of this file.
pub const METRIC: Metric = Metric {
    name: NAME,
    table: "fid",
    run: |meter, sides| {
        let (real, generated) = sides.both();
        Ok(fid_infinity(meter, real, generated)?.into())
    },
    known_answers,
};

/// Draws the subsets. A constant, so that it is part of what a value's name means.
const SEED: u64 = 1;

/// Returns the distance between what is at `real` and at `generated`, extrapolated from subsets of `generated` of dgm-eval's
/// 15 sizes. It can be slightly negative, and has no interval.
pub fn fid_infinity(
    meter: &mut Meter<'_>,
    real: &Path,
    generated: &Path,
) -> Result<Measurement, MeasureError> {
    meter.protocol().rule(NAME, |recipe| recipe.fid.as_ref())?;
    let of = [real, generated];
    meter.check_sides(&[(real, None), (generated, Some(NAME))])?;
    let (reference, origin) = meter.side(real)?;
    let rows = meter.rows(generated, NAME)?;
    check_origins((real, origin.as_ref()), (generated, rows.origin.as_ref()))?;
    check_widths((real, reference.d()), (generated, rows.features.d()))?;
    let reference = reference.factored().map_err(|e| MeasureError::array(real, e))?;
    let sizes = published_sizes(rows.features.n()).in_metric(NAME, &of)?;
    let line = extrapolated(&reference.factored, &rows.features, &sizes, Subsets::Drawn { seed: SEED })
        .in_metric(NAME, &of)?;
    let sides = [SideFacts { n: reference.n, origin }, SideFacts::of(&rows)];
    let measured = meter.measurement(NAME, line.value, &of, &sides)?;
    Ok(measured.with_detail("slope", line.slope).with_detail("n_sizes", line.points.len()))
}

fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    // Mean 1 and covariance 2 on one side, 4 and 0 on the other, whatever subset is drawn.
    let (real, constant) = (known.rows("spread", 1, &[0., 2.])?, known.rows("constant", 1, &[4.; 20])?);
    let found = fid_infinity(&mut known.meter("fid = { ddof = 1 }")?, &real, &constant)?.value;
    known.answer(NAME, 11.0, found);
    Ok(())
}
