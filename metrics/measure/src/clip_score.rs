//! `clip-score`: the cosine of each picture and its caption, on every published scale.

use std::collections::BTreeMap;
use std::path::Path;

use specimen_stats::StatsError;
use specimen_stats::bootstrap::{BootstrapPlan, MIN_RESAMPLES, bootstrap};
use specimen_stats::clip_scalings::ClipScaling;
use specimen_stats::cosine_score::{CosineScores, cosine};
use specimen_stats::features::FeatureRows;

use crate::captions::Captions;
use crate::error::{InMetric, MeasureError};
use crate::image_id::{Listed, image_id};
use crate::images::Broken;
use crate::input::Input;
use crate::measurement::{Measurement, SideFacts};
use crate::meter::{INTERVAL_LEVEL, INTERVAL_SEED, Meter, check_widths};
use crate::rules::{ClipScoreRule, Scaling};
use crate::sample::Rows;

const NAME: &str = "clip-score";
/// Every scale that all networks have, with the name under which it stands among the details. That of HPSv2 is the raw
/// cosine of a network of its own.
const SCALINGS: [(&str, Scaling); 3] = [
    ("raw_cosine", Scaling::RawCosine),
    ("clipscore", Scaling::Clipscore),
    ("torchmetrics", Scaling::Torchmetrics),
];

/// One picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PictureScore {
    /// The id by which it was paired.
    pub id: String,
    /// Its name in the source.
    pub file: String,
    /// Its caption.
    pub caption: String,
    /// The raw cosine, from -1 to 1.
    pub cosine: f64,
}

/// Returns the score of the pictures at `images` with their `captions`, and every picture's, in the order of the
/// pictures' names.
///
/// # Errors
/// Ids on one side only, listed for each; a meter that keeps going leaves both out.
pub fn clip_score(
    meter: &mut Meter<'_>,
    images: &Path,
    captions: &Captions,
) -> Result<(Measurement, Vec<PictureScore>), MeasureError> {
    let rule = meter.protocol().rule(NAME, |recipe| recipe.clip_score.as_ref())?.clone();
    let Input::Images(source) = meter.open(images)? else {
        return Err(MeasureError::NeedsPictures {
            path: images.to_path_buf(),
            metric: format!("{NAME} with captions"),
        });
    };
    let keys = source.keys().to_vec();
    let ids = pair(meter, images, &keys, captions)?;
    // Opened before the pictures, so that what is absent is told before they are gone through.
    let network = meter.protocol().recipe().network.clone();
    let text_network = meter.networks().texts(&network, &rule)?;
    let (places, rows) = meter.rows_of_images(source, images)?;
    let (places, rows) = with_captions(places, rows, |at| captions.by_id().contains_key(&ids[at]));
    let texts: Vec<String> = places.iter().map(|&at| captions.by_id()[&ids[at]].clone()).collect();
    let fault = |source| MeasureError::Network { network: network.name.clone(), source };
    let of = [images, captions.path()];
    let embeddings = text_network.embed(&texts).map_err(fault)?;
    let embeddings = FeatureRows::new(embeddings, text_network.n_dims()).in_metric(NAME, &of)?;
    let (measured, scores) = score(meter, &rule, of, &rows, &embeddings)?;
    let scaling = ClipScaling::LogitScale { logit_scale: text_network.logit_scale() };
    let by_logit_scale = scaling.of_set(&scores).in_metric(NAME, &of)?;
    let measured = measured
        .with_detail("scaled_by_logit_scale", by_logit_scale)
        .with_detail("text_extractor", text_network.identity())
        .with_detail("caption", captions.choice().name());
    let counts = text_network.counts(&texts).into_iter();
    let measured = counts.fold(measured, |measured, (kind, n)| measured.with_detail(kind, n));
    let pictures = places.iter().zip(texts).zip(scores.cosines()).map(|((&at, caption), &cosine)| {
        PictureScore { id: ids[at].clone(), file: keys[at].clone(), caption, cosine }
    });
    Ok((measured, pictures.collect()))
}

/// Returns the score of the pictures at `images` with the caption at the same place of `texts`, in the order of the
/// pictures' names, and every picture's raw cosine.
///
/// # Errors
/// Other counts of pictures and texts.
pub fn clip_score_of_pictures(
    meter: &mut Meter<'_>,
    images: &Path,
    texts: &[String],
) -> Result<(Measurement, Vec<f64>), MeasureError> {
    let rule = meter.protocol().rule(NAME, |recipe| recipe.clip_score.as_ref())?.clone();
    let network = meter.protocol().recipe().network.clone();
    let text_network = meter.networks().texts(&network, &rule)?;
    let rows = meter.rows(images, NAME)?;
    let fault = |source| MeasureError::Network { network: network.name.clone(), source };
    let embeddings = text_network.embed(texts).map_err(fault)?;
    let embeddings = FeatureRows::new(embeddings, text_network.n_dims()).in_metric(NAME, &[images])?;
    let (measured, scores) = score(meter, &rule, [images, images], &rows, &embeddings)?;
    let measured = measured.with_detail("text_extractor", text_network.identity());
    Ok((measured, scores.cosines().to_vec()))
}

/// Returns the score of embeddings that were made before: row `i` of `images` belongs to row `i` of `texts`.
///
/// # Errors
/// Embeddings that cannot be read, or that differ in number or width.
pub fn clip_score_of_rows(
    meter: &mut Meter<'_>,
    images: &Path,
    texts: &Path,
) -> Result<Measurement, MeasureError> {
    let rule = meter.protocol().rule(NAME, |recipe| recipe.clip_score.as_ref())?.clone();
    meter.check_sides(&[(images, Some(NAME)), (texts, Some(NAME))])?;
    let of_images = meter.rows(images, NAME)?;
    let of_texts = meter.rows(texts, NAME)?;
    check_widths((images, of_images.features.d()), (texts, of_texts.features.d()))?;
    Ok(score(meter, &rule, [images, texts], &of_images, &of_texts.features)?.0)
}

/// `of`: where pictures and texts lie.
fn score(
    meter: &Meter<'_>,
    rule: &ClipScoreRule,
    of: [&Path; 2],
    rows: &Rows,
    texts: &FeatureRows,
) -> Result<(Measurement, CosineScores), MeasureError> {
    let images = &rows.features;
    if images.n() != texts.n() {
        let what = "clip score: rows of texts, one for each picture";
        let error = StatsError::WrongSize { what, expected: images.n(), found: texts.n() };
        return Err(error).in_metric(NAME, &of);
    }
    check_widths((of[0], images.d()), (of[1], texts.d()))?;
    let cosines: Result<Vec<f64>, _> = (0..images.n()).map(|i| cosine(images.row(i), texts.row(i))).collect();
    let cosines = cosines.in_metric(NAME, &of)?;
    let scores = CosineScores::try_from(cosines.clone()).in_metric(NAME, &of)?;
    let scaling = rule.scaling.statistic();
    let value = scaling.of_set(&scores).in_metric(NAME, &of)?;
    let interval = match meter.interval() {
        None => None,
        Some(_) => {
            let plan =
                BootstrapPlan::new(INTERVAL_SEED, MIN_RESAMPLES, INTERVAL_LEVEL).in_metric(NAME, &of)?;
            let of_kept = |kept: &[usize]| of_some(scaling, &cosines, kept);
            Some(bootstrap(cosines.len(), &plan, of_kept).in_metric(NAME, &of)?.interval)
        }
    };
    let mut measured = meter.measurement(NAME, value, &of, &[SideFacts::of(rows)])?.with_interval(interval);
    for (name, scaling) in SCALINGS {
        let value = scaling.statistic().of_set(&scores).in_metric(NAME, &of)?;
        measured = measured.with_detail(name, value);
    }
    Ok((measured, scores))
}

/// The score of the pictures at `kept`, of which there is at least one.
fn of_some(scaling: ClipScaling, cosines: &[f64], kept: &[usize]) -> f64 {
    let some: Vec<f64> = kept.iter().map(|&at| cosines[at]).collect();
    let scores = CosineScores::try_from(some).expect("each cosine was checked with the set");
    scaling.of_set(&scores).expect("a resample is as large as the set")
}

/// The rows of pictures that have a caption, by their place.
fn with_captions(places: Vec<usize>, rows: Rows, has_caption: impl Fn(usize) -> bool) -> (Vec<usize>, Rows) {
    let kept: Vec<usize> = (0..places.len()).filter(|&row| has_caption(places[row])).collect();
    if kept.len() == places.len() {
        return (places, rows);
    }
    let features = rows.features.select(&kept);
    (kept.into_iter().map(|row| places[row]).collect(), Rows { features, origin: rows.origin })
}

/// The id of each picture; fails unless each has one caption and each caption one picture. A meter that keeps going leaves
/// out what has no counterpart, as long as something is left.
fn pair(
    meter: &mut Meter<'_>,
    images: &Path,
    keys: &[String],
    captions: &Captions,
) -> Result<Vec<String>, MeasureError> {
    let ids: Vec<String> = keys.iter().map(|key| image_id(key)).collect();
    let mut key_of: BTreeMap<&str, &str> = BTreeMap::new();
    for (id, key) in ids.iter().zip(keys) {
        if let Some(first) = key_of.insert(id, key) {
            let (first, second) = (first.to_owned(), key.clone());
            return Err(MeasureError::SameId { images: images.to_path_buf(), id: id.clone(), first, second });
        }
    }
    let without_caption: Vec<String> =
        ids.iter().filter(|id| !captions.by_id().contains_key(*id)).cloned().collect();
    let without_picture: Vec<String> =
        captions.by_id().keys().filter(|id| !key_of.contains_key(id.as_str())).cloned().collect();
    if without_caption.is_empty() && without_picture.is_empty() {
        return Ok(ids);
    }
    if meter.keeps_going() && without_caption.len() < ids.len() {
        for (id, key) in ids.iter().zip(keys).filter(|(id, _)| !captions.by_id().contains_key(*id)) {
            let why = format!(
                "{}: {key}: no caption of id {id} in {}",
                images.display(),
                captions.path().display()
            );
            meter.leave_out(images, Broken { key: key.clone(), why });
        }
        for id in without_picture {
            let why = format!(
                "{}: the caption of id {id} has no picture in {}",
                captions.path().display(),
                images.display()
            );
            meter.leave_out(captions.path(), Broken { key: id, why });
        }
        return Ok(ids);
    }
    Err(MeasureError::Unpaired {
        images: images.to_path_buf(),
        captions: captions.path().to_path_buf(),
        n_without_caption: without_caption.len(),
        without_caption: Listed(without_caption),
        n_without_picture: without_picture.len(),
        without_picture: Listed(without_picture),
    })
}
