//! `imagereward`: how much people would prefer each picture for its prompt, as ImageReward says; the mean of its scores.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::captioned::{pair, pictures};
use crate::error::MeasureError;
use crate::known_answers::Known;
use crate::measurement::SideFacts;
use crate::meter::Meter;
use crate::metrics::{CaptionsOf, Metric, Outcome, PictureScore, Sides};
use crate::network::{Batch, NetworkFault, NetworkRule, Networks, OpenedPrompted, PromptedNetwork};
use crate::pairs::mean_of_groups;

const NAME: &str = "imagereward";
/// The metric of this file.
pub const METRIC: Metric = Metric { name: NAME, table: NAME, run: imagereward, known_answers };

/// `[imagereward]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct ImageRewardRule {
    /// Tokens that the network sees of a prompt, the first and the last included; a longer one is cut.
    pub n_tokens: usize,
}

/// Returns the mean score of the pictures at the generated side with their captions, and every picture's. An interval is a
/// BCa bootstrap over the captions: pictures of one caption are not independent.
pub fn imagereward(meter: &mut Meter<'_>, sides: &Sides<'_>) -> Result<Outcome, MeasureError> {
    let n_tokens = meter.protocol().rule(NAME, |recipe| recipe.imagereward.as_ref())?.n_tokens;
    let path = sides.generated;
    let needs_pictures = || crate::error::needs_pictures(path, format!("{NAME} with captions"));
    let (of, ids, source, prompts) = match sides.captions {
        None => return Err(crate::error::needs_captions(NAME)),
        Some(CaptionsOf::Embeddings(_)) => return Err(needs_pictures()),
        Some(CaptionsOf::File(captions)) => {
            let source = pictures(meter, NAME, path)?;
            let ids = pair(meter, path, source.keys(), captions)?;
            let prompts: Vec<Option<&str>> =
                ids.iter().map(|id| captions.by_id().get(id).map(String::as_str)).collect();
            ([path, captions.path()], ids, source, prompts)
        }
        Some(CaptionsOf::Names(captions)) => {
            let source = pictures(meter, NAME, path)?;
            let ids = source.keys().to_vec();
            let prompts = ids.iter().map(|name| captions.get(name).map(String::as_str)).collect();
            ([path; 2], ids, source, prompts)
        }
    };
    // Opened before the pictures, so that what is absent is reported before they are gone through.
    let network = meter.open_prompted(path, n_tokens)?;
    let (places, rows) = meter.scores_of_images(&source, path, &*network, &prompts)?;
    let scores: Vec<f64> = rows.features.values().iter().copied().map(f64::from).collect();
    let prompts: Vec<&str> = places.iter().filter_map(|&place| prompts[place]).collect();
    let asked = meter.interval().map(|_| &prompts[..]);
    let (value, ci95) = mean_of_groups(NAME, &scores, asked)?;
    let measured = meter.measurement(NAME, value, &of, &[SideFacts::of(&rows)])?.noting_equal(&scores);
    let texts: Vec<String> = prompts.iter().map(|&prompt| prompt.to_owned()).collect();
    let measured = measured.with_captions(network.counts(&texts), &texts);
    let measured = match sides.captions {
        Some(CaptionsOf::File(captions)) => measured.with_detail("caption", captions.choice().name()),
        _ => measured,
    };
    let picture = |((&place, caption), score): ((&usize, String), f64)| PictureScore {
        id: ids[place].clone(),
        file: source.keys()[place].clone(),
        caption,
        score,
    };
    let pictures = places.iter().zip(texts).zip(scores).map(picture).collect();
    Ok(Outcome { values: vec![measured.with_mean_interval(ci95, asked)], pictures })
}

/// A stand-in for the network: the red of a picture of one pixel, and the letters of its prompt.
struct RedAndLetters;

impl PromptedNetwork for RedAndLetters {
    fn identity(&self) -> String {
        "red-and-letters".to_owned()
    }

    fn counts(&self, _: &[String]) -> Vec<(&'static str, usize)> {
        Vec::new()
    }

    fn scores(&self, batch: &Batch, prompts: &[&str]) -> Result<Vec<f32>, NetworkFault> {
        let pictures = batch.values.chunks_exact(3 * batch.height * batch.width);
        Ok(pictures.zip(prompts).map(|(picture, prompt)| picture[0] + prompt.len() as f32).collect())
    }
}

impl Networks for RedAndLetters {
    fn prompted(&self, _: &NetworkRule, _: usize) -> Result<OpenedPrompted, MeasureError> {
        Ok(OpenedPrompted { network: Box::new(Self), provenance: None })
    }
}

/// The mean of 10 + 2 and 20 + 4.
fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    let pictures = [("a.ppm", [10, 0, 0]), ("b.ppm", [20, 0, 0])];
    let folder = known.pictures(&pictures)?;
    let captions = [("a.ppm", "ab"), ("b.ppm", "abcd")];
    let captions: BTreeMap<String, String> =
        captions.map(|(name, text)| (name.to_owned(), text.to_owned())).into();
    let mut meter = known.meter_by("imagereward = { n-tokens = 35 }", &RedAndLetters)?;
    let sides = Sides { captions: Some(CaptionsOf::Names(&captions)), ..Sides::one(&folder) };
    let found = imagereward(&mut meter, &sides)?;
    known.answer(NAME, 18.0, found.values[0].value);
    Ok(())
}
