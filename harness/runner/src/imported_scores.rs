//! Metrics that another tool computes: their files, made of the scores of images that came back, and kept when the run is
//! scored again. The value of such a file follows from its rows, so that it can be computed again.

use std::collections::{BTreeMap, BTreeSet};

use specimen_exchange::{CellScores, NamedScores};
use specimen_experiments::spec::MetricSpec;
use specimen_record::{ImportedScores, ItemKey, MetricFile, RunDir, read_document};
use specimen_stats::{
    averages::bootstrap_mean_over_groups,
    averages::mean_of_strata,
    bootstrap::{BootstrapPlan, N_RESAMPLES},
};

use crate::{
    error::RunError,
    score::{CellImages, blank},
};

/// The files of a cell: one for each value of the metric.
pub(crate) fn files(
    scores: &CellScores,
    images: &CellImages<'_>,
    seed: u64,
) -> Result<Vec<MetricFile>, RunError> {
    let file = |named: &NamedScores| -> Result<MetricFile, RunError> {
        let imported = ImportedScores { files: scores.files.clone(), groups: named.groups.clone() };
        let mut file = MetricFile {
            protocol: scores.tool.to_owned(),
            n: named.per_item.len() as u64,
            why: named.why.clone(),
            per_item: Some(named.per_item.clone()),
            imported: Some(imported),
            ..blank(&named.name, images)
        };
        if file.why.is_none() {
            let (value, ci95) = value_of(&named.per_item, named.groups.as_ref(), seed)?;
            (file.value, file.ci95) = (Some(value), ci95);
        }
        Ok(file)
    };
    scores.values.iter().map(file).collect()
}

/// The mean over images with its interval over prompts: the mean of the groups' means where there are groups.
pub(crate) fn value_of(
    per_item: &BTreeMap<ItemKey, f64>,
    groups: Option<&BTreeMap<String, String>>,
    seed: u64,
) -> Result<(f64, Option<[f64; 2]>), RunError> {
    let values: Vec<f64> = per_item.values().copied().collect();
    let prompts: Vec<String> = per_item.keys().map(ItemKey::prompt_id).collect();
    let units: Vec<&str> = prompts.iter().map(String::as_str).collect();
    if let Some(groups) = groups {
        let of_prompt = |prompt: &&str| groups.get(*prompt).map_or("", String::as_str);
        let strata: Vec<&str> = units.iter().map(of_prompt).collect();
        return Ok(mean_of_strata(&values, &units, &strata)?);
    }
    let plan = BootstrapPlan::new(seed, N_RESAMPLES, 0.95)?;
    let (mean, interval) = bootstrap_mean_over_groups(&values, &units, &plan)?;
    Ok((mean, interval.map(|ends| [ends.lower, ends.upper])))
}

/// The files that came back for a cell, or files that say how to bring them back: none was, or not for these images, or not for
/// all of them.
pub(crate) fn kept(
    run: &RunDir,
    images: &CellImages<'_>,
    metric: &MetricSpec,
) -> Result<Vec<MetricFile>, RunError> {
    let name = &metric.name;
    let how = format!(
        "`specimen export RUN --for {name}`, its script, and `specimen import-scores RUN FILE` bring them"
    );
    let none =
        |value: &String, why: &str| MetricFile { why: Some(format!("{why}; {how}")), ..blank(value, images) };
    let values = metric.values();
    let mut files = Vec::new();
    for value in &values {
        let path = run.metrics(value, &images.cell.name);
        let file = if path.is_file() { Some(read_document::<MetricFile>(&path)?) } else { None };
        files.push(file.filter(|file| file.imported.is_some()));
    }
    let present: BTreeSet<&ItemKey> = images.records.iter().map(|record| &record.key).collect();
    // A value of one task or category is of some images; those of all values together are of every image.
    let scored: BTreeSet<ItemKey> = files
        .iter()
        .flatten()
        .filter_map(|file| file.per_item.as_ref())
        .flat_map(BTreeMap::keys)
        .cloned()
        .collect();
    let (n, n_scored) = (present.len(), scored.len());
    let unfit = if scored.iter().any(|key| !present.contains(key)) {
        Some("the scores that were imported are of other images".to_owned())
    } else if n_scored < n {
        Some(format!("the scores that were imported are of {n_scored} of {n} images"))
    } else {
        None
    };
    let file = |(file, value): (Option<MetricFile>, &String)| match (file, &unfit) {
        (None, _) => none(value, "no scores were imported"),
        (Some(_), Some(why)) => none(value, why),
        (Some(file), None) => file,
    };
    Ok(files.into_iter().zip(&values).map(file).collect())
}
