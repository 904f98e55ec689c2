//! Metrics that another tool computes: the scores of images in a file, the files of the run that are made of them, and kept
//! when the run is scored again. The value of such a file follows from its rows, so that it can be computed again.
//!
//! A file of scores is untrusted: it is bounded, and nothing that it names is opened.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use serde::Deserialize;
use specimen_catalog::Metric;
use specimen_experiments::spec::MetricSpec;
use specimen_foundation::failure;
use specimen_record::{
    Digest, FileDigest, ImportedScores, ItemKey, MetricFile, RunDir, read_document, read_given,
};
use specimen_stats::{
    averages::bootstrap_mean_over_groups,
    averages::mean_of_strata,
    bootstrap::{BootstrapPlan, N_RESAMPLES},
};

use crate::{
    error::RunError,
    score::{CellImages, blank},
};

/// Bytes of a file of scores, at most.
const MOST_BYTES: u64 = 256 << 20;

/// Characters of a complaint about a row, at most: what a file says is shown, but not without end.
const MOST_SHOWN: usize = 400;

/// The score of an image, a line of JSON or of CSV.
#[derive(Deserialize)]
struct Row {
    /// Key of the image, as the run's records have it.
    image: ItemKey,
    score: f64,
    /// Which value of the metric, without the metric's name: `attribute` for `dpg-attribute`; the first one if absent.
    value: Option<String>,
    /// Group of the prompt: the first value is the mean of the groups' means then, and each group has a value of its own.
    group: Option<String>,
}

/// The scores in a file.
pub(crate) struct Scores {
    metric: &'static Metric,
    file: FileDigest,
    /// By cell and name of the value.
    by_value: BTreeMap<(String, String), BTreeMap<ItemKey, f64>>,
    /// The group of each prompt; empty without groups.
    groups: BTreeMap<String, String>,
}

impl Scores {
    /// The scores of a metric in a file, which must be of `images` of a run, and of every image of a cell or of none.
    pub(crate) fn read(
        path: &Path,
        metric: &'static Metric,
        images: &BTreeSet<ItemKey>,
    ) -> Result<Self, RunError> {
        let bytes = read_given(path, MOST_BYTES)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let file = FileDigest { file: name, blake3: Digest::of(&bytes) };
        let fault = |place: &str, why: String| {
            let why: String = why.chars().take(MOST_SHOWN).collect();
            failure!(Missing: "{}: {place}{why}; nothing was imported (docs/benchmarks.md has the format)",
                path.display())
        };
        let mut scores = Self { metric, file, by_value: BTreeMap::new(), groups: BTreeMap::new() };
        for (line, row) in rows(path, &bytes) {
            let place = format!("line {line}: ");
            row.and_then(|row| scores.add(row, images)).map_err(|why| fault(&place, why))?;
        }
        if scores.by_value.is_empty() {
            return Err(fault("", "no score is in the file".to_owned()).into());
        }
        for cell in scores.cells() {
            let scored = scores.of(&cell, &metric.values[0]);
            let has_group =
                |image: &ItemKey| scores.groups.is_empty() || scores.groups.contains_key(&image.prompt_id());
            let all = || images.iter().filter(|image| image.cell() == cell);
            let mut missing = all().filter(|image| !scored.contains_key(image) || !has_group(image));
            if let Some(first) = missing.next() {
                let (n_missing, n) = (1 + missing.count(), all().count());
                let what = if scores.groups.is_empty() { "score" } else { "score with a group" };
                let why = format!("{n_missing} of {n} images of cell {cell} have no {what}");
                return Err(fault("", format!("{why}, the first is {first}")).into());
            }
        }
        Ok(scores)
    }

    fn add(&mut self, row: Row, images: &BTreeSet<ItemKey>) -> Result<(), String> {
        let Row { image, score, value, group } = row;
        if !images.contains(&image) {
            return Err(format!("the run has no image {image}"));
        }
        if !score.is_finite() {
            return Err(format!("expected a finite score, found {score}"));
        }
        let named = |part: &String| format!("{}-{}", self.metric.name, part.replace('_', "-"));
        let values = &self.metric.values;
        let mut names = vec![value.as_ref().map_or_else(|| values[0].clone(), named)];
        names.extend(group.as_ref().map(named));
        if let Some(group) = group {
            let before = self.groups.entry(image.prompt_id()).or_insert_with(|| group.clone());
            if *before != group {
                return Err(format!("another image of the prompt is of group `{before}`, found `{group}`"));
            }
        }
        for name in names {
            if !values.contains(&name) {
                return Err(format!("expected one of the values {}, found `{name}`", values.join(", ")));
            }
            let of_value = self.by_value.entry((image.cell(), name)).or_default();
            if of_value.insert(image.clone(), score).is_some() {
                return Err(format!("{image} has a score above already"));
            }
        }
        Ok(())
    }

    /// The cells that have scores.
    pub(crate) fn cells(&self) -> BTreeSet<String> {
        self.by_value.keys().map(|(cell, _)| cell.clone()).collect()
    }

    fn of(&self, cell: &str, value: &str) -> BTreeMap<ItemKey, f64> {
        self.by_value.get(&(cell.to_owned(), value.to_owned())).cloned().unwrap_or_default()
    }

    /// The files of a cell: one for each value of the metric.
    pub(crate) fn files(&self, images: &CellImages<'_>, seed: u64) -> Result<Vec<MetricFile>, RunError> {
        let (cell, values) = (&images.cell.name, &self.metric.values);
        let absent: Vec<&str> =
            values.iter().filter(|value| self.of(cell, value).is_empty()).map(String::as_str).collect();
        let file = |value: &String| -> Result<MetricFile, RunError> {
            let per_item = self.of(cell, value);
            let has_groups = !self.groups.is_empty() && *value == values[0];
            let groups = has_groups.then(|| {
                let prompts = per_item.keys().map(ItemKey::prompt_id);
                prompts.map(|prompt| (prompt.clone(), self.groups[&prompt].clone())).collect()
            });
            let why = if per_item.is_empty() {
                Some(format!("no score of {cell} is of {value}"))
            } else if has_groups && !absent.is_empty() {
                let absent = absent.join(", ");
                Some(format!("it is the mean of the other values, and no score of {cell} is of {absent}"))
            } else {
                None
            };
            let of_rows = match why {
                Some(_) => None,
                None => Some(value_of(&per_item, groups.as_ref(), seed)?),
            };
            Ok(MetricFile {
                protocol: self.metric.tool.clone(),
                value: of_rows.map(|(value, _)| value),
                ci95: of_rows.and_then(|(_, ci95)| ci95),
                n: per_item.len() as u64,
                why,
                per_item: Some(per_item),
                imported: Some(ImportedScores { files: vec![self.file.clone()], groups }),
                ..blank(value, images)
            })
        };
        values.iter().map(file).collect()
    }
}

/// The rows of a file with their lines, from 1: CSV where its name ends in `.csv`, else a line of JSON each.
fn rows<'b>(path: &Path, bytes: &'b [u8]) -> Box<dyn Iterator<Item = (usize, Result<Row, String>)> + 'b> {
    if path.extension().is_some_and(|ending| ending == "csv") {
        let rows = csv::Reader::from_reader(bytes).into_deserialize();
        return Box::new((2..).zip(rows.map(|row: csv::Result<Row>| row.map_err(|error| error.to_string()))));
    }
    let lines =
        (1..).zip(bytes.split(|byte| *byte == b'\n')).filter(|(_, line)| !line.trim_ascii().is_empty());
    Box::new(lines.map(|(at, line)| (at, serde_json::from_slice(line).map_err(|error| error.to_string()))))
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
    let how = format!("`specimen import-scores RUN --metric {name} FILE` brings them (docs/benchmarks.md)");
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
