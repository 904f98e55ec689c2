//! `realism`: how deep generated pictures are among the neighbourhoods of real ones (Kynkaanniemi et al. 2019, eq. 3).
//! A picture with a score of 1 or more is inside some neighbourhood.

use std::path::Path;

use specimen_stats::realism::{Realism, realism as realism_of_rows};

use crate::alike::check_rows;
use crate::error::{InMetric, MeasureError};
use crate::known_answers::Known;
use crate::measurement::{Measurement, SideFacts};
use crate::meter::Meter;
use crate::metrics::Metric;

const NAME: &str = "realism";
/// The metric of this file.
pub const METRIC: Metric = Metric {
    name: NAME,
    table: "prdc",
    run: |meter, sides| {
        let (real, generated) = sides.both();
        Ok(realism(meter, real, generated)?.into())
    },
    known_answers,
};

/// Returns the median of the scores of what is at `generated` among what is at `real`, with `k` of the protocol's `[prdc]`. It
/// has no interval.
pub fn realism(meter: &mut Meter<'_>, real: &Path, generated: &Path) -> Result<Measurement, MeasureError> {
    let of = [real, generated];
    let k = meter.protocol().rule(NAME, |recipe| recipe.prdc.as_ref())?.k;
    meter.check_sides(&of.map(|path| (path, Some(NAME))))?;
    let reference = meter.rows(real, NAME)?;
    let other = meter.rows(generated, NAME)?;
    check_rows((real, &reference), (generated, &other))?;
    let mut scores: Vec<f64> = realism_of_rows(&reference.features, &other.features, k)
        .in_metric(NAME, &of)?
        .into_iter()
        .map(|score| match score {
            Realism::Score(score) => score,
            Realism::Copy => f64::INFINITY,
        })
        .collect();
    scores.sort_by(f64::total_cmp);
    let inside = scores.iter().filter(|&&score| score >= 1.0).count();
    let copies = scores.iter().filter(|score| score.is_infinite()).count();
    let sides = [SideFacts::of(&reference), SideFacts::of(&other)];
    let middle = |at: usize| scores[at / 2];
    let median = (middle(scores.len() - 1) + middle(scores.len())) / 2.0;
    let measured = meter.measurement(NAME, median, &of, &sides)?;
    Ok(measured
        .with_detail("k", k)
        .with_detail("share_inside", inside as f64 / scores.len() as f64)
        .with_detail("n_copies", copies))
}

fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    // Balls of radius 1, 1 and 2 about 0, 1 and 3; the largest is left out. 10 is nine radii from 1, 0.5 half of one, so the
    // scores are 1 / 9 and 2, and the median is between them.
    let (real, generated) = (known.rows("balls", 1, &[0., 1., 3.])?, known.rows("points", 1, &[0.5, 10.])?);
    let found = realism(&mut known.meter(r#"prdc = { k = 1, rule = "<=" }"#)?, &real, &generated)?.value;
    known.answer(NAME, 19.0 / 18.0, found);
    Ok(())
}
