//! Metrics of procedural scenes: agreement with the caption, attributes asked for, and distance to held-out
//! scenes, all on the embedded evaluator.

use std::collections::BTreeMap;

use rayon::prelude::*;
use specimen_datasets::scenes::{Labels, Scene, VAL_SEED, Vocabulary, parse_caption};
use specimen_experiments::spec::MetricSpec;
use specimen_extract::{
    extractor::{FeatureExtractor, Pictures},
    scene_features::SceneFeatures,
    scene_net::N_LOGITS,
};
use specimen_record::{MetricFile, RunDir};
use specimen_stats::accuracy::HitCounts;

use crate::{
    cell_images::{CellImages, blank, distance, mean_of, read_pictures, too_few},
    error::RunError,
};

/// Held-out scenes that `fd-scenes` compares with.
const N_REFERENCE: u64 = 2000;

/// Pixels along an edge of the pictures that the evaluator takes.
const SIDE: usize = 64;

/// The evaluator, with its reference pictures once they were asked for.
pub(crate) struct SceneScores {
    net: SceneFeatures,
    reference: Option<Pictures>,
}

impl SceneScores {
    pub(crate) fn open() -> Result<Self, RunError> {
        Ok(Self { net: SceneFeatures::embedded()?, reference: None })
    }

    /// Mean cosine of picture and caption.
    pub(crate) fn clip(&self, run: &RunDir, images: &CellImages<'_>) -> Result<MetricFile, RunError> {
        let mut file = blank("scene-clip", "scene-clip", images);
        file.unit = "cosine".into();
        file.higher_is_better = Some(true);
        file.extractor = Some(self.net.identity());
        let mut captions = Vec::new();
        for prompt in &images.prompts {
            match Vocabulary::encode(prompt) {
                Ok(ids) => captions.push(ids),
                Err(e) => {
                    file.why = Some(format!("a prompt is outside the scenes vocabulary: {e}"));
                    return Ok(file);
                }
            }
        }
        if captions.is_empty() {
            file.why = Some("no image".to_owned());
            return Ok(file);
        }
        let pictures = read_pictures(run, images)?;
        file.why = not_taken(&pictures);
        if file.why.is_some() {
            return Ok(file);
        }
        let cosines = self.net.caption_cosines(&pictures, &captions)?;
        mean_of(&mut file, images, &cosines)?;
        Ok(file)
    }

    /// Share of the attributes a caption asks for that the evaluator finds in its picture: ground, sky, each
    /// object and the relation.
    pub(crate) fn attributes(&self, run: &RunDir, images: &CellImages<'_>) -> Result<MetricFile, RunError> {
        let mut file = blank("attribute-accuracy", "attribute-accuracy", images);
        file.higher_is_better = Some(true);
        file.extractor = Some(self.net.identity());
        let mut asked = Vec::new();
        for prompt in &images.prompts {
            match parse_caption(prompt) {
                Ok(attributes) => asked.push(attributes.labels()),
                Err(e) => {
                    file.why = Some(format!("a prompt does not follow the scenes grammar: {e}"));
                    return Ok(file);
                }
            }
        }
        if asked.is_empty() {
            file.why = Some("no image".to_owned());
            return Ok(file);
        }
        let pictures = read_pictures(run, images)?;
        file.why = not_taken(&pictures);
        if file.why.is_some() {
            return Ok(file);
        }
        let logits = self.net.attribute_logits(&pictures)?;
        let mut by_kind: BTreeMap<&str, HitCounts> = BTreeMap::new();
        let mut values = Vec::new();
        for (labels, logits) in asked.iter().zip(&logits) {
            let found = hits(labels, logits);
            for &(kind, hit) in &found {
                let counts = by_kind.entry(kind).or_default();
                counts.n_hits += u64::from(hit);
                counts.n_trials += 1;
            }
            values.push(found.iter().filter(|(_, hit)| *hit).count() as f64 / found.len() as f64);
        }
        mean_of(&mut file, images, &values)?;
        for (kind, counts) in by_kind {
            file.extra.insert(format!("{kind}_accuracy"), counts.accuracy(0.95)?.value);
        }
        Ok(file)
    }

    /// Frechet distance on evaluator features to held-out scenes as rendered. Named `fd-scenes`, never FID.
    pub(crate) fn distance(
        &mut self,
        run: &RunDir,
        images: &CellImages<'_>,
        metric: &MetricSpec,
    ) -> Result<MetricFile, RunError> {
        let mut file = blank("fd-scenes", "fd-scenes", images);
        file.higher_is_better = Some(false);
        file.extractor = Some(self.net.identity());
        if let Some(why) = too_few(images, metric) {
            file.why = Some(why);
            return Ok(file);
        }
        let pictures = read_pictures(run, images)?;
        file.why = not_taken(&pictures);
        if file.why.is_some() {
            return Ok(file);
        }
        let reference = self.reference.get_or_insert_with(|| {
            let scenes: Vec<Vec<u8>> =
                (0..N_REFERENCE).into_par_iter().map(|index| Scene::new(VAL_SEED, index).render()).collect();
            let bytes = scenes.concat();
            Pictures { width: SIDE, height: SIDE, channels: 3, bytes }
        });
        distance(&mut file, &self.net, reference, &pictures)?;
        file.extra.insert("n_reference".into(), N_REFERENCE as f64);
        Ok(file)
    }
}

/// Why the evaluator cannot take `pictures`; `None` where it can.
fn not_taken(pictures: &Pictures) -> Option<String> {
    let &Pictures { width, height, channels, .. } = pictures;
    ((width, height, channels) != (SIDE, SIDE, 3)).then(|| {
        format!("the scenes evaluator takes images of {SIDE}x{SIDE}, those of this cell are {width}x{height}")
    })
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
