//! `is`: the Inception Score of one set, from logits.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_stats::inception_score::{SplitCut, SplitOrder, inception_score_cut};
use specimen_stats::jackknife::jackknife;

use crate::error::{InMetric, MeasureError};
use crate::known_answers::Known;
use crate::measurement::{Measurement, SideFacts};
use crate::meter::Meter;
use crate::metrics::Metric;

const NAME: &str = "is";
/// The metric of this file.
pub const METRIC: Metric = Metric {
    name: NAME,
    table: NAME,
    run: |meter, sides| Ok(inception_score(meter, sides.generated)?.into()),
    known_answers,
};

/// `[is]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InceptionScoreRule {
    /// The layer of the logits, which is another than that of the features.
    pub layer: String,
    /// Splits, over which the score is averaged.
    pub n_splits: usize,
    /// How pictures are cut into splits.
    #[serde(default)]
    pub split: Split,
    /// Seed of the shuffle before the split; without it pictures are split in the order of their names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shuffle_seed: Option<u32>,
}

/// How pictures are cut into splits, and what the deviation over them is divided by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Split {
    /// As even as can be, divisor `n`: torch-fidelity.
    #[default]
    Even,
    /// `torch.chunk`: of equal size but the last, maybe fewer than asked for; divisor `n - 1`: torchmetrics.
    Chunks,
}

impl Split {
    /// The statistic's name for it.
    pub fn cut(self) -> SplitCut {
        match self {
            Self::Even => SplitCut::Even,
            Self::Chunks => SplitCut::Chunks,
        }
    }
}

/// Returns the score of what is at `path`; features that are given must be logits. The interval, if one is asked
/// for, is that of the mean over splits, cut to 1, the least score that there is.
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

fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    // Two pictures, each surely of a class of its own.
    let logits = known.rows("logits", 2, &[1000., 0., 0., 1000.])?;
    let mut meter = known.meter(r#"is = { layer = "none", n_splits = 1 }"#)?;
    known.answer(NAME, 2.0, inception_score(&mut meter, &logits)?.value);
    Ok(())
}
