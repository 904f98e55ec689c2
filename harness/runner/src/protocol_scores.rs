//! Metrics under a named protocol: the images of a cell against pictures, features or statistics on disk, or
//! against their prompts. The same code and the same feature cache as `specimen fid` and its siblings.

use std::{collections::BTreeMap, path::PathBuf};

use specimen_catalog::metric::MetricCommand;
use specimen_datasets::data_root::DataRoot;
use specimen_experiments::spec::{MetricSpec, Spec};
use specimen_foundation::folders::cache_folder;
use specimen_measure::{
    MeasureError,
    images::BATCH,
    input::Input,
    measurement::Measurement,
    meter::{FEWEST_FOR_INTERVAL, Meter, Settings},
    metrics::{CaptionsOf, Metric, Outcome, Sides},
    protocol::Protocol,
    published::Published,
};
use specimen_record::{MetricFile, RunDir};

use crate::{
    error::RunError,
    pair_scores::PairScorer,
    score::{CellImages, blank, fill, known, why_not},
};

/// Fails when a metric of `spec` could not be computed after a night of generating: a protocol that does not
/// exist or does not define the metric, weights or pictures that are not there.
pub fn check(spec: &Spec, data_root: Option<&DataRoot>) -> Result<(), RunError> {
    spec.metrics.iter().try_for_each(|metric| check_metric(metric, data_root))
}

/// The same for one metric. One without a protocol needs no check.
pub(crate) fn check_metric(metric: &MetricSpec, data_root: Option<&DataRoot>) -> Result<(), RunError> {
    if metric.protocol.is_none() {
        return Ok(());
    }
    if known(metric)?.needs.baseline() {
        PairScorer::open(metric, data_root)?;
        return Ok(());
    }
    let ready = Ready::of(metric, data_root)?;
    let networks = ready.networks(data_root);
    Meter::new(ready.protocol.clone(), &networks).check(&metric.name)?;
    let Some(real) = &ready.real else { return Ok(()) };
    let takes_statistics = known(metric)?.command.as_ref().is_some_and(|command| command.statistics);
    if let (Input::Statistics(..), false) = (Input::open(real, false)?, takes_statistics) {
        let (path, metric) = (real.clone(), metric.name.clone());
        return Err(specimen_measure::error::needs_rows(&path, metric).into());
    }
    Ok(())
}

/// The files of `metric`, which has a protocol, for the images of one cell: one for each of its values.
pub(crate) fn score(
    run: &RunDir,
    images: &CellImages<'_>,
    metric: &MetricSpec,
    data_root: Option<&DataRoot>,
) -> Result<Vec<MetricFile>, RunError> {
    let values = metric.values();
    let without = |why: String| {
        let file = |label: &String| MetricFile { why: Some(why.clone()), ..blank(label, images) };
        values.iter().map(file).collect()
    };
    if let Some(why) = why_not(images, metric) {
        return Ok(without(why));
    }
    let known = known(metric)?;
    let Outcome { values: measured, pictures } = match measure(run, images, metric, data_root) {
        Err(RunError::Measure(error)) => match *error {
            // Too few images for the statistic, for instance: the other metrics have their values.
            MeasureError::Statistic { source, .. } => return Ok(without(source.to_string())),
            other => return Err(other.into()),
        },
        measured => measured?,
    };
    let file = |(label, measured): (&String, &Measurement)| {
        let mut file = blank(label, images);
        file.unit.clone_from(&known.unit);
        fill(&mut file, measured, &pictures, images);
        file
    };
    Ok(values.iter().zip(&measured).map(file).collect())
}

fn measure(
    run: &RunDir,
    images: &CellImages<'_>,
    metric: &MetricSpec,
    data_root: Option<&DataRoot>,
) -> Result<Outcome, RunError> {
    let ready = Ready::of(metric, data_root)?;
    let networks = ready.networks(data_root);
    let settings = Settings {
        cache: cache_folder(),
        keep_going: false,
        interval: fewest_for_interval(ready.protocol.metric(&metric.name)?) <= images.records.len(),
        batch: BATCH,
    };
    let mut meter = Meter::with(ready.protocol.clone(), &networks, settings);
    let (mut files, mut captions) = (Vec::new(), BTreeMap::new());
    for ((name, path), prompt) in images.files(run)?.into_iter().zip(&images.prompts) {
        // By their names in the records, so that their order, and with it the last digit of a sum, is the same whatever
        // shards made them.
        files.push((name.to_owned(), path));
        captions.insert(name.to_owned(), (*prompt).to_owned());
    }
    // Notes of a value name it, and a run is the same in every folder.
    let path = PathBuf::from(format!("images of {}", images.cell.name));
    meter.list(&path, files);
    let captions = Some(CaptionsOf::Names(&captions));
    let sides = Sides { real: ready.real.as_deref(), captions, ..Sides::one(&path) };
    let mut outcome = (ready.protocol.metric(&metric.name)?.run)(&mut meter, &sides)?;
    if let (Some(found), Some(named)) = (&ready.real, &metric.real) {
        for note in outcome.values.iter_mut().flat_map(|value| &mut value.notes) {
            *note = note.replace(&found.display().to_string(), named);
        }
    }
    Ok(outcome)
}

/// Images from which on an interval is asked for. That of a mean over the images is a bootstrap over prompts, which says itself
/// how many it needs; that of a distance leaves out groups of images.
fn fewest_for_interval(metric: &Metric) -> usize {
    let is_mean = |command: &MetricCommand| command.captions || command.per_image;
    if metric.entry().command.as_ref().is_some_and(is_mean) { 0 } else { FEWEST_FOR_INTERVAL }
}

/// What a metric's table names, found.
struct Ready {
    protocol: Protocol,
    real: Option<PathBuf>,
    weights: Option<PathBuf>,
    device: String,
}

impl Ready {
    fn of(metric: &MetricSpec, data_root: Option<&DataRoot>) -> Result<Self, RunError> {
        let name = metric.protocol.as_deref().unwrap_or_default();
        let place = |path: &Option<String>| path.as_ref().map(|path| DataRoot::place(data_root, path));
        let protocol = Protocol::find(name)?;
        let device = metric.device.clone().unwrap_or_else(|| "cpu".to_owned());
        Ok(Self { protocol, real: place(&metric.real), weights: place(&metric.weights), device })
    }

    fn networks(&self, data_root: Option<&DataRoot>) -> Published {
        Published::new(data_root.map(DataRoot::path), self.weights.clone()).on(&self.device)
    }
}

impl From<MeasureError> for RunError {
    fn from(error: MeasureError) -> Self {
        Self::Measure(Box::new(error))
    }
}
