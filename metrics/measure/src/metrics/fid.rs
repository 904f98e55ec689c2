//! `fid`: the Frechet distance of the features of two sets.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_stats::frechet::frechet_distance_factored;
use specimen_stats::frechet_interval::frechet_interval;
use specimen_stats::gaussian::FactoredGaussian;

use crate::alike::{check_origins, check_widths};
use crate::error::{InMetric, MeasureError};
use crate::known_answers::Known;
use crate::measurement::{Measurement, SideFacts};
use crate::meter::Meter;
use crate::metrics::Metric;
use crate::sample::Factored;
use crate::statistics;

const NAME: &str = "fid";
/// The metric of this file.
pub const METRIC: Metric = Metric {
    name: NAME,
    table: NAME,
    run: |meter, sides| {
        let (real, generated) = sides.both();
        Ok(fid_saving(meter, real, generated, sides.save_real)?.into())
    },
    known_answers,
};
/// What needs the rows behind statistics.
const FOR_INTERVAL: &str = "the interval of fid";

/// Rows below which a distance is warned of: the fewest that pytorch-fid's page recommends, and the features of its
/// layer, below which a covariance has no full rank.
pub const FEW: u64 = 2048;

/// `[fid]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FidRule {
    /// The covariance is divided by `n - ddof`; every tool takes 1, and nothing else is computed here.
    pub ddof: u32,
}

/// Returns the distance of what is at `generated` from what is at `real`. The interval, if one is asked for, is
/// the uncertainty that comes from the generated side, cut to 0, and needs its rows.
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
    let of = [real, generated];
    meter.check_sides(&[(real, None), (generated, meter.interval().map(|_| FOR_INTERVAL))])?;
    let (reference, origin) = meter.side(real)?;
    if let Some(save) = save {
        let gaussian = reference.clone().gaussian().map_err(|e| MeasureError::array(real, e))?;
        statistics::write(&gaussian, origin.as_ref(), save)?;
    }
    let d = reference.d();
    let reference = reference.factored().map_err(|e| MeasureError::array(real, e))?;
    let (other, origin_of_other, interval) = match meter.interval() {
        None => {
            let (side, other_origin) = meter.side(generated)?;
            check_origins((real, origin.as_ref()), (generated, other_origin.as_ref()))?;
            check_widths((real, d), (generated, side.d()))?;
            (side.factored().map_err(|e| MeasureError::array(generated, e))?, other_origin, None)
        }
        Some(plan) => {
            let rows = meter.rows(generated, FOR_INTERVAL)?;
            check_origins((real, origin.as_ref()), (generated, rows.origin.as_ref()))?;
            check_widths((real, d), (generated, rows.features.d()))?;
            let interval =
                frechet_interval(&reference.factored, &rows.features, &plan).in_metric(NAME, &of)?;
            let factored =
                FactoredGaussian::of_rows(&rows.features).map_err(|e| MeasureError::array(generated, e))?;
            let n = Some(rows.features.n() as u64);
            (Factored { n, factored }, rows.origin, Some(interval.interval))
        }
    };
    let distance = frechet_distance_factored(&reference.factored, &other.factored).in_metric(NAME, &of)?;
    let few = of.into_iter().zip([reference.n, other.n]).filter_map(|(path, n)| few(path, n?));
    let few: Vec<String> = few.collect();
    let sides = [SideFacts { n: reference.n, origin }, SideFacts { n: other.n, origin: origin_of_other }];
    let measured = meter.measurement(NAME, distance.value(), &of, &sides)?;
    Ok(few
        .into_iter()
        .fold(measured, Measurement::with_note)
        .with_interval_from(interval, 0.0)
        .with_detail("mean_term", distance.mean_term)
        .with_detail("covariance_term", distance.covariance_term))
}

/// What is to be said of a side of `n` pictures or rows.
fn few(path: &Path, n: u64) -> Option<String> {
    (n < FEW).then(|| {
        format!(
            "{}: {n} pictures or rows; a distance of fewer than 2,048 is biased upwards by much, compare it only with \
             distances of equally many",
            path.display()
        )
    })
}

fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    // Means (1, 1) and (5, 2), covariances 4/3 and 16/3 of the identity.
    let small = known.rows("small", 2, &[0., 0., 2., 0., 0., 2., 2., 2.])?;
    let large = known.rows("large", 2, &[3., 0., 7., 0., 3., 4., 7., 4.])?;
    let found = fid(&mut known.meter("fid = { ddof = 1 }")?, &small, &large)?.value;
    known.answer(NAME, 17.0 + 8.0 / 3.0, found);
    Ok(())
}
