//! `fd-scenes`: the Frechet distance to held-out scenes as rendered, in the features of the scenes evaluator. Never FID.

use rayon::prelude::*;
use specimen_datasets::scenes::{Scene, VAL_SEED};
use specimen_extract::scene_features::SceneFeatures;
use specimen_pixels::Image;
use specimen_stats::gaussian::Gaussian;

use crate::error::MeasureError;
use crate::image_metric::{CellImage, ImageMeasure, ImageMetric, distance, gaussian};
use crate::metrics::Outcome;
use crate::metrics::scene_clip::{SCENES, evaluator};
use crate::network::FeatureNetwork;

const NAME: &str = "fd-scenes";
/// The metric of this file.
pub const METRIC: ImageMetric =
    ImageMetric { name: NAME, open: |_| Ok(Box::new(FdScenes { net: evaluator()?, reference: None })) };

/// Held-out scenes that are compared with.
const N_REFERENCE: u64 = 2000;

struct FdScenes {
    net: SceneFeatures,
    /// Of the held-out scenes, once they were asked for.
    reference: Option<Gaussian>,
}

impl ImageMeasure for FdScenes {
    fn extractor(&self) -> String {
        self.net.identity()
    }

    fn measure(&mut self, images: &[CellImage<'_>]) -> Result<Outcome, MeasureError> {
        let Self { net, reference } = self;
        let generated = SCENES.features(net, images)?;
        let reference = match reference {
            Some(reference) => reference,
            empty => {
                let render =
                    |index| Image::new(SCENES.side, SCENES.side, Scene::new(VAL_SEED, index).render());
                let scenes: Vec<Image> = (0..N_REFERENCE).into_par_iter().map(render).collect();
                let rows = SCENES.rows_of(net, &scenes);
                let rows =
                    rows.map_err(|source| MeasureError::Network { network: net.identity(), source })?;
                empty.insert(gaussian(NAME, &rows, net.n_dims())?)
            }
        };
        distance(NAME, net.identity(), (reference, N_REFERENCE), generated)
    }
}
