//! Metrics of a run's images, one file per metric and cell. Written after the merge, from the records and the saved
//! images, so that a run can be scored again.

use std::{collections::BTreeMap, path::PathBuf};

use rayon::prelude::*;
use specimen_catalog::{METRICS, Metric, metric::Direction};
use specimen_datasets::data_root::DataRoot;
use specimen_experiments::{
    plan::Plan,
    spec::{Cell, MetricSpec, ModelSpec},
};
use specimen_foundation::failure;
use specimen_measure::{
    MeasureError,
    image_metric::{CellImage, ImageMeasure},
    measurement::{Measurement, equal_scores},
    metrics::{IMAGE_METRICS, Outcome, PictureScore},
};
use specimen_models::seam::likelihood::{image_tokens, nll_bits};
use specimen_record::{ItemKey, MetricFile, Record, RunDir, SCHEMA, Status, check_pixels};
use specimen_stats::averages::mean_over_groups;

use crate::{
    driver::{events::DriverEvent, executor::Context},
    error::RunError,
    images::load::{CPU, Models},
    imported_scores,
    pair_scores::PairScorer,
    protocol_scores,
    token_pairs::DIFFERENCE_GAP,
};

/// A metric that a run has and that cannot be computed here: its files have the reason in place of a value.
pub(crate) struct Uncomputed {
    pub(crate) metric: MetricSpec,
    pub(crate) why: String,
}

/// The images of one cell that succeeded, with their prompts.
pub struct CellImages<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) records: Vec<&'a Record>,
    pub(crate) prompts: Vec<&'a str>,
}

impl<'a> CellImages<'a> {
    /// Those of `cell` among the records of a plan.
    pub fn of(plan: &'a Plan, records: &'a [Record], cell: &'a Cell) -> Self {
        let prompt_of: BTreeMap<&str, &str> =
            plan.prompts.iter().map(|p| (p.id.as_str(), p.text.as_str())).collect();
        let is_one = |record: &&Record| record.cell == cell.name && record.status == Status::Ok;
        let records: Vec<&Record> = records.iter().filter(is_one).collect();
        let prompts = records.iter().map(|r| prompt_of[r.prompt_id.as_str()]).collect();
        Self { cell, records, prompts }
    }

    /// The first `n` of them.
    pub fn first(&self, n: usize) -> Self {
        let (records, prompts) = (&self.records, &self.prompts);
        Self {
            cell: self.cell,
            records: records.iter().take(n).copied().collect(),
            prompts: prompts.iter().take(n).copied().collect(),
        }
    }

    /// Items by key with a value each, in record order.
    pub(crate) fn per_item(&self, values: &[f64]) -> BTreeMap<ItemKey, f64> {
        self.records.iter().map(|record| record.key.clone()).zip(values.iter().copied()).collect()
    }

    /// The name in the run and the file of each.
    pub(crate) fn files(&self, run: &RunDir) -> Result<Vec<(&'a str, PathBuf)>, RunError> {
        self.records.iter().map(|record| file_of(run, record)).collect()
    }
}

/// The name in the run and the file of an image.
pub(crate) fn file_of<'a>(run: &RunDir, record: &'a Record) -> Result<(&'a str, PathBuf), RunError> {
    let name = record.image.as_deref().unwrap_or_default();
    let path = run.find_image(name)?.ok_or_else(|| {
        let images = run.root().join("shards").join("*").join("images").join(name);
        let complaint = format!("{}: the image of {} is not there", images.display(), record.key);
        RunError::damaged(run, complaint, "continue with `run --resume`, which makes it again")
    })?;
    Ok((name, path))
}

/// Computes every metric of the spec for every cell, but those of `uncomputed`.
pub(crate) fn score(
    context: &Context<'_>,
    records: &[Record],
    models: &mut Models,
    uncomputed: &[Uncomputed],
) -> Result<(), RunError> {
    let &Context { run, plan, data_root, disk, report, .. } = context;
    for metric in &plan.spec.metrics {
        if let Some(Uncomputed { why, .. }) = uncomputed.iter().find(|known| known.metric == *metric) {
            for cell in &plan.spec.cells {
                let images = CellImages::of(plan, records, cell);
                for value in metric.values() {
                    let file = MetricFile { why: Some(why.clone()), ..blank(&value, &images) };
                    disk.put(&run.metrics(&value, &cell.name), &file)?;
                }
            }
            continue;
        }
        let mut scorer = Scorer::open(metric, data_root)?;
        for cell in &plan.spec.cells {
            disk.stop().check()?;
            report(DriverEvent::Scoring { metric: metric.name.clone(), cell: cell.name.clone() });
            for file in scorer.files(run, (plan, cell), records, models)? {
                disk.put(&run.metrics(&file.metric, &cell.name), &file)?;
            }
        }
    }
    Ok(())
}

/// Compares every image with its record, so that no number is made of another picture.
pub fn check_images(run: &RunDir, records: &[Record]) -> Result<(), RunError> {
    let check = |record: &&Record| -> Result<(), RunError> {
        let (_, path) = file_of(run, record)?;
        let mend =
            || format!("remove {} and continue the run with --resume, which makes it again", path.display());
        check_pixels(&path, record).map_err(|damage| RunError::damaged(run, damage, &mend()))
    };
    let kept: Vec<&Record> = records.iter().filter(|record| record.image.is_some()).collect();
    // All are read before the first error is chosen: it does not depend on the threads.
    let checked: Vec<_> = kept.par_iter().map(check).collect();
    checked.into_iter().collect()
}

/// One metric, for any number of cells: what it needs besides the images is opened once.
pub struct Scorer<'m> {
    metric: &'m MetricSpec,
    data_root: Option<&'m DataRoot>,
    of_pairs: Option<PairScorer>,
    measure: Option<Box<dyn ImageMeasure>>,
}

impl<'m> Scorer<'m> {
    /// Opens what `metric` needs.
    pub fn open(metric: &'m MetricSpec, data_root: Option<&'m DataRoot>) -> Result<Self, RunError> {
        let of_pairs = match known(metric)?.needs.baseline() {
            true => Some(PairScorer::open(metric, data_root)?),
            false => None,
        };
        Ok(Self { metric, data_root, of_pairs, measure: None })
    }

    /// The files of a cell of a plan, one for each value of the metric, from the records of the run.
    pub fn files(
        &mut self,
        run: &RunDir,
        (plan, cell): (&Plan, &Cell),
        records: &[Record],
        models: &mut Models,
    ) -> Result<Vec<MetricFile>, RunError> {
        let (metric, data_root) = (self.metric, self.data_root);
        let images = CellImages::of(plan, records, cell);
        if known(metric)?.needs.import() {
            return imported_scores::kept(run, &images, metric);
        }
        let of_images = IMAGE_METRICS.iter().find(|known| known.name == metric.name);
        Ok(match (&self.of_pairs, of_images) {
            (Some(of_pairs), _) => {
                let baseline = plan.spec.image_baseline_of(cell);
                let baseline = baseline.map(|cell| CellImages::of(plan, records, cell));
                vec![of_pairs.score(run, &images, baseline.as_ref(), models)?]
            }
            (None, Some(known)) => {
                let measure = match &mut self.measure {
                    Some(measure) => measure,
                    empty => empty.insert((known.open)(data_root.map(DataRoot::path))?),
                };
                vec![score_images(run, &images, metric, measure.as_mut())?]
            }
            (None, None) if metric.name == "target-nll" => vec![target_nll(metric, &images, models)?],
            (None, None) => protocol_scores::score(run, &images, metric, data_root)?,
        })
    }
}

/// A metric of images as they are.
fn score_images(
    run: &RunDir,
    images: &CellImages<'_>,
    metric: &MetricSpec,
    measure: &mut dyn ImageMeasure,
) -> Result<MetricFile, RunError> {
    let mut file = MetricFile { extractor: Some(measure.extractor()), ..of_catalog(metric, images)? };
    file.why = why_not(images, metric);
    if file.why.is_some() {
        return Ok(file);
    }
    let mut cell = Vec::with_capacity(images.records.len());
    for ((name, path), (record, prompt)) in
        images.files(run)?.into_iter().zip(images.records.iter().zip(&images.prompts))
    {
        cell.push(CellImage { name, path, prompt_id: &record.prompt_id, prompt });
    }
    match measure.measure(&cell) {
        Err(MeasureError::DoesNotApply { why }) => file.why = Some(why),
        measured => {
            let Outcome { values, pictures } = measured?;
            fill(&mut file, &values[0], &pictures, images);
        }
    }
    Ok(file)
}

/// Whether a metric is computed by the model that made the images.
pub fn asks_model(metric: &MetricSpec) -> bool {
    ["target-nll", DIFFERENCE_GAP].contains(&metric.name.as_str())
}

/// What the catalog knows of a metric.
pub(crate) fn known(metric: &MetricSpec) -> Result<&'static Metric, RunError> {
    let name = &metric.name;
    specimen_catalog::metric(name).ok_or_else(|| failure!(Spec: "metric `{name}` is unknown").into())
}

/// Whether the higher one of two values called `value` is better, `fid:clean` say: known of a metric without a value too.
fn higher_is_better(value: &str) -> Option<bool> {
    let name = value.split(':').next().unwrap_or(value);
    let is_of = |metric: &&Metric| metric.name == name || metric.values.iter().any(|known| known == name);
    METRICS.iter().find(is_of).map(|metric| metric.direction == Direction::Higher)
}

/// A metric file without a value yet, of the value called `metric`.
pub(crate) fn blank(metric: &str, images: &CellImages<'_>) -> MetricFile {
    MetricFile {
        schema: SCHEMA,
        protocol: metric.to_owned(),
        cell: images.cell.name.clone(),
        metric: metric.to_owned(),
        value: None,
        ci95: None,
        n: images.records.len() as u64,
        unit: String::new(),
        higher_is_better: higher_is_better(metric),
        why: None,
        notes: Vec::new(),
        extractor: None,
        per_item: None,
        extra: BTreeMap::new(),
        imported: None,
    }
}

/// The same with the unit and direction of the catalog.
pub(crate) fn of_catalog(metric: &MetricSpec, images: &CellImages<'_>) -> Result<MetricFile, RunError> {
    Ok(MetricFile { unit: known(metric)?.unit.clone(), ..blank(&metric.name, images) })
}

/// Why a metric is not computed on so few images.
pub(crate) fn why_not(images: &CellImages<'_>, metric: &MetricSpec) -> Option<String> {
    let n = images.records.len();
    match (n, metric.fewest_images()) {
        (n, Some(min)) if n < min => {
            Some(format!("{n} images; at fewer than {min} the distance is mostly bias (min_n)"))
        }
        (0, _) => Some("no image".to_owned()),
        _ => None,
    }
}

/// Fills in what was measured.
pub(crate) fn fill(
    file: &mut MetricFile,
    measured: &Measurement,
    pictures: &[PictureScore],
    images: &CellImages<'_>,
) {
    let by_name: BTreeMap<&str, f64> =
        pictures.iter().map(|picture| (picture.file.as_str(), picture.score)).collect();
    let own = |record: &&Record| by_name[record.image.as_deref().unwrap_or_default()];
    let per_item: Option<Vec<f64>> = (!by_name.is_empty()).then(|| images.records.iter().map(own).collect());
    let number = |(name, value): (&String, &serde_json::Value)| Some((name.clone(), value.as_f64()?));
    file.protocol.clone_from(&measured.protocol);
    file.value = Some(measured.value);
    file.ci95 = measured.ci95;
    file.n = measured.n.last().copied().flatten().unwrap_or(file.n);
    file.notes.clone_from(&measured.notes);
    file.extractor.clone_from(&measured.extractor);
    file.extra = measured.details.iter().filter_map(number).collect();
    file.per_item = per_item.map(|values| images.per_item(&values));
}

/// The model that scores the tokens of a cell, the one that made them. Where it computed is not known of images that were
/// imported: it scores them on the metric's device, else on the CPU.
fn model_of_tokens(metric: &MetricSpec, cell: &Cell) -> ModelSpec {
    let device = match cell.imported {
        None => cell.model.device.clone(),
        Some(_) => metric.device.clone().unwrap_or_else(|| CPU.to_owned()),
    };
    ModelSpec { device, ..cell.model.clone() }
}

/// Mean negative log2-likelihood of the tokens under the target's guided, tempered distribution, before top-k
/// and top-p. Of another program's images the tokens are those that it returned, where the model is known and
/// here.
fn target_nll(
    metric: &MetricSpec,
    images: &CellImages<'_>,
    models: &mut Models,
) -> Result<MetricFile, RunError> {
    let mut file = of_catalog(metric, images)?;
    let is_of_another_program = images.cell.is_of_another_program();
    let n_without = images.records.iter().filter(|record| record.tokens.is_empty()).count();
    if is_of_another_program && n_without > 0 {
        let place = if images.cell.imported.is_some() { "table" } else { "answers" };
        let n = images.records.len();
        file.why = Some(format!(
            "the images are another program's, and the tokens of {n_without} of {n} are not known; with `tokens` in its \
             {place} for all of them it could be computed"
        ));
        file.n = 0;
        return Ok(file);
    }
    let asked = model_of_tokens(metric, images.cell);
    let model = match models.get(&asked) {
        Err(error) if is_of_another_program => {
            file.why = Some(format!(
                "the tokens are another program's, and `{}` cannot be opened on {}: {error}",
                asked.name, asked.device
            ));
            file.n = 0;
            return Ok(file);
        }
        found => found?,
    };
    let sampling = images.cell.sampling;
    let mut values = Vec::with_capacity(images.records.len());
    for (record, prompt) in images.records.iter().zip(&images.prompts) {
        let generation = model.open(prompt, &sampling, 1)?;
        let tokens = match image_tokens(&generation, &record.tokens) {
            Ok(tokens) => tokens,
            Err(wrong) => {
                let model = &images.cell.model.name;
                file.why = Some(format!("{}: no image tokens of `{model}`: {wrong}", record.key));
                return Ok(file);
            }
        };
        let bits = nll_bits(&generation, &tokens);
        if !bits.is_finite() {
            file.why = Some(format!(
                "{}: a token has probability 0 under the target's own distribution",
                record.key
            ));
            return Ok(file);
        }
        values.push(bits);
    }
    if values.is_empty() {
        file.why = Some("no image".to_owned());
        return Ok(file);
    }
    let prompts: Vec<&str> = images.records.iter().map(|record| record.prompt_id.as_str()).collect();
    let (mean, ci95) = mean_over_groups(&values, &prompts)?;
    (file.value, file.ci95) = (Some(mean), ci95);
    file.notes.extend(equal_scores(&metric.name, &values));
    file.per_item = Some(images.per_item(&values));
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_without_a_value_keeps_its_direction() {
        for metric in METRICS.iter() {
            let of = |name: &str| higher_is_better(name);
            let expected = Some(metric.direction == Direction::Higher);
            for value in
                std::iter::once(&metric.name).filter(|_| metric.values.is_empty()).chain(&metric.values)
            {
                assert_eq!([of(value), of(&format!("{value}:clean"))], [expected; 2], "{value}");
            }
        }
        assert_eq!((higher_is_better("fid:clean"), higher_is_better("unheard-of")), (Some(false), None));
    }
}
