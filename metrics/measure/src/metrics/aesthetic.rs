//! `aesthetic`: the mean score of LAION's aesthetic predictor, a head on the embeddings of CLIP ViT-L/14.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::MeasureError;
use crate::image_id::image_id;
use crate::input::Input;
use crate::known_answers::Known;
use crate::measurement::{Measurement, SideFacts};
use crate::meter::Meter;
use crate::metrics::{CaptionsOf, Metric, Outcome, PictureScore, Sides};
use crate::network::{NetworkFault, Networks, OpenedHead, RowHead};
use crate::pairs::mean_of_groups;

const NAME: &str = "aesthetic";
/// The metric of this file.
pub const METRIC: Metric = Metric { name: NAME, table: NAME, run: aesthetic, known_answers };

/// `[aesthetic]`
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AestheticRule {
    /// What makes scores of embeddings, `aesthetic-sac-logos-ava1` say.
    pub head: String,
}

/// Returns the mean score of what is at the generated side, and every picture's. An interval is a BCa bootstrap over the
/// captions where pictures have captions by name, else over the pictures.
pub fn aesthetic(meter: &mut Meter<'_>, sides: &Sides<'_>) -> Result<Outcome, MeasureError> {
    let rule = meter.protocol().rule(NAME, |recipe| recipe.aesthetic.as_ref())?.clone();
    let path = sides.generated;
    // Opened before the pictures, so that what is absent is reported before they are gone through.
    let head = meter.open_head(path, &rule.head)?;
    let (names, rows) = match meter.open(path)? {
        Input::Images(source) => {
            let keys = source.keys().to_vec();
            let (places, rows) = meter.rows_of_images(source, path)?;
            (places.into_iter().map(|place| keys[place].clone()).collect(), rows)
        }
        _ => (Vec::new(), meter.rows(path, NAME)?),
    };
    let fault = |source| MeasureError::Network { network: rule.head.clone(), source };
    let scores = head.scores(rows.features.values(), rows.features.d()).map_err(fault)?;
    let groups = groups(&names, scores.len(), sides.captions);
    let groups: Vec<&str> = groups.iter().map(String::as_str).collect();
    let asked = meter.interval().map(|_| &groups[..]);
    let (value, ci95) = mean_of_groups(NAME, &scores, asked)?;
    let measured = meter.measurement(NAME, value, &[path], &[SideFacts::of(&rows)])?.noting_equal(&scores);
    let by = measured.extractor.iter().cloned().chain([head.identity()]).collect::<Vec<_>>().join(" + ");
    let picture = |(file, &score): (&String, &f64)| PictureScore {
        id: image_id(file),
        file: file.clone(),
        caption: String::new(),
        score,
    };
    let pictures = names.iter().zip(&scores).map(picture).collect();
    Ok(Outcome {
        values: vec![Measurement { extractor: Some(by), ..measured }.with_mean_interval(ci95, asked)],
        pictures,
    })
}

/// What each of `n` pictures is of: pictures of one caption are not independent.
fn groups(names: &[String], n: usize, captions: Option<CaptionsOf<'_>>) -> Vec<String> {
    match captions {
        Some(CaptionsOf::Names(captions)) if !names.is_empty() => {
            names.iter().map(|name| captions.get(name).unwrap_or(name).clone()).collect()
        }
        _ => (0..n).map(|at| at.to_string()).collect(),
    }
}

/// A stand-in for a head, whose score is the sum of a row.
struct Sum;

impl RowHead for Sum {
    fn identity(&self) -> String {
        "sum".to_owned()
    }

    fn scores(&self, rows: &[f32], n_dims: usize) -> Result<Vec<f64>, NetworkFault> {
        Ok(rows.chunks_exact(n_dims).map(|row| row.iter().copied().map(f64::from).sum()).collect())
    }
}

impl Networks for Sum {
    fn head(&self, _: &str) -> Result<OpenedHead, MeasureError> {
        Ok(OpenedHead { head: Box::new(Self), provenance: None })
    }
}

/// The mean of the sums 3 and 9.
fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    let rows = known.rows("embeddings", 2, &[1., 2., 4., 5.])?;
    let mut meter = known.meter_by(r#"aesthetic = { head = "sum" }"#, &Sum)?;
    let found = aesthetic(&mut meter, &Sides::one(&rows))?;
    known.answer(NAME, 6.0, found.values[0].value);
    Ok(())
}
