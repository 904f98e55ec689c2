//! `kid`: the kernel distance of the features of two sets, not scaled by 1000.

use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_stats::StatsError;
use specimen_stats::bootstrap::Interval;
use specimen_stats::jackknife::jackknife;
use specimen_stats::kid::kid_of_rows;
use specimen_stats::kid_subsets::{SubsetPlan, SubsetRule, kid_over_subsets};

use crate::alike::check_rows;
use crate::error::{InMetric, MeasureError};
use crate::known_answers::Known;
use crate::measurement::{Measurement, SideFacts};
use crate::meter::Meter;
use crate::metrics::Metric;

const NAME: &str = "kid";
/// The metric of this file.
pub const METRIC: Metric = Metric {
    name: NAME,
    table: NAME,
    run: |meter, sides| {
        let (real, generated) = sides.both();
        Ok(kid(meter, real, generated)?.into())
    },
    known_answers,
};

/// `[kid]`, the estimator of the squared discrepancy under the cubic kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(tag = "estimator", rename_all = "kebab-case", deny_unknown_fields)]
pub enum KidRule {
    /// The unbiased estimate over all pairs of rows.
    AllPairs,
    /// The mean over random subsets.
    Subsets {
        /// Whose order of draws.
        draw: Draw,
        /// The side that is the tool's first set, which its order of draws speaks of.
        first: FirstSet,
        /// How many.
        n_subsets: usize,
        /// Rows of each.
        subset_size: usize,
        /// Seed of NumPy's generator.
        seed: u32,
    },
}

/// The tool whose subsets are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Draw {
    /// torch-fidelity's.
    TorchFidelity,
    /// clean-fid's.
    CleanFid,
}

/// The side of a comparison that a tool takes for its first set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FirstSet {
    /// The reference: torchmetrics, clean-fid.
    Real,
    /// What is measured: torch-fidelity's input 1.
    Generated,
}

impl KidRule {
    /// How subsets are drawn, where they are.
    pub fn subsets(&self) -> Result<Option<SubsetPlan>, StatsError> {
        match *self {
            Self::AllPairs => Ok(None),
            Self::Subsets { draw, first: _, n_subsets, subset_size, seed } => {
                let rule = match draw {
                    Draw::TorchFidelity => SubsetRule::TorchFidelity,
                    Draw::CleanFid => SubsetRule::CleanFid,
                };
                SubsetPlan::new(rule, n_subsets, subset_size, seed).map(Some)
            }
        }
    }
}

/// Returns the distance of what is at `generated` from what is at `real` by the protocol's estimator. The interval,
/// if one is asked for, is that of the estimate over all pairs; under a rule of subsets, which are a noisy copy of that
/// estimate, value and interval over all pairs stand among the details, and the mean over subsets has none.
pub fn kid(meter: &mut Meter<'_>, real: &Path, generated: &Path) -> Result<Measurement, MeasureError> {
    let of = [real, generated];
    let rule = *meter.protocol().rule(NAME, |recipe| recipe.kid.as_ref())?;
    meter.check_sides(&of.map(|path| (path, Some(NAME))))?;
    let reference = meter.rows(real, NAME)?;
    let other = meter.rows(generated, NAME)?;
    check_rows((real, &reference), (generated, &other))?;
    let (real, generated) = (&reference.features, &other.features);
    let sides = [SideFacts::of(&reference), SideFacts::of(&other)];
    let interval = meter.interval().map(|plan| {
        let of_some = |kept: &[usize]| kid_of_rows(real, &generated.select(kept));
        jackknife(generated.n(), &plan, of_some).in_metric(NAME, &of)
    });
    let interval = interval.transpose()?.map(|estimate| estimate.interval);
    let KidRule::Subsets { first, .. } = rule else {
        let value = kid_of_rows(real, generated).in_metric(NAME, &of)?;
        return Ok(meter.measurement(NAME, value, &of, &sides)?.with_interval(interval));
    };
    let plan = rule.subsets().in_metric(NAME, &of)?.expect("a rule of subsets has a plan");
    let over_subsets = match first {
        FirstSet::Real => kid_over_subsets(real, generated, &plan),
        FirstSet::Generated => kid_over_subsets(generated, real, &plan),
    };
    let over_subsets = over_subsets.in_metric(NAME, &of)?;
    let measured = meter.measurement(NAME, over_subsets.mean, &of, &sides)?;
    let measured = measured
        .with_detail("deviation", over_subsets.deviation)
        .with_detail("n_subsets", over_subsets.values.len())
        .with_detail("subset_size", over_subsets.subset_size);
    let Some(Interval { lower, upper, .. }) = interval else { return Ok(measured) };
    let all_pairs = kid_of_rows(real, generated).in_metric(NAME, &of)?;
    Ok(measured.with_detail("all_pairs", all_pairs).with_detail("all_pairs_ci95", vec![lower, upper]))
}

fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    // (x y + 1)^3: 1 within, 27 within, 37/4 between.
    let (low, high) = (known.rows("low", 1, &[0., 1.])?, known.rows("high", 1, &[1., 2.])?);
    let all_pairs = known.meter(r#"kid = { estimator = "all-pairs" }"#)?;
    // The estimator of torch-fidelity; a subset of all rows is all rows, whatever is drawn.
    let subsets = r#"kid = { estimator = "subsets", draw = "torch-fidelity", first = "generated", n_subsets = 3, subset_size = 2, seed = 7 }"#;
    for (name, mut meter) in [(NAME, all_pairs), ("kid over subsets", known.meter(subsets)?)] {
        known.answer(name, 9.5, kid(&mut meter, &low, &high)?.value);
    }
    Ok(())
}
