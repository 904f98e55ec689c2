//! `is`: the Inception Score of one set, from logits.

use std::path::Path;

use specimen_stats::inception_score::{SplitOrder, inception_score as score_of};
use specimen_stats::jackknife::jackknife;

use crate::error::{InMetric, MeasureError};
use crate::measurement::Measurement;
use crate::meter::Meter;

const NAME: &str = "is";

/// Returns the score of what lies at `path`; features that are given must be logits. The interval, if one is asked
/// for, is that of the mean over splits.
pub fn inception_score(meter: &mut Meter<'_>, path: &Path) -> Result<Measurement, MeasureError> {
    let rule = meter.protocol().rule(NAME, |recipe| recipe.is.as_ref())?.clone();
    let rows = meter.rows_of_layer(path, NAME, &rule.layer)?;
    let order = rule.shuffle_seed.map_or(SplitOrder::AsGiven, SplitOrder::Shuffled);
    let score = score_of(&rows.features, rule.n_splits, order).in_metric(NAME)?;
    let interval = meter.interval().map(|plan| {
        let of = |kept: &[usize]| Ok(score_of(&rows.features.select(kept), rule.n_splits, order)?.mean);
        jackknife(rows.features.n(), &plan, of).in_metric(NAME)
    });
    let n = vec![Some(rows.features.n() as u64)];
    let measured = meter.measurement(NAME, score.mean, n, rows.extractor.clone())?;
    Ok(measured
        .with_interval(interval.transpose()?.map(|estimate| estimate.interval))
        .with_detail("deviation", score.deviation)
        .with_detail("n_splits", rule.n_splits))
}
