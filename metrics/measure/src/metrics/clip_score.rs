//! `clip-score`: the cosine of each picture and its caption, on every published scale.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_pixels::Source;
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
use crate::known_answers::Known;
use crate::measurement::{Measurement, SideFacts};
use crate::meter::{INTERVAL_LEVEL, INTERVAL_SEED, Meter, check_widths};
use crate::metrics::{CaptionsOf, Metric, Outcome, PictureScore, Sides};
use crate::network::TextNetwork;
use crate::sample::Rows;

const NAME: &str = "clip-score";
/// The metric of this file.
pub const METRIC: Metric = Metric { name: NAME, table: NAME, run, known_answers };
/// Every scale that all networks have, with the name under which it stands among the details. That of HPSv2 is the raw
/// cosine of a network of its own.
const SCALINGS: [(&str, Scaling); 3] = [
    ("raw_cosine", Scaling::RawCosine),
    ("clipscore", Scaling::Clipscore),
    ("torchmetrics", Scaling::Torchmetrics),
];

/// `[clip-score]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClipScoreRule {
    /// Whose scale the value is on.
    pub scaling: Scaling,
    /// What every text begins with.
    #[serde(default)]
    pub prefix: String,
    /// Where it is put.
    #[serde(default)]
    pub prefix_as: PrefixAs,
    /// How texts are cleaned and cut.
    #[serde(default)]
    pub text: TextCleaning,
}

/// Whose cleaning of texts, and whose cut of those that are too long.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TextCleaning {
    /// OpenAI's: ftfy and HTML entities are mended, and a text that is too long keeps its end token.
    #[default]
    OpenAi,
    /// transformers': NFC, white space and lower case only, and a text that is too long loses its end token.
    Hf,
}

/// The scales of CLIP scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scaling {
    /// `mean(2.5 max(cos, 0))`.
    Clipscore,
    /// `max(mean(100 cos), 0)`.
    Torchmetrics,
    /// `mean(cos)`.
    RawCosine,
}

impl Scaling {
    /// The statistic behind the name.
    #[must_use]
    pub fn statistic(self) -> ClipScaling {
        match self {
            Self::Clipscore => ClipScaling::ClipScore,
            Self::Torchmetrics => ClipScaling::Torchmetrics,
            Self::RawCosine => ClipScaling::RawCosine,
        }
    }
}

/// Where a prefix goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrefixAs {
    /// In front of the text, before it is cut into tokens.
    #[default]
    Text,
    /// As tokens between the start token and those of the text.
    Tokens,
}

fn run(meter: &mut Meter<'_>, sides: &Sides<'_>) -> Result<Outcome, MeasureError> {
    match sides.captions {
        None => Err(MeasureError::NeedsCaptions { metric: NAME.to_owned() }),
        Some(CaptionsOf::File(captions)) => clip_score(meter, sides.generated, captions),
        Some(CaptionsOf::Names(captions)) => clip_score_by_name(meter, sides.generated, captions),
        Some(CaptionsOf::Embeddings(texts)) => Ok(clip_score_of_rows(meter, sides.generated, texts)?.into()),
    }
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
) -> Result<Outcome, MeasureError> {
    meter.protocol().rule(NAME, |recipe| recipe.clip_score.as_ref())?;
    let source = pictures(meter, images)?;
    let keys = source.keys().to_vec();
    let ids = pair(meter, images, &keys, captions)?;
    let scored =
        score_pictures(meter, [images, captions.path()], source, |at| captions.by_id().get(&ids[at]))?;
    let network = &scored.text_network;
    let scaling = ClipScaling::LogitScale { logit_scale: network.logit_scale() };
    let by_logit_scale = scaling.of_set(&scored.scores).in_metric(NAME, &[images, captions.path()])?;
    let measured = scored.measured.clone().with_detail("scaled_by_logit_scale", by_logit_scale);
    let measured = measured
        .with_detail("text_extractor", network.identity())
        .with_detail("caption", captions.choice().name());
    let counts = network.counts(&scored.texts).into_iter();
    let measured = counts.fold(measured, |measured, (kind, n)| measured.with_detail(kind, n));
    Ok(Outcome { values: vec![measured], pictures: scored.pictures(&keys, |at| ids[at].clone()) })
}

/// Returns the score of the pictures at `images`, each with the caption of its name, and every picture's, in the order
/// of the names.
///
/// # Panics
/// For a name without a caption.
fn clip_score_by_name(
    meter: &mut Meter<'_>,
    images: &Path,
    captions: &BTreeMap<String, String>,
) -> Result<Outcome, MeasureError> {
    meter.protocol().rule(NAME, |recipe| recipe.clip_score.as_ref())?;
    let source = pictures(meter, images)?;
    let keys = source.keys().to_vec();
    let scored = score_pictures(meter, [images, images], source, |at| Some(&captions[&keys[at]]))?;
    let measured = scored.measured.clone().with_detail("text_extractor", scored.text_network.identity());
    Ok(Outcome { values: vec![measured], pictures: scored.pictures(&keys, |at| keys[at].clone()) })
}

/// The pictures at `images`. Fails where something else is there.
fn pictures(meter: &mut Meter<'_>, images: &Path) -> Result<Source, MeasureError> {
    match meter.open(images)? {
        Input::Images(source) => Ok(source),
        _ => Err(MeasureError::NeedsPictures {
            path: images.to_path_buf(),
            metric: format!("{NAME} with captions"),
        }),
    }
}

/// Pictures with their captions, scored.
struct Scored {
    measured: Measurement,
    scores: CosineScores,
    text_network: Box<dyn TextNetwork>,
    /// Place of each picture among the names.
    places: Vec<usize>,
    /// Its caption.
    texts: Vec<String>,
}

impl Scored {
    /// Every picture's own score.
    fn pictures(self, keys: &[String], id: impl Fn(usize) -> String) -> Vec<PictureScore> {
        let Self { scores, places, texts, .. } = self;
        let all = places.into_iter().zip(texts).zip(scores.cosines());
        all.map(|((at, caption), &cosine)| PictureScore {
            id: id(at),
            file: keys[at].clone(),
            caption,
            score: cosine,
        })
        .collect()
    }
}

/// Scores the pictures of `source` that have a caption. `of`: where pictures and captions are.
fn score_pictures<'c>(
    meter: &mut Meter<'_>,
    of: [&Path; 2],
    source: Source,
    caption: impl Fn(usize) -> Option<&'c String>,
) -> Result<Scored, MeasureError> {
    let rule = meter.protocol().rule(NAME, |recipe| recipe.clip_score.as_ref())?.clone();
    // Opened before the pictures, so that what is absent is reported before they are gone through.
    let network = meter.protocol().recipe().network.clone();
    let text_network = meter.networks().texts(&network, &rule)?;
    let (places, rows) = meter.rows_of_images(source, of[0])?;
    let (places, rows) = with_captions(places, rows, |at| caption(at).is_some());
    let texts: Vec<String> = places.iter().filter_map(|&at| caption(at).cloned()).collect();
    let fault = |source| MeasureError::Network { network: network.name.clone(), source };
    let embeddings = text_network.embed(&texts).map_err(fault)?;
    let embeddings = FeatureRows::new(embeddings, text_network.n_dims()).in_metric(NAME, &of)?;
    let (measured, scores) = score(meter, &rule, of, &rows, &embeddings)?;
    Ok(Scored { measured, scores, text_network, places, texts })
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

fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    // Cosines 24/25 and -1, which is clamped.
    let pictures = known.rows("pictures", 2, &[3., 4., 1., 0.])?;
    let texts = known.rows("texts", 2, &[4., 3., -1., 0.])?;
    let mut meter = known.meter(r#"clip-score = { scaling = "clipscore" }"#)?;
    known.answer(NAME, 1.2, clip_score_of_rows(&mut meter, &pictures, &texts)?.value);
    Ok(())
}
