//! `clip-score`: the cosine of each picture and its caption, on every published scale.

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use specimen_stats::bootstrap::{BootstrapPlan, MIN_RESAMPLES, bootstrap};
use specimen_stats::clip_scalings::ClipScaling;
use specimen_stats::cosine_score::CosineScores;

use crate::captioned::Captioned;
use crate::captions::Captions;
use crate::error::{InMetric, MeasureError};
use crate::known_answers::Known;
use crate::measurement::{Measurement, SideFacts};
use crate::meter::{INTERVAL_LEVEL, INTERVAL_SEED, Meter};
use crate::metrics::{CaptionsOf, Metric, Outcome, Sides};

const NAME: &str = "clip-score";
/// The metric of this file.
pub const METRIC: Metric = Metric { name: NAME, table: NAME, run, known_answers };
/// Every scale that all networks have, with the name under which it stands among the details.
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
    /// The same, but a text that is too long keeps its end token.
    #[serde(rename = "hf-keeping-end")]
    HfKeepingEnd,
    /// open_clip's: as OpenAI's, with other names of tokens inside a text.
    OpenClip,
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
        None => Err(crate::error::needs_captions(NAME)),
        Some(CaptionsOf::File(captions)) => clip_score(meter, sides.generated, captions),
        Some(CaptionsOf::Names(_)) => {
            let (captioned, measured, scores) = score(meter, sides)?;
            let network = captioned.network.as_ref().expect("names come with captions as texts");
            let measured = measured.with_detail("text_extractor", network.identity());
            Ok(Outcome { values: vec![measured], pictures: captioned.scored(scores.cosines()) })
        }
        Some(CaptionsOf::Embeddings(texts)) => Ok(clip_score_of_rows(meter, sides.generated, texts)?.into()),
    }
}

/// Returns the score of the pictures at `images` with their `captions`, and every picture's, in the order of the
/// pictures' names.
pub fn clip_score(
    meter: &mut Meter<'_>,
    images: &Path,
    captions: &Captions,
) -> Result<Outcome, MeasureError> {
    let sides = Sides { captions: Some(CaptionsOf::File(captions)), ..Sides::one(images) };
    let (captioned, measured, scores) = score(meter, &sides)?;
    let network = captioned.network.as_ref().expect("a file has captions as texts");
    let scaling = ClipScaling::LogitScale { logit_scale: network.logit_scale() };
    let by_logit_scale = scaling.of_set(&scores).in_metric(NAME, &captioned.paths())?;
    let texts = captioned.captions();
    let measured = measured
        .with_detail("scaled_by_logit_scale", by_logit_scale)
        .with_detail("text_extractor", network.identity())
        .with_detail("caption", captions.choice().name())
        .with_captions(network.counts(&texts), &texts);
    Ok(Outcome { values: vec![measured], pictures: captioned.scored(scores.cosines()) })
}

/// Returns the score of embeddings that were made before: row `i` of `images` belongs to row `i` of `texts`.
pub fn clip_score_of_rows(
    meter: &mut Meter<'_>,
    images: &Path,
    texts: &Path,
) -> Result<Measurement, MeasureError> {
    let sides = Sides { captions: Some(CaptionsOf::Embeddings(texts)), ..Sides::one(images) };
    Ok(score(meter, &sides)?.1)
}

fn score(
    meter: &mut Meter<'_>,
    sides: &Sides<'_>,
) -> Result<(Captioned, Measurement, CosineScores), MeasureError> {
    let rule = meter.protocol().rule(NAME, |recipe| recipe.clip_score.as_ref())?.clone();
    let captioned = Captioned::of(meter, NAME, &rule, sides)?;
    let of = captioned.paths();
    let cosines = captioned.cosines(NAME)?;
    let scores = CosineScores::try_from(cosines.clone()).in_metric(NAME, &of)?;
    let scaling = rule.scaling.statistic();
    let value = scaling.of_set(&scores).in_metric(NAME, &of)?;
    let facts = [SideFacts::of(&captioned.rows)];
    let mut measured = meter.measurement(NAME, value, &of, &facts)?.noting_equal(&cosines);
    if meter.interval().is_some() {
        let groups = by_caption(&captioned.captions(), cosines.len());
        let interval = match groups.len() {
            0 | 1 => None,
            n => {
                let plan =
                    BootstrapPlan::new(INTERVAL_SEED, MIN_RESAMPLES, INTERVAL_LEVEL).in_metric(NAME, &of)?;
                let of_kept = |kept: &[usize]| {
                    let places: Vec<usize> = kept.iter().flat_map(|&at| &groups[at]).copied().collect();
                    of_some(scaling, &cosines, &places)
                };
                bootstrap(n, &plan, of_kept).in_metric(NAME, &of)?.interval
            }
        };
        measured = measured.with_interval(interval).noting_few(groups.len());
    }
    for (name, scaling) in SCALINGS {
        let value = scaling.statistic().of_set(&scores).in_metric(NAME, &of)?;
        measured = measured.with_detail(name, value);
    }
    Ok((captioned, measured, scores))
}

/// The places of each caption's pictures among `n`, in the order in which captions come: pictures of one caption are not
/// independent. Without captions each picture is for itself.
fn by_caption(captions: &[String], n: usize) -> Vec<Vec<usize>> {
    if captions.is_empty() {
        return (0..n).map(|at| vec![at]).collect();
    }
    let mut place_of: BTreeMap<&str, usize> = BTreeMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (at, caption) in captions.iter().enumerate() {
        let group = *place_of.entry(caption).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(at);
    }
    groups
}

/// The score of the pictures at `kept`, of which there is at least one.
fn of_some(scaling: ClipScaling, cosines: &[f64], kept: &[usize]) -> f64 {
    let some: Vec<f64> = kept.iter().map(|&at| cosines[at]).collect();
    let scores = CosineScores::try_from(some).expect("each cosine was checked with the set");
    scaling.of_set(&scores).expect("a resample is as large as the set")
}

fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    // Cosines 24/25 and -1, which is clamped.
    let pictures = known.rows("pictures", 2, &[3., 4., 1., 0.])?;
    let texts = known.rows("texts", 2, &[4., 3., -1., 0.])?;
    let mut meter = known.meter(r#"clip-score = { scaling = "clipscore" }"#)?;
    known.answer(NAME, 1.2, clip_score_of_rows(&mut meter, &pictures, &texts)?.value);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_of_one_caption_are_one_observation_and_without_captions_each_is() {
        let captions = ["b", "a", "b", "c"].map(str::to_owned);
        assert_eq!(by_caption(&captions, 4), [vec![0, 2], vec![1], vec![3]]);
        assert_eq!(by_caption(&[], 3), [[0], [1], [2]]);
    }
}
