//! The metrics of a cell next to the baseline's.

use std::collections::BTreeMap;

use specimen_experiments::spec::{Cell, MetricSpec, Spec};
use specimen_record::{ItemKey, MetricFile, MetricSummary, RunDir, VsBaseline, read_document};
use specimen_stats::{bootstrap::BootstrapPlan, paired::Paired};

use crate::{cell_data::by_unit, error::SummaryError};

/// The metric files of a cell, each next to the baseline's where both have a value per image.
pub(crate) fn metrics(
    run: &RunDir,
    spec: &Spec,
    cell: &Cell,
    baseline: Option<&Cell>,
    resamples: &BootstrapPlan,
) -> Result<Vec<MetricSummary>, SummaryError> {
    let mut rows = Vec::new();
    for metric in spec.metrics.iter().flat_map(MetricSpec::values) {
        let file: MetricFile = read_document(&run.metrics(&metric, &cell.name))?;
        let vs_baseline = match baseline.filter(|baseline| baseline.name != cell.name) {
            None => None,
            Some(baseline) => {
                let other: MetricFile = read_document(&run.metrics(&metric, &baseline.name))?;
                versus(&file, &other, resamples)?
            }
        };
        rows.push(MetricSummary {
            metric: file.metric,
            protocol: file
                .extractor
                .clone()
                .map_or(file.protocol.clone(), |x| format!("{}:{x}", file.protocol)),
            value: file.value,
            ci95: file.ci95,
            n: file.n,
            why: file.why,
            unit: file.unit,
            higher_is_better: file.higher_is_better,
            vs_baseline,
        });
    }
    Ok(rows)
}

/// The differences from the baseline, paired by prompt; `None` for fewer than two prompts.
fn versus(
    file: &MetricFile,
    baseline: &MetricFile,
    resamples: &BootstrapPlan,
) -> Result<Option<VsBaseline>, SummaryError> {
    let (Some(ours), Some(theirs)) = (&file.per_item, &baseline.per_item) else { return Ok(None) };
    let by_image = |values: &BTreeMap<ItemKey, f64>| -> BTreeMap<(String, u32), f64> {
        values.iter().map(|(key, &value)| ((key.prompt_id(), key.sample()), value)).collect()
    };
    let (ours, theirs) = (by_image(ours), by_image(theirs));
    let shared = |of: &BTreeMap<(String, u32), f64>, with: &BTreeMap<(String, u32), f64>| {
        let both = of.iter().filter(|(image, _)| with.contains_key(*image));
        by_unit(both.map(|((prompt_id, _), &value)| (prompt_id.clone(), value)))
    };
    let pairs = (shared(&theirs, &ours), shared(&ours, &theirs));
    if pairs.0.len() < 2 {
        return Ok(None);
    }
    let difference = Paired::join(pairs.0, pairs.1)?.mean_difference(resamples)?;
    Ok(Some(VsBaseline {
        difference: difference.value,
        se: Some(difference.standard_error),
        ci95: Some([difference.interval.lower, difference.interval.upper]),
        z: difference.z,
        detectable: Some(difference.detectable),
        n: difference.n_pairs as u64,
    }))
}
