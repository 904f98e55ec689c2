//! The scales on which CLIP scores are published, all from the same raw cosines.
//!
//! Values of 0.3, 0.7 and 31 for one set of pictures differ by the scale alone; naming it is what makes them
//! comparable. What is kept per picture is the raw cosine (see [`crate::cosine_score`]).

use crate::cosine_score::CosineScores;
use crate::error::{StatsError, require_count, require_finite};

/// The tool whose scale a CLIP score is on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ClipScaling {
    /// `mean(2.5 max(cos, 0))`: CLIPScore (Hessel et al. 2021, eq. 1; jmhessel/clipscore). Usual network ViT-B/32, texts
    /// begin with "A photo depicts".
    ClipScore,
    /// `max(mean(100 cos), 0)`, clamped after the mean: torchmetrics.
    Torchmetrics,
    /// `mean(exp(logit_scale) cos)` with the network's own parameter (100 for OpenAI's): Taited/clip-score.
    LogitScale {
        /// The parameter before `exp`, `ln 100` for OpenAI's networks.
        logit_scale: f64,
    },
    /// `mean(cos)`: the script of GigaGAN, LlamaGen and LANTERN.
    RawCosine,
    /// `mean(cos)` of the HPSv2 network, which is another network: the scale is raw, the values are not comparable.
    Hps,
}

impl ClipScaling {
    /// Returns the score of a set of pictures.
    ///
    /// # Errors
    /// None and a logit scale that is not finite.
    pub fn of_set(&self, scores: &CosineScores) -> Result<f64, StatsError> {
        let cosines = scores.cosines();
        require_count("clip score", 1, cosines.len() as u64)?;
        let mean = |of_one: &dyn Fn(f64) -> f64| {
            cosines.iter().map(|&cosine| of_one(cosine)).sum::<f64>() / cosines.len() as f64
        };
        Ok(match *self {
            Self::ClipScore => mean(&|cosine| 2.5 * cosine.max(0.0)),
            Self::Torchmetrics => mean(&|cosine| 100.0 * cosine).max(0.0),
            Self::LogitScale { logit_scale } => {
                require_finite("clip score: logit scale", &[logit_scale, logit_scale.exp()])?;
                mean(&|cosine| logit_scale.exp() * cosine)
            }
            Self::RawCosine | Self::Hps => mean(&|cosine| cosine),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;
    use crate::statistic::Statistic;

    fn scores(cosines: &[f64]) -> CosineScores {
        CosineScores::try_from(cosines.to_vec()).unwrap()
    }

    fn check(scaling: ClipScaling, cosines: &[f64], expected: f64) {
        let got = scaling.of_set(&scores(cosines)).unwrap();
        assert!((got - expected).abs() < 1e-12, "{scaling:?} of {cosines:?}: {got}, expected {expected}");
    }

    #[test]
    fn each_scale_follows_its_formula_where_cosines_change_sign() {
        check(ClipScaling::ClipScore, &[0.3, -0.1, 0.4], 2.5 * 0.7 / 3.0);
        check(ClipScaling::Torchmetrics, &[0.3, -0.1, 0.4], 20.0);
        check(ClipScaling::LogitScale { logit_scale: 100_f64.ln() }, &[0.3, -0.1, 0.4], 20.0);
        check(ClipScaling::RawCosine, &[0.3, -0.1, 0.4], 0.2);
        check(ClipScaling::Hps, &[0.3, -0.1, 0.4], 0.2);
    }

    #[test]
    fn torchmetrics_clamps_the_mean_and_clipscore_each_picture() {
        check(ClipScaling::Torchmetrics, &[0.1, -0.3], 0.0);
        check(ClipScaling::ClipScore, &[0.1, -0.3], 0.125);
        check(ClipScaling::RawCosine, &[0.1, -0.3], -0.1);
    }

    #[test]
    fn merged_shards_have_the_score_of_the_whole() {
        let cosines: Vec<f64> = (0..40).map(|i| (f64::from(i) * 0.9).sin() / 4.0).collect();
        let mut parts = scores(&cosines[..13]);
        parts.merge(&scores(&cosines[13..])).unwrap();
        for scaling in [ClipScaling::ClipScore, ClipScaling::Torchmetrics, ClipScaling::RawCosine] {
            assert_eq!(scaling.of_set(&parts).unwrap(), scaling.of_set(&scores(&cosines)).unwrap());
        }
    }

    #[test]
    fn no_picture_and_no_finite_scale_have_no_score() {
        assert!(ClipScaling::RawCosine.of_set(&scores(&[])).is_err());
        assert!(ClipScaling::LogitScale { logit_scale: 1e9 }.of_set(&scores(&[0.3])).is_err());
    }
}
