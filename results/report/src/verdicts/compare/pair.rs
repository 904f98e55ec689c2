//! One paired quantity: its estimate, interval, p value and what the pairs could have shown.

use serde::Serialize;
use specimen_stats::bootstrap::{BootstrapPlan, Interval, N_RESAMPLES};
use specimen_stats::paired::{Paired, ratio_of_sums_change};

use crate::{verdicts::values::ByPrompt, verdicts::values::PairedTimes};

/// How two sides are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// B minus A.
    Difference,
    /// A over B: above 1 where B took less.
    Ratio,
}

/// A paired estimate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// How the sides are compared.
    pub scale: Scale,
    /// Pairs: prompts that both sides have.
    pub n: usize,
    /// Mean of A over these prompts.
    pub a: f64,
    /// Mean of B.
    pub b: f64,
    /// Mean difference, or ratio of the mean times.
    pub value: f64,
    /// Its 95 % interval; absent below six pairs.
    pub ci95: Option<[f64; 2]>,
    /// Of a ratio: the geometric mean of the observations.
    pub geomean: Option<f64>,
    /// Of a ratio: the median of the observations; absent below six pairs.
    pub median: Option<f64>,
    /// Two-sided p value of no difference; absent where no pair differs from another.
    pub p: Option<f64>,
    /// Smallest difference (for a ratio: factor) that this many pairs find with 80 % power.
    pub detectable: f64,
}

/// Pairs two sides over the prompts that both have; `None` for fewer than two.
pub fn estimate(a: &ByPrompt, b: &ByPrompt, scale: Scale, seed: u64) -> anyhow::Result<Option<Estimate>> {
    let shared = |of: &ByPrompt, with: &ByPrompt| -> Vec<(String, f64)> {
        let both = of.iter().filter(|(prompt, _)| with.contains_key(*prompt));
        both.map(|(prompt, value)| (prompt.clone(), *value)).collect()
    };
    let (a, b) = (shared(a, b), shared(b, a));
    if a.len() < 2 {
        return Ok(None);
    }
    let mean = |side: &[(String, f64)]| side.iter().map(|(_, value)| value).sum::<f64>() / side.len() as f64;
    let (n, mean_a, mean_b) = (a.len(), mean(&a), mean(&b));
    let resamples = BootstrapPlan::new(seed, N_RESAMPLES, 0.95)?;
    let paired = Paired::join(a, b)?;
    let blank = Estimate {
        scale,
        n,
        a: mean_a,
        b: mean_b,
        value: 0.0,
        ci95: None,
        geomean: None,
        median: None,
        p: None,
        detectable: 0.0,
    };
    Ok(Some(match scale {
        Scale::Difference => {
            let found = paired.mean_difference(&resamples)?;
            Estimate {
                value: found.value,
                ci95: found.interval.map(ends),
                p: found.p,
                detectable: found.detectable,
                ..blank
            }
        }
        Scale::Ratio => {
            let found = paired.ratio_of_sums(&resamples)?;
            let (p, detectable) = paired.ratio_of_sums_test()?;
            Estimate {
                value: found.value,
                ci95: found.interval.map(ends),
                geomean: Some((-paired.logarithms()?.mean_difference(&resamples)?.value).exp()),
                median: paired.median_ratio(0.95).ok().map(|median| median.value),
                p,
                detectable,
                ..blank
            }
        }
    }))
}

/// How far a cell's speedup in B is from that in A: both are the baseline's mean time over the cell's, as in the table of
/// a run, over the prompts that both runs timed; `None` for fewer than two.
pub(crate) fn change_of_speedup(
    a: &PairedTimes,
    b: &PairedTimes,
    seed: u64,
) -> anyhow::Result<Option<Estimate>> {
    let is_shared = |prompt: &String| a.method.contains_key(prompt) && b.method.contains_key(prompt);
    let pairs = |times: &PairedTimes| {
        let of = |side: &ByPrompt| -> Vec<(String, f64)> {
            let shared = side.iter().filter(|(prompt, _)| is_shared(prompt));
            shared.map(|(prompt, seconds)| (prompt.clone(), *seconds)).collect()
        };
        (of(&times.baseline), of(&times.method))
    };
    let ((above_a, below_a), (above_b, below_b)) = (pairs(a), pairs(b));
    let n = above_a.len();
    if n < 2 {
        return Ok(None);
    }
    let resamples = BootstrapPlan::new(seed, N_RESAMPLES, 0.95)?;
    let (in_a, in_b) = (Paired::join(above_a, below_a)?, Paired::join(above_b, below_b)?);
    let found = ratio_of_sums_change(&in_a, &in_b, &resamples)?;
    Ok(Some(Estimate {
        scale: Scale::Difference,
        n,
        a: found.first,
        b: found.second,
        value: found.change.value,
        ci95: found.change.interval.map(ends),
        geomean: None,
        median: None,
        p: found.p,
        detectable: found.detectable,
    }))
}

fn ends(interval: Interval) -> [f64; 2] {
    [interval.lower, interval.upper]
}
