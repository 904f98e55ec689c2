//! The images of one cell, and what every metric does with them: read them, fill in a mean or a distance.

use std::collections::BTreeMap;

use rayon::prelude::*;
use specimen_experiments::{
    plan::Plan,
    spec::{Cell, MetricSpec},
};
use specimen_extract::extractor::{FeatureExtractor, Pictures};
use specimen_record::{ItemKey, MetricFile, Record, RunDir, SCHEMA, Status};
use specimen_stats::{
    averages::{arithmetic_mean, standard_error},
    frechet::frechet_distance,
    gaussian::Gaussian,
    moments::Moments,
    student::student_quantile,
};

use crate::error::RunError;

/// The images of one cell that succeeded, with their prompts.
pub(crate) struct CellImages<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) records: Vec<&'a Record>,
    pub(crate) prompts: Vec<&'a str>,
}

impl<'a> CellImages<'a> {
    /// Those of `cell` among the records of a plan.
    pub(crate) fn of(plan: &'a Plan, records: &'a [Record], cell: &'a Cell) -> Self {
        let prompt_of: BTreeMap<&str, &str> =
            plan.prompts.iter().map(|p| (p.id.as_str(), p.text.as_str())).collect();
        let is_one = |record: &&Record| record.cell == cell.name && record.status == Status::Ok;
        let records: Vec<&Record> = records.iter().filter(is_one).collect();
        let prompts = records.iter().map(|r| prompt_of[r.prompt_id.as_str()]).collect();
        Self { cell, records, prompts }
    }

    /// The first `n` of them.
    pub(crate) fn first(&self, n: usize) -> Self {
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

/// Fills in the mean of one value per image, with a Student interval over prompts: images of one prompt are
/// not independent.
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
    let mut prompts: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for (record, &value) in images.records.iter().zip(values) {
        prompts.entry(&record.prompt_id).or_default().push(value);
    }
    let of_prompts: Vec<f64> =
        prompts.values().map(|values| arithmetic_mean(values)).collect::<Result<_, _>>()?;
    if of_prompts.len() > 1 {
        let half = student_quantile(of_prompts.len() as u64 - 1, 0.975)? * standard_error(&of_prompts)?;
        file.ci95 = Some([mean - half, mean + half]);
    }
    file.per_item = Some(images.per_item(values));
    Ok(())
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
        let path = image_path(run, record)?;
        let picture = image::open(&path);
        let picture =
            picture.map_err(|e| RunError::io(&path, "decode the image")(std::io::Error::other(e)))?;
        Ok(picture.into_rgb8())
    };
    let decoded: Vec<image::RgbImage> = images.records.par_iter().map(decode).collect::<Result<_, _>>()?;
    let (width, height) = decoded.first().map_or((0, 0), image::RgbImage::dimensions);
    if let Some((at, odd)) =
        decoded.iter().enumerate().find(|(_, image)| image.dimensions() != (width, height))
    {
        let (key, (w, h)) = (&images.records[at].key, odd.dimensions());
        return Err(RunError::OddSize(format!("{key} is {w}x{h} and the first image {width}x{height}")));
    }
    let bytes = decoded.into_iter().flat_map(image::RgbImage::into_raw).collect();
    Ok(Pictures { width: width as usize, height: height as usize, channels: 3, bytes })
}

/// Where the image of a record lies.
pub(crate) fn image_path(run: &RunDir, record: &Record) -> Result<std::path::PathBuf, RunError> {
    let name = record.image.as_deref().unwrap_or_default();
    run.find_image(name)?.ok_or_else(|| RunError::Io {
        path: run.root().join(name),
        what: "find the image",
        source: std::io::ErrorKind::NotFound.into(),
    })
}
