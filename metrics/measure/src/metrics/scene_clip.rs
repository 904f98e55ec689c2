//! `scene-clip`: the mean cosine of image and prompt in the scenes evaluator's joint space.

use specimen_datasets::scenes::Vocabulary;
use specimen_extract::{
    scene_features::{BATCH, SceneFeatures},
    scene_net::SIDE,
};

use crate::error::MeasureError;
use crate::image_metric::{CellImage, ImageMeasure, ImageMetric, Taken, mean};
use crate::measurement::equal_scores;
use crate::metrics::Outcome;
use crate::network::FeatureNetwork;

const NAME: &str = "scene-clip";
/// The metric of this file.
pub const METRIC: ImageMetric =
    ImageMetric { name: NAME, open: |_| Ok(Box::new(SceneClip { net: evaluator()? })) };

/// How the scenes evaluator takes images.
pub(crate) const SCENES: Taken = Taken {
    network: "the scenes evaluator",
    side: SIDE as usize,
    batch: BATCH,
    value: |byte| f32::from(byte) / 127.5 - 1.0,
};

/// The scenes evaluator, whose weights are in the binary.
pub(crate) fn evaluator() -> Result<SceneFeatures, MeasureError> {
    let fault = |error| MeasureError::Network { network: SCENES.network.to_owned(), source: Box::new(error) };
    SceneFeatures::embedded().map_err(fault)
}

struct SceneClip {
    net: SceneFeatures,
}

impl ImageMeasure for SceneClip {
    fn extractor(&self) -> String {
        self.net.identity()
    }

    fn measure(&mut self, images: &[CellImage<'_>]) -> Result<Outcome, MeasureError> {
        let captions =
            images.iter().map(|image| Vocabulary::encode(image.prompt)).collect::<Result<Vec<_>, _>>();
        let captions = captions.map_err(|error| MeasureError::DoesNotApply {
            why: format!("a prompt is outside the scenes vocabulary: {error}"),
        })?;
        let rows = SCENES.features(&self.net, images)?;
        let cosines = self.net.caption_cosines(&rows, &captions);
        let cosines = cosines.map_err(|error| MeasureError::Network {
            network: SCENES.network.to_owned(),
            source: Box::new(error),
        })?;
        let mut scored = mean(NAME, self.net.identity(), images, &cosines)?;
        scored.values[0].notes.extend(equal_scores(NAME, &cosines));
        Ok(scored)
    }
}
