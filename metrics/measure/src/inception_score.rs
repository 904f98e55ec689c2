//! `is`: the Inception Score of one set, from logits.

use std::path::Path;

use specimen_stats::inception_score::{SplitOrder, inception_score_cut};
use specimen_stats::jackknife::jackknife;

use crate::error::{InMetric, MeasureError};
use crate::measurement::{Measurement, SideFacts};
use crate::meter::Meter;

const NAME: &str = "is";

/// Returns the score of what lies at `path`; features that are given must be logits. The interval, if one is asked
/// for, is that of the mean over splits, cut to 1, the least score that there is.
///
/// # Errors
/// A path that cannot be read; a protocol without the metric; fewer pictures than splits.
pub fn inception_score(meter: &mut Meter<'_>, path: &Path) -> Result<Measurement, MeasureError> {
    let rule = meter.protocol().rule(NAME, |recipe| recipe.is.as_ref())?.clone();
    let rows = meter.rows_of_layer(path, NAME, &rule.layer)?;
    let order = rule.shuffle_seed.map_or(SplitOrder::AsGiven, SplitOrder::Shuffled);
    let (n_splits, cut) = (rule.n_splits, rule.split.cut());
    let score = inception_score_cut(&rows.features, n_splits, order, cut).in_metric(NAME, &[path])?;
    let interval = meter.interval().map(|plan| {
        let of =
            |kept: &[usize]| Ok(inception_score_cut(&rows.features.select(kept), n_splits, order, cut)?.mean);
        jackknife(rows.features.n(), &plan, of).in_metric(NAME, &[path])
    });
    let measured = meter.measurement(NAME, score.mean, &[path], &[SideFacts::of(&rows)])?;
    Ok(measured
        .with_interval_from(interval.transpose()?.map(|estimate| estimate.interval), 1.0)
        .with_detail("deviation", score.deviation)
        .with_detail("n_splits", score.values.len()))
}
