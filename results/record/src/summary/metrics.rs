//! The metrics of a cell next to the baseline's.

use std::collections::BTreeMap;

use specimen_experiments::spec::{Cell, MetricSpec, Spec};
use specimen_stats::{
    bootstrap::BootstrapPlan,
    paired::{Paired, scores_up_to_rounding},
};

use crate::{
    ItemKey, MetricFile, MetricSummary, RunDir, VsBaseline, read_document,
    summary::{cell_data::by_unit, error::SummaryError},
};

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
            notes: file.notes,
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
    if file.value.is_none() || baseline.value.is_none() {
        return Ok(None);
    }
    let by_image = |values: &BTreeMap<ItemKey, f64>| -> BTreeMap<(String, u32), f64> {
        values.iter().map(|(key, &value)| ((key.prompt_id(), key.sample()), value)).collect()
    };
    let theirs = by_image(theirs);
    let ours = scores_up_to_rounding(&theirs, &by_image(ours));
    let shared = |of: &BTreeMap<(String, u32), f64>, with: &BTreeMap<(String, u32), f64>| {
        let both = of.iter().filter(|(image, _)| with.contains_key(*image));
        by_unit(both.map(|((prompt_id, _), &value)| (prompt_id.clone(), value)))
    };
    let pairs = (shared(&theirs, &ours), shared(&ours, &theirs));
    if pairs.0.len() < 2 {
        return Ok(None);
    }
    let groups = file.imported.as_ref().and_then(|imported| imported.groups.as_ref());
    let pairs = match groups {
        Some(groups) => (weighted(pairs.0, groups), weighted(pairs.1, groups)),
        None => pairs,
    };
    let difference = Paired::join(pairs.0, pairs.1)?.mean_difference(resamples)?;
    Ok(Some(VsBaseline {
        difference: difference.value,
        se: Some(difference.standard_error),
        ci95: difference.interval.map(|ends| [ends.lower, ends.upper]),
        z: difference.z,
        detectable: Some(difference.detectable),
        n: difference.n_pairs as u64,
    }))
}

/// The values by prompt, each times what its prompt counts where the groups count alike: their mean is the mean of the groups'
/// means. Their standard error has in it how the groups differ, so that the interval is rather too wide.
fn weighted(values: Vec<(String, f64)>, groups: &BTreeMap<String, String>) -> Vec<(String, f64)> {
    let mut sizes: BTreeMap<&str, f64> = BTreeMap::new();
    let group_of = |prompt: &str| groups.get(prompt).map_or("", String::as_str);
    for (prompt, _) in &values {
        *sizes.entry(group_of(prompt)).or_default() += 1.0;
    }
    let share = values.len() as f64 / sizes.len() as f64;
    let weight = |prompt: &str| share / sizes[group_of(prompt)];
    values.iter().map(|(prompt, value)| (prompt.clone(), value * weight(prompt))).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn weighted_values_have_the_mean_of_the_means_of_their_groups() {
        let groups = [("0", "a"), ("1", "b"), ("2", "b"), ("3", "b")];
        let groups = groups.map(|(prompt, group)| (prompt.to_owned(), group.to_owned())).into();
        let values = [("0", 1.0), ("1", 0.0), ("2", 1.0), ("3", 0.5)];
        let found = weighted(values.map(|(prompt, value)| (prompt.to_owned(), value)).to_vec(), &groups);
        let mean = found.iter().map(|(_, value)| value).sum::<f64>() / 4.0;
        assert!((mean - (1.0 + 0.5) / 2.0).abs() < 1e-15, "{found:?}");
    }

    /// A file of a cell with a score of 0.1 times each prompt's number, and `added` to it, in groups of 1 and 5 prompts.
    fn scored(cell: &str, added: impl Fn(u32) -> f64) -> MetricFile {
        let (mut per_item, mut groups) = (serde_json::Map::new(), serde_json::Map::new());
        for prompt in 0..6 {
            per_item.insert(format!("{cell}/{prompt}/0"), (0.1 * f64::from(prompt) + added(prompt)).into());
            groups.insert(prompt.to_string(), if prompt == 0 { "a" } else { "b" }.into());
        }
        serde_json::from_value(serde_json::json!({
            "schema": 1, "protocol": "p", "cell": cell, "metric": "m", "value": 0.3, "ci95": null, "n": 6, "unit": "",
            "higher_is_better": true, "why": null, "extractor": null, "per_item": per_item, "extra": {},
            "imported": { "files": [], "groups": groups },
        }))
        .unwrap()
    }

    #[test]
    fn groups_of_other_sizes_count_alike_in_a_difference_and_roundings_in_none() {
        let resamples = BootstrapPlan::new(1, 2000, 0.95).unwrap();
        let against = |added: fn(u32) -> f64| {
            versus(&scored("x", added), &scored("ar", |_| 0.0), &resamples).unwrap().unwrap()
        };
        // 0.6 in the group of one, 0 in the other: the mean of the two groups, not of the six prompts.
        let real = against(|prompt| if prompt == 0 { 0.6 } else { 0.0 });
        assert!((real.difference - 0.3).abs() < 1e-12, "{real:?}");
        // Last bits of single precision are no difference, whatever a prompt counts.
        let rounding = against(|prompt| if prompt % 2 == 0 { 2e-8 } else { -3e-8 });
        assert_eq!((rounding.difference, rounding.z), (0.0, None), "{rounding:?}");
    }
}
