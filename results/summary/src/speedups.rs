//! Speedups: measured, as paired ratios of times, and predicted from counts and costs.

use std::collections::BTreeSet;

use specimen_record::{PredictedSpeedup, Ratio, TimingRow};
use specimen_stats::{
    bootstrap::{BootstrapPlan, Interval},
    paired::Paired,
    predicted_speedup::{StepCosts, predicted_speedup},
};

use crate::{
    cell_data::{CellData, by_unit},
    error::SummaryError,
    hardware::Devices,
    wall_times::mean_where,
};

/// Baseline time over this cell's, paired.
pub(crate) fn ratio(
    data: &CellData<'_>,
    baseline: Option<&CellData<'_>>,
    devices: &Devices,
    resamples: &BootstrapPlan,
    time: fn(&TimingRow) -> u64,
) -> Result<Ratio, SummaryError> {
    let Some(baseline) = baseline else {
        return Ok(Ratio::absent(if data.cell.timed {
            "the spec has no timed `ar` cell with this model and sampling"
        } else {
            "the cell is untimed"
        }));
    };
    let times = |data: &CellData<'_>, other: &CellData<'_>| -> Vec<(String, f64)> {
        let shared = data.timings.iter().filter(|(key, _)| other.timings.contains_key(*key));
        by_unit(shared.map(|(_, row)| (row.unit(), time(row) as f64)))
    };
    let shared = data.timings.keys().filter(|key| baseline.timings.contains_key(*key));
    let used: BTreeSet<&String> = shared.filter_map(|key| devices.get(&key.attempt)).collect();
    if used.len() > 1 {
        let names = used.into_iter().map(String::as_str).collect::<Vec<_>>().join("; ");
        return Ok(Ratio::absent(&format!(
            "its times are of several devices ({names}), which form no ratio; pin timed cells to one device, on a cluster \
             by `constraint` in [slurm.timing], and run them again"
        )));
    }
    let pairs = (times(baseline, data), times(data, baseline));
    if pairs.0.len() < 2 {
        let what = match data.cell.model.n_together() {
            1 => "prompts",
            _ => "batches",
        };
        let why = format!("fewer than two {what} were timed with both this cell and the baseline");
        return Ok(Ratio::absent(&why));
    }
    let paired = Paired::join(pairs.0, pairs.1)?;
    let ends = |interval: Interval| Some([interval.lower, interval.upper]);
    let estimate = paired.ratio_of_sums(resamples)?;
    let geomean = paired.geometric_mean_ratio(resamples)?;
    // Fewer than six pairs have a median whose interval would be wider than their range.
    let median = paired.median_ratio(0.95).ok();
    Ok(Ratio {
        value: Some(estimate.value),
        ci95: ends(estimate.interval),
        geomean: Some(geomean.value),
        geomean_ci95: ends(geomean.interval),
        median: median.map(|median| median.value),
        median_ci95: median.and_then(|median| ends(median.interval)),
        why: None,
    })
}

/// No prediction, with the reason.
pub(crate) fn no_prediction(why: &str) -> PredictedSpeedup {
    PredictedSpeedup {
        value: None,
        r_verify: None,
        c_draft: None,
        n_draft: None,
        ratio_measured_to_predicted: None,
        why: Some(why.to_owned()),
    }
}

/// `tau / (r_verify + n_draft c_draft)` from counts and mean forward times.
pub(crate) fn predict(
    data: &CellData<'_>,
    baseline: Option<&CellData<'_>>,
    measured: Option<f64>,
) -> Result<PredictedSpeedup, SummaryError> {
    let Some(baseline) = baseline else {
        return Ok(no_prediction("there is no baseline to take costs from"));
    };
    // Costs are ratios of times, so both are of the attempts that timed both cells.
    let mean_s = |data: &CellData<'_>, other: &CellData<'_>, of: fn(&TimingRow) -> u64| {
        mean_where(data, |key| other.timings.contains_key(key), of)
    };
    let per_forward = |data: &CellData<'_>, other: &CellData<'_>| -> Option<f64> {
        let total: f64 = mean_s(data, other, |row| row.phases_ns.target)?;
        let forwards = n_verifies(data) as f64;
        (forwards > 0.0).then(|| total * data.records.len() as f64 / forwards)
    };
    let (Some(counts), Some(verify), Some(step)) =
        (&data.counts, per_forward(data, baseline), per_forward(baseline, data))
    else {
        return Ok(no_prediction("nothing was timed"));
    };
    let n_draft = data.records.iter().map(|record| record.n_draft_forwards).sum::<u64>() as f64;
    let draft_s =
        mean_s(data, baseline, |row| row.phases_ns.draft).unwrap_or(0.0) * data.records.len() as f64;
    let costs = StepCosts {
        r_verify: verify / step,
        n_draft: drafts_per_verification(data).unwrap_or(0.0),
        c_draft: if n_draft > 0.0 { draft_s / n_draft / step } else { 0.0 },
    };
    let value = predicted_speedup(counts.micro.tokens_per_forward_with_skips, &costs)?;
    Ok(PredictedSpeedup {
        value: Some(value),
        r_verify: Some(costs.r_verify),
        c_draft: Some(costs.c_draft),
        n_draft: Some(costs.n_draft),
        ratio_measured_to_predicted: measured.map(|measured| measured / value),
        why: None,
    })
}

/// Drafter forwards for each target forward after the prefill.
pub(crate) fn drafts_per_verification(data: &CellData<'_>) -> Option<f64> {
    let n_draft: u64 = data.records.iter().map(|record| record.n_draft_forwards).sum();
    let n_verifies = n_verifies(data);
    (n_verifies > 0).then(|| n_draft as f64 / n_verifies as f64)
}

/// Target forwards of a cell without the prefills.
fn n_verifies(data: &CellData<'_>) -> u64 {
    data.records.iter().filter_map(|record| record.nfe).map(|nfe| nfe - 1).sum()
}
