//! What the measured counts of a run give under the costs of a cost table: the speedup that the same tokens a forward and
//! drafts a step would have on a machine with those costs. Prefill and work on the host cost nothing in it.

use std::collections::BTreeSet;

use specimen_stats::predicted_speedup::{StepCosts, predicted_speedup};

use crate::{
    CellSummary, Family, Reading, Summary,
    summary::{cost_table::CostTable, error::SummaryError},
};

/// Why a cell of another program has no projection.
const NO_COUNTS: &str = "nodes and drafts of its steps are not known: another program made the images";

/// Why rows that are decoded side by side have none: a forward runs a token of each row besides the drafts.
const ROWS: &str =
    "the tokens that a forward of rows side by side runs are not counted, so its cost is not known";

/// Fills the projections of all cells of `summary`. Says in what the table is of another measurement than the run: then the
/// speedups are those of the table's settings.
pub fn project(summary: &mut Summary, table: &CostTable) -> Result<Option<String>, SummaryError> {
    let of_cell = |cell: &CellSummary| {
        let bound = bound_s(summary, cell, table);
        let over = |decode: Option<f64>| Ok(bound.clone()? / decode.ok_or("the cell is untimed")?);
        let baseline = cell.baseline.as_ref().and_then(|id| summary.cell(id)).ok_or("it has no baseline");
        let readings = [
            ("projected_speedup", speedup(cell, table)?),
            (
                "baseline_efficiency",
                baseline.map_err(str::to_owned).and_then(|of| over(of.value("decode_s"))),
            ),
            ("speedup_at_bound", over(cell.value("decode_s"))),
        ];
        Ok(readings.map(|(measure, found)| {
            (measure.to_owned(), found.map_or_else(|why: String| Reading::absent(&why), Reading::of))
        }))
    };
    let projections = summary.cells.iter().map(of_cell).collect::<Result<Vec<_>, SummaryError>>()?;
    for (cell, projection) in summary.cells.iter_mut().zip(projections) {
        cell.measures.extend(projection);
    }
    let warning = other_settings(summary, table);
    let words = [Some(table.words()), warning.clone()];
    summary.costs = Some(words.into_iter().flatten().collect::<Vec<_>>().join("; "));
    Ok(warning)
}

/// In which settings, that decide costs, cells of the run differ from the table.
fn other_settings(summary: &Summary, table: &CostTable) -> Option<String> {
    // Of cells that the table says something about; numbers of a device do not change its costs.
    let is_projected = |cell: &&CellSummary| matches!(speedup(cell, table), Ok(Ok(_)));
    let kind = |device: &str| device.split(':').next().unwrap_or_default().to_owned();
    let of_run = |of: &dyn Fn(&CellSummary) -> String| -> BTreeSet<String> {
        summary.cells.iter().filter(is_projected).map(of).collect()
    };
    let compared = [
        ("guidance", table.guidance.to_string(), of_run(&|cell| cell.sampling.guidance.to_string())),
        ("device", kind(&table.device), of_run(&|cell| kind(&cell.device))),
        ("dtype", table.dtype.clone(), of_run(&|cell| cell.dtype.clone())),
    ];
    let differs = compared.into_iter().filter_map(|(what, of_table, mut of_run)| {
        of_run.remove(&of_table);
        let found: Vec<String> = of_run.into_iter().collect();
        (!found.is_empty()).then(|| format!("{what} {of_table}, the run {}", found.join(" and ")))
    });
    let differs: Vec<String> = differs.collect();
    (!differs.is_empty())
        .then(|| format!("the table is not of the run's settings: it has {}", differs.join("; ")))
}

/// `tau / (r_verify + n_draft c_draft)` with the counts of `cell` and the costs of `table`, or why not.
fn speedup(cell: &CellSummary, table: &CostTable) -> Result<Result<f64, String>, SummaryError> {
    let counts = ["pooled_tpf", "nodes_per_verification", "drafts_per_verification"];
    let [Some(tau), Some(nodes), Some(n_draft)] = counts.map(|measure| cell.value(measure)) else {
        return Ok(Err(NO_COUNTS.to_owned()));
    };
    if cell.family == Some(Family::Rows) {
        return Ok(Err(ROWS.to_owned()));
    }
    let proposer = cell.params.get("drafter.proposer").and_then(|name| name.as_str()).unwrap_or_default();
    let costs = table.verification(nodes).and_then(|r_verify| {
        let c_draft = if n_draft > 0.0 { table.draft(proposer)? } else { 0.0 };
        Ok(StepCosts { r_verify, n_draft, c_draft })
    });
    match costs {
        Ok(costs) => Ok(Ok(predicted_speedup(tau, &costs)?)),
        Err(why) => Ok(Err(why)),
    }
}

/// Least seconds of an image of the baseline of `cell`: a plain step's bytes over the bandwidth, for each of its target
/// forwards. Known only on the machine, model and kind of number of the table.
fn bound_s(summary: &Summary, cell: &CellSummary, table: &CostTable) -> Result<f64, String> {
    let machine = summary.gpus.first().unwrap_or(&summary.cpu_model);
    let compared = [
        ("machine", machine.as_str(), table.machine.as_str()),
        ("model", &cell.model, &table.model),
        ("dtype", &cell.dtype, &table.dtype),
    ];
    if let Some((what, ours, tables)) = compared.iter().find(|(_, ours, tables)| ours != tables) {
        return Err(format!("the cost table is of another {what}: {tables}, and the run is of {ours}"));
    }
    if summary.threads != table.threads {
        let (ours, tables) = (summary.threads, table.threads);
        return Err(format!("the cost table is of {tables} threads a process, and the run is of {ours}"));
    }
    let nfe =
        cell.baseline.as_ref().and_then(|id| summary.cell(id)?.value("nfe")).ok_or("it has no baseline")?;
    let step = table.bound_s().ok_or("the cost table does not say how many bytes a plain step reads")?;
    Ok(nfe * step)
}
