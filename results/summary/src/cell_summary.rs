//! The summary of one cell.

use std::collections::BTreeMap;

use specimen_experiments::spec::{self, Cell};
use specimen_record::{
    CellQuantity, CellSummary, Guarantee, Pooled, PredictedSpeedup, Ratio, Sampling, WallSeconds,
};
use specimen_stats::bootstrap::BootstrapPlan;

use crate::{
    cell_data::CellData,
    error::SummaryError,
    external_images,
    method_words::{drafter_words, family, method_words, params},
    metrics::metrics,
    speedups::{UNTIMED, drafts_per_verification, no_prediction, predict, ratio},
    summarise::Inputs,
    timing_checks,
    wall_times::{mean_s, overhead, wall_times},
};

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
    let Times { speedup, speedup_e2e, wall_s, predicted, overhead_fraction } =
        times(inputs, resamples, data, baseline.filter(|other| other.cell.timed), reported.is_some())?;
    let rates = data.counts.as_ref().map(|counts| &counts.macro_mean);
    let micro = data.counts.as_ref().map(|counts| &counts.micro);
    let mut why = reported.as_ref().map_or_else(|| reasons(data), |reported| reported.why.clone());
    let absent = [
        (CellQuantity::WallS, wall_s.e2e.is_none()),
        (CellQuantity::OverheadFraction, overhead_fraction.is_none() && reported.is_none()),
    ];
    let untimed = if cell.timed { "nothing was timed" } else { UNTIMED };
    why.extend(absent.into_iter().filter(|(_, is)| *is).map(|(quantity, _)| (quantity, untimed.to_owned())));
    let n = data.records.len() as f64;
    let tvd = data.records.iter().map(|record| record.tvd_spent).sum::<f64>();
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
        speedup,
        speedup_e2e,
        accepted_per_step: rates.map(|rates| rates.accepted_per_step),
        accepted_per_step_unforced: rates
            .filter(|_| data.records.iter().any(|record| record.forced > 0))
            .map(|rates| rates.accepted_per_step_unforced),
        tokens_per_forward: rates.map(|rates| rates.tokens_per_forward),
        tpf: rates.map(|rates| rates.tokens_per_forward_with_skips),
        pooled: Pooled {
            accepted_per_step: micro.map(|rates| rates.accepted_per_step),
            tokens_per_forward: micro.map(|rates| rates.tokens_per_forward),
            tpf: micro.map(|rates| rates.tokens_per_forward_with_skips),
            nodes: data.nodes,
            drafts: micro.and_then(|_| drafts_per_verification(data)),
        },
        nfe: reported.as_ref().map_or(rates.map(|rates| rates.nfe), |reported| reported.nfe),
        step_compression: reported
            .as_ref()
            .map_or(rates.map(|rates| rates.step_compression), |reported| reported.step_compression),
        wall_s,
        predicted_speedup: predicted,
        projection: None,
        overhead_fraction,
        tvd_spent: rates.map(|_| tvd / n),
        out_of_support: data.records.iter().map(|record| record.out_of_support).sum(),
        residual_fallbacks: data.records.iter().map(|record| record.residual_fallbacks).sum(),
        acceptance_by_depth: data.counts.as_ref().map_or_else(Vec::new, |c| c.acceptance_by_depth.clone()),
        metrics: metrics(run, &plan.spec, cell, baseline.map(|baseline| baseline.cell), resamples)?,
        why,
    })
}

fn sampling(cell: &Cell) -> Sampling {
    let spec::Sampling { temperature, top_k, top_p, guidance, coupled, .. } = cell.sampling;
    Sampling { temperature, top_k, top_p, guidance, coupled }
}

/// What the times of a cell give.
struct Times {
    speedup: Ratio,
    speedup_e2e: Ratio,
    wall_s: WallSeconds,
    predicted: PredictedSpeedup,
    overhead_fraction: Option<f64>,
}

/// Of images of another program only the whole time is known: there are no phases and no steps.
fn times(
    inputs: &Inputs<'_>,
    resamples: &BootstrapPlan,
    data: &CellData<'_>,
    baseline: Option<&CellData<'_>>,
    is_external: bool,
) -> Result<Times, SummaryError> {
    let devices = &inputs.hardware.devices;
    let speedup_e2e = ratio(data, baseline, devices, resamples, |row| row.e2e_ns)?;
    if is_external {
        return Ok(Times {
            speedup: Ratio::absent(external_images::NO_INSIDE),
            speedup_e2e,
            wall_s: external_images::whole_times(mean_s(data, |row| row.e2e_ns)),
            predicted: no_prediction(external_images::NO_STEPS),
            overhead_fraction: None,
        });
    }
    let speedup = ratio(data, baseline, devices, resamples, |row| row.decode_ns)?;
    Ok(Times {
        predicted: predict(data, baseline, speedup.value)?,
        speedup,
        speedup_e2e,
        wall_s: wall_times(data),
        overhead_fraction: overhead(data),
    })
}

/// Why quantities of a cell of this program's images are null, times apart.
fn reasons(data: &CellData<'_>) -> BTreeMap<CellQuantity, String> {
    use CellQuantity::{AcceptedPerStep, Nfe, StepCompression, TokensPerForward, Tpf, TvdSpent};
    let counted = [AcceptedPerStep, TokensPerForward, Tpf, Nfe, StepCompression, TvdSpent];
    let absent = counted.into_iter().filter(|_| data.counts.is_none());
    absent.map(|quantity| (quantity, "no image".to_owned())).collect()
}
