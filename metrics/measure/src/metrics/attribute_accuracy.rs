//! `attribute-accuracy`: the share of the attributes a caption asks for that the scenes evaluator finds in its image:
//! ground, sky, each object and the relation.

use std::collections::BTreeMap;

use specimen_datasets::scenes::{Labels, parse_caption};
use specimen_extract::{scene_features::SceneFeatures, scene_net::N_LOGITS};
use specimen_stats::accuracy::HitCounts;

use crate::error::{InMetric, MeasureError};
use crate::image_metric::{CellImage, ImageMeasure, ImageMetric, mean};
use crate::metrics::Outcome;
use crate::metrics::scene_clip::{SCENES, evaluator};
use crate::network::FeatureNetwork;

const NAME: &str = "attribute-accuracy";
/// The metric of this file.
pub const METRIC: ImageMetric =
    ImageMetric { name: NAME, open: |_| Ok(Box::new(AttributeAccuracy { net: evaluator()? })) };

struct AttributeAccuracy {
    net: SceneFeatures,
}

impl ImageMeasure for AttributeAccuracy {
    fn extractor(&self) -> String {
        self.net.identity()
    }

    fn measure(&mut self, images: &[CellImage<'_>]) -> Result<Outcome, MeasureError> {
        let asked = images.iter().map(|image| parse_caption(image.prompt).map(|asked| asked.labels()));
        let asked = asked.collect::<Result<Vec<Labels>, _>>();
        let asked = asked.map_err(|error| MeasureError::DoesNotApply {
            why: format!("a prompt does not follow the scenes grammar: {error}"),
        })?;
        let rows = SCENES.features(&self.net, images)?;
        let logits = self.net.attribute_logits(&rows);
        let mut by_kind: BTreeMap<&str, HitCounts> = BTreeMap::new();
        let mut shares = Vec::new();
        for (labels, logits) in asked.iter().zip(&logits) {
            let found = hits(labels, logits);
            for &(kind, hit) in &found {
                let counts = by_kind.entry(kind).or_default();
                counts.n_hits += u64::from(hit);
                counts.n_trials += 1;
            }
            shares.push(found.iter().filter(|(_, hit)| *hit).count() as f64 / found.len() as f64);
        }
        let mut outcome = mean(NAME, self.net.identity(), images, &shares)?;
        // It is a share.
        let ends = &mut outcome.values[0].ci95;
        *ends = ends.map(|ends| ends.map(|end| end.clamp(0.0, 1.0)));
        for (kind, counts) in by_kind {
            let accuracy = counts.accuracy(0.95).in_metric(NAME, &[])?.value;
            outcome.values[0].details.insert(format!("{kind}_accuracy"), accuracy.into());
        }
        Ok(outcome)
    }
}

/// Offsets of ground, sky and relation among the logits.
const GROUND: usize = 32;
const SKY: usize = 38;
const RELATION: usize = 42;

/// Each attribute the caption asks for, and whether the logits show it.
fn hits(labels: &Labels, logits: &[f32; N_LOGITS as usize]) -> Vec<(&'static str, bool)> {
    let mut found = vec![
        ("ground", argmax(&logits[GROUND..SKY]) == labels.ground),
        ("sky", argmax(&logits[SKY..RELATION]) == labels.sky),
    ];
    let objects = labels.objects.iter().enumerate().filter(|(_, asked)| **asked);
    found.extend(objects.map(|(at, _)| ("object", logits[at] > 0.0)));
    if labels.relation > 0 {
        found.push(("relation", argmax(&logits[RELATION..]) == labels.relation));
    }
    found
}

fn argmax(logits: &[f32]) -> usize {
    let best = logits.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1).then(b.0.cmp(&a.0)));
    best.expect("there are logits").0
}
