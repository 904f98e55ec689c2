//! The summary of one cell.

use std::collections::BTreeMap;

use specimen_experiments::spec::{self, Cell};
use specimen_stats::bootstrap::BootstrapPlan;

use crate::{
    CellSummary, Guarantee, Reading, Record, Sampling,
    summary::{
        cell_data::CellData,
        error::SummaryError,
        external_images,
        method_words::{drafter_words, family, method_words, params},
        metrics::metrics,
        speedups::{UNTIMED, drafts_per_verification, predict, ratio},
        summarise::Inputs,
        timing_checks,
        wall_times::{mean_s, overhead, wall_times},
    },
};

/// Readings by the name of their measure.
pub(crate) type Readings = BTreeMap<String, Reading>;

/// Summarises the rows of a cell; `baseline` has those of the cell that it is compared with. Times are compared where both are
/// timed.
pub(crate) fn cell_summary(
    inputs: &Inputs<'_>,
    resamples: &BootstrapPlan,
    data: &CellData<'_>,
    baseline: Option<&CellData<'_>>,
    n_failed: u64,
) -> Result<CellSummary, SummaryError> {
    let &Inputs { run, plan, .. } = inputs;
    let cell = data.cell;
    let reported = external_images::of(cell, &data.records);
    let baseline_times = baseline.filter(|other| other.cell.timed);
    let mut measures = times(inputs, resamples, data, baseline_times, reported.is_some())?;
    match &reported {
        Some(reported) => measures.extend(reported.readings.clone()),
        None => measures.extend(counts(data)),
    }
    Ok(CellSummary {
        id: cell.name.clone(),
        model: cell.model.name.clone(),
        dataset: plan.dataset.clone(),
        drafter: if reported.is_some() { "not known".to_owned() } else { drafter_words(&cell.method) },
        method: method_words(cell),
        family: Some(family(cell)),
        guarantee: match &reported {
            Some(_) => Guarantee::Unknown,
            None if cell.method.is_lossless() => Guarantee::Exact,
            None => Guarantee::Relaxed,
        },
        origin: reported.as_ref().map(|reported| reported.origin),
        baseline: baseline.map(|baseline| baseline.cell.name.clone()),
        dtype: cell.model.dtype.name().to_owned(),
        device: cell.model.device.clone(),
        sampling: sampling(cell),
        params: params(cell),
        n_images: data.records.len() as u64,
        n_failed,
        timing_quality: Some(timing_checks::of_cell(&data.timed)),
        measures,
        acceptance_by_depth: data.counts.as_ref().map_or_else(Vec::new, |c| c.acceptance_by_depth.clone()),
        metrics: metrics(run, &plan.spec, cell, baseline.map(|baseline| baseline.cell), resamples)?,
    })
}

/// What the times of a cell give. Of images of another program only the whole time is known: there are no phases and no steps.
fn times(
    inputs: &Inputs<'_>,
    resamples: &BootstrapPlan,
    data: &CellData<'_>,
    baseline: Option<&CellData<'_>>,
    is_external: bool,
) -> Result<Readings, SummaryError> {
    let devices = &inputs.hardware.devices;
    let mut found = ratio("speedup_e2e", data, baseline, devices, resamples, |row| row.e2e_ns)?;
    let untimed = if data.cell.timed { "nothing was timed" } else { UNTIMED };
    let mut put = |measure: &str, value: Option<f64>, why: &str| {
        let reading = value.map_or_else(|| Reading::absent(why), Reading::of);
        found.insert(measure.to_owned(), reading);
    };
    put("e2e_s", mean_s(data, |row| row.e2e_ns), untimed);
    if is_external {
        for measure in ["speedup", "decode_s"] {
            put(measure, None, external_images::NO_INSIDE);
        }
        for measure in ["predicted_speedup", "measured_to_predicted_speedup", "overhead_fraction"] {
            put(measure, None, external_images::NO_STEPS);
        }
        return Ok(found);
    }
    put("overhead_fraction", overhead(data), untimed);
    put("decode_s", mean_s(data, |row| row.decode_ns), untimed);
    found.extend(wall_times(data));
    found.extend(ratio("speedup", data, baseline, devices, resamples, |row| row.decode_ns)?);
    let predicted = predict(data, baseline, &found["speedup"])?;
    found.extend(predicted);
    Ok(found)
}

/// What is counted of a cell of this program's images: means over images, and rates pooled over all steps of all images.
fn counts(data: &CellData<'_>) -> Readings {
    let Some(counts) = &data.counts else {
        let counted =
            ["accepted_per_step", "nfe", "step_compression", "tokens_per_forward", "tpf", "tvd_spent"];
        return counted.map(|measure| (measure.to_owned(), Reading::absent("no image"))).into();
    };
    let (mean, pooled) = (&counts.macro_mean, &counts.micro);
    let sum = |of: fn(&Record) -> f64| data.records.iter().map(|record| of(record)).sum::<f64>();
    let has_forced = data.records.iter().any(|record| record.forced > 0);
    let found = [
        ("accepted_per_step", Some(mean.accepted_per_step)),
        ("accepted_per_step_unforced", has_forced.then_some(mean.accepted_per_step_unforced)),
        ("tokens_per_forward", Some(mean.tokens_per_forward)),
        ("tpf", Some(mean.tokens_per_forward_with_skips)),
        ("nfe", Some(mean.nfe)),
        ("step_compression", Some(mean.step_compression)),
        ("tvd_spent", Some(sum(|record| record.tvd_spent) / data.records.len() as f64)),
        ("out_of_support", Some(sum(|record| record.out_of_support as f64))),
        ("residual_fallbacks", Some(sum(|record| record.residual_fallbacks as f64))),
        ("pooled_accepted_per_step", Some(pooled.accepted_per_step)),
        ("pooled_tokens_per_forward", Some(pooled.tokens_per_forward)),
        ("pooled_tpf", Some(pooled.tokens_per_forward_with_skips)),
        ("nodes_per_verification", data.nodes),
        ("drafts_per_verification", drafts_per_verification(data)),
    ];
    found.into_iter().filter_map(|(measure, value)| Some((measure.to_owned(), Reading::of(value?)))).collect()
}

fn sampling(cell: &Cell) -> Sampling {
    let spec::Sampling { temperature, top_k, top_p, guidance, coupled, .. } = cell.sampling;
    Sampling { temperature, top_k, top_p, guidance, coupled }
}
