//! Metrics of images as they are, by networks of this program's own: no protocol prepares the pixels for them, and an image
//! of another size is not measured.

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::Map;
use specimen_pixels::{Image, Source, network::NetworkFault};
use specimen_stats::{
    averages::mean_over_groups, features::FeatureRows, frechet::frechet_distance,
    frechet_interval::frechet_interval, gaussian::Gaussian, moments::Moments, statistic::Statistic,
};

use crate::alike::{Sameness, equal_rows};
use crate::error::{InMetric, MeasureError};
use crate::measurement::{Measurement, SCHEMA};
use crate::meter::{FEWEST_FOR_INTERVAL, interval_plan};
use crate::metrics::{Outcome, PictureScore};
use crate::network::{Batch, FeatureNetwork};

/// A metric of images as they are.
#[derive(Debug)]
pub struct ImageMetric {
    /// Its name in specs and in the catalog.
    pub name: &'static str,
    /// Opens its network; the argument is the folder for data. Fails where weights or data are absent.
    pub open: fn(Option<&Path>) -> Opened,
}

/// A metric whose network is open, or why it cannot be opened.
pub type Opened = Result<Box<dyn ImageMeasure>, MeasureError>;

/// A metric with its network, for any number of sets of images.
pub trait ImageMeasure {
    /// The identity of the network.
    fn extractor(&self) -> String;

    /// Measures images, of which there is at least one.
    fn measure(&mut self, images: &[CellImage<'_>]) -> Result<Outcome, MeasureError>;
}

/// An image of one cell of a run.
#[derive(Clone, Debug)]
pub struct CellImage<'a> {
    /// Its name in the run.
    pub name: &'a str,
    /// Path of the file.
    pub path: PathBuf,
    /// The prompt's id: images of one prompt are not independent.
    pub prompt_id: &'a str,
    /// The prompt.
    pub prompt: &'a str,
}

/// How a network takes images.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    /// The network, in messages.
    pub(crate) network: &'static str,
    /// Pixels along each edge.
    pub(crate) side: usize,
    /// Images in one pass.
    pub(crate) batch: usize,
    /// The pixel of a byte.
    pub(crate) value: fn(u8) -> f32,
}

impl Taken {
    /// Features of `images`, `[n, n_dims]`, in their order.
    pub(crate) fn rows_of(
        &self,
        network: &dyn FeatureNetwork,
        images: &[Image],
    ) -> Result<Vec<f32>, NetworkFault> {
        let rows =
            images.chunks(self.batch).map(|images| network.rows(&Batch::of_images(images, self.value)));
        Ok(rows.collect::<Result<Vec<_>, _>>()?.concat())
    }

    /// Features of the images of a cell, decoded on all cores.
    pub(crate) fn features(
        &self,
        network: &dyn FeatureNetwork,
        images: &[CellImage<'_>],
    ) -> Result<Vec<f32>, MeasureError> {
        let load = |image: &CellImage<'_>| Source::open(&image.path)?.load(0);
        let decoded: Vec<Image> = images.par_iter().map(load).collect::<Result<_, _>>()?;
        let size = |image: &Image| (image.width(), image.height());
        let side = self.side;
        if let Some(at) = decoded.iter().position(|image| size(image) != (side, side)) {
            let (width, height) = size(&decoded[at]);
            let are_equal = decoded.iter().all(|image| size(image) == (width, height));
            let which = match are_equal {
                true => "those of this cell are".to_owned(),
                false => format!("{} is", images[at].name),
            };
            let why = format!("{} takes images of {side}x{side}, {which} {width}x{height}", self.network);
            return Err(MeasureError::DoesNotApply { why });
        }
        self.rows_of(network, &decoded).map_err(|fault| MeasureError::DoesNotApply { why: fault.to_string() })
    }
}

/// Mean and covariance of rows of `n_dims` features.
pub(crate) fn gaussian(metric: &'static str, rows: &[f32], n_dims: usize) -> Result<Gaussian, MeasureError> {
    Moments::of_rows(rows, n_dims).and_then(|moments| moments.value()).in_metric(metric, &[])
}

/// The Frechet distance of rows of features from those of `n_reference` pictures; of enough rows with an interval, the
/// jackknife of the protocols' distances.
pub(crate) fn distance(
    metric: &'static str,
    extractor: String,
    (reference, n_reference): (&Gaussian, u64),
    rows: Vec<f32>,
) -> Result<Outcome, MeasureError> {
    let rows = FeatureRows::new(rows, reference.mean().len()).in_metric(metric, &[])?;
    let generated = gaussian(metric, rows.values(), rows.d())?;
    let distance = frechet_distance(reference, &generated).in_metric(metric, &[])?;
    let interval = (FEWEST_FOR_INTERVAL <= rows.n())
        .then(|| frechet_interval(&reference.factor()?, &rows, &interval_plan()))
        .transpose()
        .in_metric(metric, &[])?;
    let mut sameness = Sameness::default();
    sameness.see(rows.d(), rows.values());
    let mut measured = measurement(metric, extractor, distance.value(), rows.n() as u64)
        .with_detail("mean_term", distance.mean_term)
        .with_detail("covariance_term", distance.covariance_term)
        .with_detail("n_reference", n_reference)
        .with_interval_from(interval.map(|estimate| estimate.interval), 0.0);
    measured.notes.extend(sameness.holds().then(|| equal_rows(metric)));
    Ok(measured.into())
}

/// The mean of one score an image, with an interval over the prompts. Student's t knows no bounds, so the interval ends where
/// the metric does.
pub(crate) fn mean(
    metric: &'static str,
    extractor: String,
    images: &[CellImage<'_>],
    scores: &[f64],
) -> Result<Outcome, MeasureError> {
    let prompts: Vec<&str> = images.iter().map(|image| image.prompt_id).collect();
    let (mean, ci95) = mean_over_groups(scores, &prompts).in_metric(metric, &[])?;
    let bounds = specimen_catalog::metric(metric).and_then(|known| known.bounds);
    let ci95 = ci95.map(|ends| within(ends, bounds));
    let picture = |(image, &score): (&CellImage<'_>, &f64)| PictureScore {
        id: image.prompt_id.to_owned(),
        file: image.name.to_owned(),
        caption: image.prompt.to_owned(),
        score,
    };
    let measured = Measurement { ci95, ..measurement(metric, extractor, mean, images.len() as u64) };
    Ok(Outcome { values: vec![measured], pictures: images.iter().zip(scores).map(picture).collect() })
}

/// The part of an interval that is inside of the bounds.
fn within(ends: [f64; 2], bounds: Option<[i32; 2]>) -> [f64; 2] {
    bounds.map_or(ends, |[least, largest]| ends.map(|end| end.clamp(least.into(), largest.into())))
}

fn measurement(metric: &'static str, extractor: String, value: f64, n: u64) -> Measurement {
    Measurement {
        schema: SCHEMA,
        metric,
        value,
        ci95: None,
        protocol: metric.to_owned(),
        n: vec![Some(n)],
        extractor: Some(extractor),
        made_by: Vec::new(),
        left_out: Vec::new(),
        notes: Vec::new(),
        details: Map::new(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;

    #[test]
    fn an_interval_of_few_prompts_ends_where_the_metric_does() {
        let image = |prompt_id| CellImage { name: prompt_id, path: PathBuf::new(), prompt_id, prompt: "" };
        let images = ["a", "b"].map(image);
        let ends = |metric, scores: [f64; 2]| {
            mean(metric, String::new(), &images, &scores).unwrap().values[0].ci95.unwrap()
        };
        // 0.95 and half a width of 12.7 times 0.05.
        let [low, high] = ends("scene-clip", [1.0, 0.9]);
        assert!((low - (0.95 - 12.706_204_736 * 0.05)).abs() < 1e-9, "{low}");
        assert_eq!(high, 1.0);
        assert_eq!(ends("attribute-accuracy", [0.0, 1.0]), [0.0, 1.0]);
        assert!(ends("aesthetic", [1.0, 9.0])[0] < 0.0, "nothing is known of its bounds");
    }
}
