//! `pickscore`, `hpsv2.0` and `hpsv2.1`: how much people would prefer an image for its prompt, as a CLIP says that was tuned
//! on their choices: the scaled cosine of image and prompt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::captioned::Captioned;
use crate::error::MeasureError;
use crate::known_answers::Known;
use crate::measurement::SideFacts;
use crate::meter::Meter;
use crate::metrics::clip_score::{ClipScoreRule, PrefixAs, Scaling, TextCleaning};
use crate::metrics::{CaptionsOf, Metric, Outcome, Sides};
use crate::network::{NetworkFault, NetworkRule, Networks, TextNetwork};
use crate::pairs::mean_of_groups;
use crate::protocol::Recipe;

/// PickScore.
pub const PICKSCORE: Metric = Metric {
    name: "pickscore",
    table: "pickscore",
    run: |meter, sides| preference("pickscore", meter, sides),
    known_answers: pickscore_answers,
};
/// HPSv2.0.
pub const HPS_V20: Metric = Metric {
    name: "hpsv2.0",
    table: "hpsv2.0",
    run: |meter, sides| preference("hpsv2.0", meter, sides),
    known_answers: |known| hps_answers("hpsv2.0", known),
};
/// HPSv2.1.
pub const HPS_V21: Metric = Metric {
    name: "hpsv2.1",
    table: "hpsv2.1",
    run: |meter, sides| preference("hpsv2.1", meter, sides),
    known_answers: |known| hps_answers("hpsv2.1", known),
};

/// `[pickscore]`, `["hpsv2.0"]` and `["hpsv2.1"]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PreferenceRule {
    /// What a cosine is multiplied with.
    pub scale: PreferenceScale,
    /// How texts are cleaned and cut.
    pub text: TextCleaning,
}

/// The scales on which scores of preference are published.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PreferenceScale {
    /// `100 cos`: the tables of HPSv2.
    Percent,
    /// `exp(logit_scale) cos` with the network's own parameter: PickScore.
    LogitScale,
}

impl PreferenceRule {
    /// Texts as they are.
    pub(crate) fn texts(&self) -> ClipScoreRule {
        let (scaling, prefix_as) = (Scaling::RawCosine, PrefixAs::Text);
        ClipScoreRule { scaling, prefix: String::new(), prefix_as, text: self.text }
    }
}

/// The table of `metric` in a recipe.
pub(crate) fn rule_of<'r>(recipe: &'r Recipe, metric: &str) -> Option<&'r PreferenceRule> {
    match metric {
        "pickscore" => recipe.pickscore.as_ref(),
        "hpsv2.0" => recipe.hpsv2_0.as_ref(),
        "hpsv2.1" => recipe.hpsv2_1.as_ref(),
        _ => None,
    }
}

/// Returns the mean score of the pictures at the generated side with their captions, and every picture's. An interval is a
/// BCa bootstrap over the captions: pictures of one caption are not independent.
pub fn preference(
    metric: &'static str,
    meter: &mut Meter<'_>,
    sides: &Sides<'_>,
) -> Result<Outcome, MeasureError> {
    let rule = meter.protocol().rule(metric, |recipe| rule_of(recipe, metric))?.clone();
    let captioned = Captioned::of(meter, metric, &rule.texts(), sides)?;
    let factor = match rule.scale {
        PreferenceScale::Percent => 100.0,
        PreferenceScale::LogitScale => match &captioned.network {
            Some(network) => network.logit_scale().exp(),
            // Of embeddings that were given the scale is still the network's.
            None => {
                let network = &meter.protocol().recipe().network;
                meter.networks().texts(network, &rule.texts())?.logit_scale().exp()
            }
        },
    };
    let scores: Vec<f64> = captioned.cosines(metric)?.into_iter().map(|cosine| factor * cosine).collect();
    let captions = captioned.captions();
    let groups: Vec<String> = match captions.is_empty() {
        true => (0..scores.len()).map(|at| at.to_string()).collect(),
        false => captions.clone(),
    };
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    let asked = meter.interval().map(|_| &groups[..]);
    let (value, ci95) = mean_of_groups(metric, &scores, asked)?;
    let facts = [SideFacts::of(&captioned.rows)];
    let measured = meter.measurement(metric, value, &captioned.paths(), &facts)?.noting_equal(&scores);
    let measured = measured.with_mean_interval(ci95, asked).with_detail("raw_cosine", value / factor);
    let measured = match &captioned.network {
        None => measured,
        Some(network) => measured
            .with_detail("text_extractor", network.identity())
            .with_captions(network.counts(&captions), &captions),
    };
    let measured = match sides.captions {
        Some(CaptionsOf::File(file)) => measured.with_detail("caption", file.choice().name()),
        _ => measured,
    };
    Ok(Outcome { values: vec![measured], pictures: captioned.scored(&scores) })
}

/// The cosines 24/25 and -1.
fn answer(metric: &'static str, known: &Known, meter: &mut Meter<'_>) -> Result<f64, MeasureError> {
    let pictures = known.rows("pictures", 2, &[3., 4., 1., 0.])?;
    let texts = known.rows("texts", 2, &[4., 3., -1., 0.])?;
    let sides = Sides { captions: Some(CaptionsOf::Embeddings(&texts)), ..Sides::one(&pictures) };
    Ok(preference(metric, meter, &sides)?.values[0].value)
}

fn hps_answers(metric: &'static str, known: &mut Known) -> Result<(), MeasureError> {
    let mut meter = known.meter(&format!(r#""{metric}" = {{ scale = "percent", text = "openclip" }}"#))?;
    let found = answer(metric, known, &mut meter)?;
    known.answer(metric, -2.0, found);
    Ok(())
}

fn pickscore_answers(known: &mut Known) -> Result<(), MeasureError> {
    let table = r#"pickscore = { scale = "logit-scale", text = "hf-keeping-end" }"#;
    let mut meter = known.meter_by(table, &Fifty)?;
    let found = answer("pickscore", known, &mut meter)?;
    known.answer("pickscore", -1.0, found);
    Ok(())
}

/// A stand-in for a network of texts that was trained to multiply cosines with 50.
struct Fifty;

impl TextNetwork for Fifty {
    fn identity(&self) -> String {
        "fifty".to_owned()
    }

    fn logit_scale(&self) -> f64 {
        50_f64.ln()
    }

    fn n_dims(&self) -> usize {
        2
    }

    fn counts(&self, _: &[String]) -> Vec<(&'static str, usize)> {
        Vec::new()
    }

    fn embed(&self, texts: &[String]) -> Result<Vec<f32>, NetworkFault> {
        Ok(vec![1.0; 2 * texts.len()])
    }
}

impl Networks for Fifty {
    fn texts(&self, _: &NetworkRule, _: &ClipScoreRule) -> Result<Box<dyn TextNetwork>, MeasureError> {
        Ok(Box::new(Self))
    }
}
