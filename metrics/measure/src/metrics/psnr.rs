//! `psnr`: the peak signal-to-noise ratio of pictures in pairs, in decibels.

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use specimen_pixels::Image;
use specimen_stats::psnr::{decibels, psnr};

use crate::error::MeasureError;
use crate::known_answers::Known;
use crate::metrics::PairMetric;
use crate::network::NoNetworks;
use crate::pair_protocol::PairRule;
use crate::pairs::PairMeasure;

const NAME: &str = "psnr";
/// The metric of this file.
pub const METRIC: PairMetric = PairMetric {
    name: NAME,
    open: |protocol, _| {
        protocol.metric(NAME)?;
        Ok(Box::new(Psnr))
    },
    known_answers,
};

/// `[psnr]`
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PsnrRule {
    /// Of what the squared error is the mean.
    pub channels: Channels,
}

/// What of a picture is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Channels {
    /// Red, green and blue as bytes, of which 255 is the peak.
    Rgb,
}

impl PairRule for PsnrRule {}

struct Psnr;

impl PairMeasure for Psnr {
    fn scores(&self, pairs: &[[Image; 2]]) -> Vec<Result<Option<f64>, String>> {
        let one = |[a, b]: &[Image; 2]| psnr(a.rgb(), b.rgb()).map_err(|error| error.to_string());
        pairs.par_iter().map(one).collect()
    }

    /// How many pairs are equal, and the ratio of the mean squared error over all pairs, which is finite where any differ.
    fn details(&self, scores: &[Option<f64>]) -> Vec<(&'static str, Value)> {
        let n_equal = scores.iter().filter(|score| score.is_none()).count();
        // In units of the squared peak.
        let error = |score: &Option<f64>| score.map_or(0.0, |score| 10_f64.powf(-score / 10.0));
        let mean = scores.iter().map(error).sum::<f64>() / scores.len() as f64;
        let of_mean = decibels(mean * 255.0 * 255.0).map(|value| ("of_mean_squared_error", value.into()));
        [("n_equal", n_equal.into())].into_iter().chain(of_mean).collect()
    }
}

/// Two pictures of one pixel that differ by 255 in one channel: `10 log10 3`.
fn known_answers(known: &mut Known) -> Result<(), MeasureError> {
    let table = "psnr = { channels = \"rgb\" }";
    let found = known.pair(&METRIC, (table, &NoNetworks), 1, [&[9, 9, 0], &[9, 9, 255]])?;
    known.answer(NAME, 10.0 * 3_f64.log10(), found);
    Ok(())
}
