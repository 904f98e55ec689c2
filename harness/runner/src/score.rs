//! Metrics of a run's images, one file per protocol and cell. Written after the merge, from the records and
//! the saved images, so that a run can be scored again.

use std::collections::BTreeMap;

use rayon::prelude::*;
use specimen_datasets::{data_root::DataRoot, mnist::Mnist};
use specimen_experiments::{
    plan::Plan,
    spec::{Cell, MetricSpec},
};
use specimen_extract::{
    extractor::{ExtractError, FeatureExtractor, Pictures},
    lenet::LeNet,
};
use specimen_models::target::nll_bits;
use specimen_record::{ItemKey, MetricFile, Record, RunDir, SCHEMA, Status, write_document};
use specimen_stats::{
    averages::{arithmetic_mean, standard_error},
    frechet::frechet_distance,
    gaussian::Gaussian,
    moments::Moments,
};

use crate::{
    driver::Stage,
    error::RunError,
    load::{Models, sampling_of},
    scene_scores::SceneScores,
};

/// Half-width of a 95 % normal interval in standard errors.
const Z95: f64 = 1.959_963_984_540_054;

/// The images of one cell that succeeded, with their prompts.
pub(crate) struct CellImages<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) records: Vec<&'a Record>,
    pub(crate) prompts: Vec<&'a str>,
}

impl CellImages<'_> {
    /// Items by key with a value each, in record order.
    pub(crate) fn per_item(&self, values: &[f64]) -> BTreeMap<ItemKey, f64> {
        self.records.iter().map(|record| record.key.clone()).zip(values.iter().copied()).collect()
    }
}

/// Computes every metric of the spec for every cell.
///
/// # Errors
/// Images, weights or data that cannot be read. A metric that does not apply is a file with its reason.
pub fn score(
    run: &RunDir,
    plan: &Plan,
    records: &[Record],
    models: &mut Models,
    data_root: Option<&DataRoot>,
    report: &mut dyn FnMut(Stage),
) -> Result<(), RunError> {
    let prompt_of: BTreeMap<&str, &str> =
        plan.prompts.iter().map(|p| (p.id.as_str(), p.text.as_str())).collect();
    let mut scenes = None;
    for metric in &plan.spec.metrics {
        for cell in &plan.spec.cells {
            report(Stage::Scoring { metric: metric.name.clone(), cell: cell.name.clone() });
            let records: Vec<&Record> =
                records.iter().filter(|r| r.cell == cell.name && r.status == Status::Ok).collect();
            let prompts = records.iter().map(|r| prompt_of[r.prompt_id.as_str()]).collect();
            let images = CellImages { cell, records, prompts };
            let file = match metric.name.as_str() {
                "target-nll" => target_nll(&images, models)?,
                "fd-lenet" => fd_lenet(run, &images, metric, data_root)?,
                name => {
                    let scenes = match &mut scenes {
                        Some(scenes) => scenes,
                        empty => empty.insert(SceneScores::open()?),
                    };
                    match name {
                        "scene-clip" => scenes.clip(run, &images)?,
                        "attribute-accuracy" => scenes.attributes(run, &images)?,
                        "fd-scenes" => scenes.distance(run, &images, metric)?,
                        other => return Err(RunError::Spec(format!("metric `{other}` is unknown"))),
                    }
                }
            };
            write_document(&run.metrics(&file.protocol, &cell.name), &file)?;
        }
    }
    Ok(())
}

/// A metric file without a value yet.
pub(crate) fn blank(metric: &str, protocol: &str, images: &CellImages<'_>) -> MetricFile {
    MetricFile {
        schema: SCHEMA,
        protocol: protocol.to_owned(),
        cell: images.cell.name.clone(),
        metric: metric.to_owned(),
        value: None,
        ci95: None,
        n: images.records.len() as u64,
        unit: String::new(),
        higher_is_better: None,
        why: None,
        extractor: None,
        per_item: None,
        extra: BTreeMap::new(),
    }
}

/// Fills in the mean of one value per image with its normal interval.
pub(crate) fn mean_of(
    file: &mut MetricFile,
    images: &CellImages<'_>,
    values: &[f64],
) -> Result<(), RunError> {
    if values.is_empty() {
        file.why = Some("no image".to_owned());
        return Ok(());
    }
    let mean = arithmetic_mean(values)?;
    file.value = Some(mean);
    if values.len() > 1 {
        let half = Z95 * standard_error(values)?;
        file.ci95 = Some([mean - half, mean + half]);
    }
    file.per_item = Some(images.per_item(values));
    Ok(())
}

/// Mean negative log2-likelihood of the tokens under the target's guided, tempered law, before top-k and
/// top-p.
fn target_nll(images: &CellImages<'_>, models: &mut Models) -> Result<MetricFile, RunError> {
    let mut file = blank("target-nll", "target-nll", images);
    file.unit = "bits/token".into();
    file.higher_is_better = Some(false);
    let model = models.get(&images.cell.model)?;
    let sampling = sampling_of(&images.cell.sampling);
    let mut values = Vec::with_capacity(images.records.len());
    for (record, prompt) in images.records.iter().zip(&images.prompts) {
        let generation = model.open(prompt, &sampling, 1)?;
        let tokens: Vec<_> = record.tokens.iter().map(|&t| specimen_decode::dist::TokenId(t)).collect();
        let bits = nll_bits(&generation, &tokens);
        if !bits.is_finite() {
            file.why = Some(format!("{}: a token has probability 0 under the target's own law", record.key));
            return Ok(file);
        }
        values.push(bits);
    }
    mean_of(&mut file, images, &values)?;
    Ok(file)
}

/// Frechet distance on LeNet features between the images and all MNIST test images.
fn fd_lenet(
    run: &RunDir,
    images: &CellImages<'_>,
    metric: &MetricSpec,
    data_root: Option<&DataRoot>,
) -> Result<MetricFile, RunError> {
    let mut file = blank("fd-lenet", "fd-lenet", images);
    file.higher_is_better = Some(false);
    if let Some(why) = too_few(images, metric) {
        file.why = Some(why);
        return Ok(file);
    }
    let net = LeNet::open(data_root.map(DataRoot::path))?;
    let root = data_root.ok_or(RunError::Extract(ExtractError::Absent {
        extractor: "fd-lenet",
        path: "mnist/t10k-images-idx3-ubyte.gz".into(),
        remedy: "set SPECIMEN_DATA to the folder that holds the MNIST test images",
    }))?;
    let folder = root.path().join("mnist");
    let mnist =
        Mnist::read(&folder.join("t10k-images-idx3-ubyte.gz"), &folder.join("t10k-labels-idx1-ubyte.gz"))?;
    let reference = Pictures { width: 28, height: 28, channels: 1, bytes: mnist.pixels().to_vec() };
    distance(&mut file, &net, &reference, &read_pictures(run, images)?)?;
    file.extra.insert("n_reference".into(), mnist.n_images() as f64);
    Ok(file)
}

/// Fills in the Frechet distance of features of `reference` and `generated`.
pub(crate) fn distance(
    file: &mut MetricFile,
    net: &dyn FeatureExtractor,
    reference: &Pictures,
    generated: &Pictures,
) -> Result<(), RunError> {
    let gaussian = |pictures: &Pictures| -> Result<Gaussian, RunError> {
        let features = net.features(pictures)?;
        let moments = Moments::of_rows(&features.rows, features.n_dims)?;
        Ok(Gaussian::new(moments.mean()?.to_vec(), moments.covariance()?, Some(moments.n()))?)
    };
    let distance = frechet_distance(&gaussian(reference)?, &gaussian(generated)?)?;
    file.value = Some(distance.value());
    file.extractor = Some(net.identity());
    file.extra.insert("mean_term".into(), distance.mean_term);
    file.extra.insert("covariance_term".into(), distance.covariance_term);
    Ok(())
}

/// Why a distance is not computed on so few images.
pub(crate) fn too_few(images: &CellImages<'_>, metric: &MetricSpec) -> Option<String> {
    let (n, min) = (images.records.len(), metric.min_n.unwrap_or(500).max(2));
    (n < min).then(|| format!("{n} images; at fewer than {min} the distance is mostly bias (min_n)"))
}

/// The saved images of a cell, in record order, decoded on all cores.
pub(crate) fn read_pictures(run: &RunDir, images: &CellImages<'_>) -> Result<Pictures, RunError> {
    let decode = |record: &&Record| -> Result<image::RgbImage, RunError> {
        let name = record.image.as_deref().unwrap_or_default();
        let path = run.find_image(name)?.ok_or_else(|| RunError::Io {
            path: run.root().join(name),
            what: "find the image",
            source: std::io::ErrorKind::NotFound.into(),
        })?;
        let picture = image::open(&path);
        let picture =
            picture.map_err(|e| RunError::io(&path, "decode the image")(std::io::Error::other(e)))?;
        Ok(picture.into_rgb8())
    };
    let decoded: Vec<image::RgbImage> = images.records.par_iter().map(decode).collect::<Result<_, _>>()?;
    let (width, height) = decoded.first().map_or((0, 0), image::RgbImage::dimensions);
    let bytes = decoded.into_iter().flat_map(image::RgbImage::into_raw).collect();
    Ok(Pictures { width: width as usize, height: height as usize, channels: 3, bytes })
}
