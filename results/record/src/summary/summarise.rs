//! The summary of a run, cell by cell.
//!
//! Every time is compared with the baseline's on the same prompt in the same attempt of the same shard.

use std::collections::BTreeMap;

use specimen_experiments::{names::BASELINE, plan::Plan, spec::Cell};
use specimen_stats::bootstrap::{BootstrapPlan, N_RESAMPLES};

use crate::{
    Digest, ItemKey, Manifest, Record, RunDir, SUMMARY_SCHEMA, Status, StepsRow, Summary, read_rows,
    read_timings,
    summary::{
        cell_data::{CellData, find_whole_attempts},
        cell_summary::cell_summary,
        error::SummaryError,
        hardware::RunHardware,
        timing_checks,
    },
};

/// A merged and scored run.
pub struct Inputs<'a> {
    /// The run.
    pub run: &'a RunDir,
    /// Its plan.
    pub plan: &'a Plan,
    /// Its merged records.
    pub records: &'a [Record],
    /// Its manifest.
    pub manifest: &'a Manifest,
    /// What its images were made on.
    pub hardware: &'a RunHardware,
    /// Digest of the merged records.
    pub result_digest: &'a Digest,
}

/// Summarises a run.
pub fn summarise(inputs: &Inputs<'_>) -> Result<Summary, SummaryError> {
    let &Inputs { run, plan, records, manifest, hardware, result_digest } = inputs;
    let spec = &plan.spec;
    let timings = read_timings(run)?.rows;
    let steps: BTreeMap<ItemKey, StepsRow> = read_rows::<StepsRow>(&run.merged_steps())?
        .rows
        .into_iter()
        .map(|row| (row.key.clone(), row))
        .collect();
    let path = run.merged_records();
    let of_cell = |cell| CellData::of(cell, (records, &path), &timings, &steps);
    let mut all: Vec<CellData<'_>> = spec.cells.iter().map(of_cell).collect::<Result<_, _>>()?;
    find_whole_attempts(&mut all);
    let resamples = BootstrapPlan::new(spec.seed, N_RESAMPLES, 0.95)?;
    let mut cells = Vec::new();
    for data in &all {
        let baseline = spec.image_baseline_of(data.cell);
        let baseline = baseline.and_then(|cell| all.iter().find(|other| other.cell.name == cell.name));
        let n_failed = n_failed(records, data.cell);
        let cell = cell_summary(inputs, &resamples, data, baseline, n_failed);
        cells.push(cell.map_err(|error| error.of_rows(&path, &format!("cell {}", data.cell.name)))?);
    }
    let is_baseline =
        |data: &&CellData<'_>| spec.baseline_of(data.cell).is_some_and(|cell| cell.name == data.cell.name);
    let baselines: Vec<_> = all.iter().filter(is_baseline).flat_map(|data| &data.timed).copied().collect();
    Ok(Summary {
        schema: SUMMARY_SCHEMA,
        timing_quality: Some(timing_checks::of_run(run, &baselines, hardware.plain_steps.clone())?),
        spec: manifest.spec.clone(),
        name: spec.name.clone(),
        plan_digest: manifest.plan_digest.clone(),
        result_digest: result_digest.clone(),
        baseline: BASELINE.to_owned(),
        device: manifest.device.clone(),
        dtype: manifest.dtype.clone(),
        threads: manifest.threads,
        cpu_model: hardware.cpu_model.clone(),
        cpu_features: hardware.cpu_features.clone(),
        gpus: hardware.gpus.clone(),
        costs: None,
        cells,
    })
}

/// Items of a cell that gave no image.
fn n_failed(records: &[Record], cell: &Cell) -> u64 {
    records.iter().filter(|r| r.cell == cell.name && r.status == Status::Err).count() as u64
}
