//! Metrics under a named protocol: the images of a cell against pictures, features or statistics on disk, or
//! against their prompts. The same code and the same feature cache as `specimen fid` and its siblings.

use std::{collections::BTreeMap, path::PathBuf};

use specimen_datasets::data_root::DataRoot;
use specimen_experiments::spec::{MetricSpec, Spec};
use specimen_foundation::folders::cache_folder;
use specimen_measure::{
    MeasureError, Measurement,
    clip_score::clip_score_of_pictures,
    cmmd::cmmd,
    fid::fid,
    images::BATCH,
    inception_score::inception_score,
    input::Input,
    kid::kid,
    meter::{INTERVAL_GROUPS, Meter, Settings},
    prdc::prdc,
    protocol::Protocol,
    published::Published,
    vendi::vendi,
};
use specimen_record::RunDir;

use crate::{
    cell_images::{CellImages, blank, image_path, too_few},
    driver::context::Context,
    error::RunError,
};

/// Images below which no interval is computed: groups that are left out should hold several.
const FEWEST_FOR_INTERVAL: usize = 5 * INTERVAL_GROUPS;

/// Fails when a metric of `spec` could not be computed after a night of generating: a protocol that does not
/// exist or does not define the metric, weights or pictures that are not there.
///
/// # Errors
/// The first that is wrong.
pub fn check(spec: &Spec, data_root: Option<&DataRoot>) -> Result<(), RunError> {
    for metric in spec.metrics.iter().filter(|metric| metric.protocol.is_some()) {
        let ready = Ready::of(metric, data_root)?;
        let networks = ready.networks(data_root);
        Meter::new(ready.protocol.clone(), &networks).check(&metric.name)?;
        let Some(real) = &ready.real else { continue };
        // All but the distance of Gaussians compare rows.
        if let (Input::Statistics(..), false) = (Input::open(real, false)?, metric.name == "fid") {
            let (path, metric) = (real.clone(), metric.name.clone());
            return Err(MeasureError::NeedsRows { path, metric }.into());
        }
    }
    Ok(())
}

/// Writes the files of `metric`, which has a protocol, for the images of one cell.
///
/// # Errors
/// Weights, pictures or images that cannot be read.
pub(crate) fn score(
    context: &Context<'_>,
    images: &CellImages<'_>,
    metric: &MetricSpec,
) -> Result<(), RunError> {
    let &Context { run, data_root, disk, .. } = context;
    let values = metric.values();
    let compares = metric.real.is_some();
    let why = too_few(images, metric).filter(|_| compares || metric.min_n.is_some());
    if let Some(why) = why.or_else(|| images.records.is_empty().then(|| "no image".to_owned())) {
        for label in &values {
            let mut file = blank(label, label, images);
            file.why = Some(why.clone());
            disk.put(&run.metrics(label, &images.cell.name), &file)?;
        }
        return Ok(());
    }
    let measured = measure(run, images, metric, data_root)?;
    for (label, (measured, per_item)) in values.iter().zip(measured) {
        let mut file = blank(label, &measured.protocol, images);
        file.value = Some(measured.value);
        file.ci95 = measured.ci95;
        file.n = measured.n.last().copied().flatten().unwrap_or(file.n);
        file.higher_is_better = Some(!matches!(metric.name.as_str(), "fid" | "kid" | "cmmd"));
        file.extractor = measured.extractor.clone();
        file.extra = numbers(&measured);
        file.per_item = per_item.map(|values| images.per_item(&values));
        disk.put(&run.metrics(label, &images.cell.name), &file)?;
    }
    Ok(())
}

/// A value with each image's own, in record order, where the metric has them.
type Measured = (Measurement, Option<Vec<f64>>);

fn measure(
    run: &RunDir,
    images: &CellImages<'_>,
    metric: &MetricSpec,
    data_root: Option<&DataRoot>,
) -> Result<Vec<Measured>, RunError> {
    let ready = Ready::of(metric, data_root)?;
    let networks = ready.networks(data_root);
    let settings = Settings {
        cache: cache_folder(),
        keep_going: false,
        interval: FEWEST_FOR_INTERVAL <= images.records.len(),
        batch: BATCH,
    };
    let mut meter = Meter::with(ready.protocol.clone(), &networks, settings);
    let pictures = Pictures::gather(run, images)?;
    let generated = pictures.folder.path();
    let real = || ready.real.as_deref().expect("the spec was checked to name it");
    let one = |measured: Measurement| vec![(measured, None)];
    Ok(match metric.name.as_str() {
        "fid" => one(fid(&mut meter, real(), generated)?),
        "kid" => one(kid(&mut meter, real(), generated)?),
        "cmmd" => one(cmmd(&mut meter, real(), generated)?),
        "is" => one(inception_score(&mut meter, generated)?),
        "vendi" => one(vendi(&mut meter, generated)?),
        "prdc" => prdc(&mut meter, real(), generated)?.into_iter().map(|value| (value, None)).collect(),
        "clip-score" => {
            let (measured, cosines) = clip_score_of_pictures(&mut meter, generated, &pictures.prompts)?;
            let own: Vec<f64> = pictures.places.iter().map(|&at| cosines[at]).collect();
            vec![(measured, Some(own))]
        }
        other => return Err(RunError::Spec(format!("metric `{other}` has no protocol"))),
    })
}

/// The details that are numbers.
fn numbers(measured: &Measurement) -> BTreeMap<String, f64> {
    let number = |(name, value): (&String, &serde_json::Value)| Some((name.clone(), value.as_f64()?));
    measured.details.iter().filter_map(number).collect()
}

/// What a metric's table names, found.
struct Ready {
    protocol: Protocol,
    real: Option<PathBuf>,
    weights: Option<PathBuf>,
}

impl Ready {
    fn of(metric: &MetricSpec, data_root: Option<&DataRoot>) -> Result<Self, RunError> {
        let name = metric.protocol.as_deref().unwrap_or_default();
        let place = |path: &Option<String>| path.as_ref().map(|path| below(path, data_root));
        let protocol = Protocol::find(name)?;
        Ok(Self { protocol, real: place(&metric.real), weights: place(&metric.weights) })
    }

    fn networks(&self, data_root: Option<&DataRoot>) -> Published {
        Published::new(data_root.map(DataRoot::path), self.weights.clone())
    }
}

/// A path of a spec: as it is if it is absolute or nothing is known of a data folder, else below that.
fn below(path: &str, data_root: Option<&DataRoot>) -> PathBuf {
    data_root.map_or_else(|| PathBuf::from(path), |root| root.path().join(path))
}

/// The images of a cell in one folder, by their names in the records: whatever shards made them, their order
/// and so the last digit of a sum is the same.
struct Pictures {
    /// Links to the images.
    folder: tempfile::TempDir,
    /// Of each image in record order its place in the order of the names.
    places: Vec<usize>,
    /// Prompts in the order of the names.
    prompts: Vec<String>,
}

impl Pictures {
    fn gather(run: &RunDir, images: &CellImages<'_>) -> Result<Self, RunError> {
        let what = "link the images of";
        let folder = tempfile::tempdir().map_err(RunError::io(run.root(), what))?;
        let mut names = Vec::with_capacity(images.records.len());
        for record in &images.records {
            let path = image_path(run, record)?;
            let path = std::path::absolute(&path).map_err(RunError::io(&path, "resolve the path of"))?;
            let name = record.image.clone().unwrap_or_default();
            std::os::unix::fs::symlink(&path, folder.path().join(&name))
                .map_err(RunError::io(&path, what))?;
            names.push(name);
        }
        let mut order: Vec<usize> = (0..names.len()).collect();
        order.sort_by(|&a, &b| names[a].cmp(&names[b]));
        let mut places = vec![0; names.len()];
        order.iter().enumerate().for_each(|(place, &at)| places[at] = place);
        let prompts = order.iter().map(|&at| images.prompts[at].to_owned()).collect();
        Ok(Self { folder, places, prompts })
    }
}

impl From<MeasureError> for RunError {
    fn from(error: MeasureError) -> Self {
        Self::Measure(Box::new(error))
    }
}
