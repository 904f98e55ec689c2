//! CLIP-style scores: the cosine of an image embedding and a text embedding, and its mean over images.
//!
//! The raw cosine is what is kept. The published scalings are views of it: times 100 (torchmetrics, mean clamped at 0),
//! 2.5 times the cosine clamped at 0 by image (Hessel et al. 2021, CLIPScore).

use serde::{Deserialize, Serialize};

use crate::averages::{arithmetic_mean, standard_error};
use crate::error::{StatsError, require_finite};
use crate::statistic::Statistic;

/// How far rounding may carry a cosine of f32 embeddings past one.
const COSINE_SLACK: f64 = 1e-5;

/// Returns the cosine of two embeddings, `[d]` each, in `[-1, 1]`, summed in f64.
///
/// # Errors
/// Unequal lengths, non-finite entries, and an embedding of length zero.
pub fn cosine(image: &[f32], text: &[f32]) -> Result<f64, StatsError> {
    if image.len() != text.len() {
        let what = "cosine: entries of the text embedding";
        return Err(StatsError::WrongSize { what, expected: image.len(), found: text.len() });
    }
    let (mut dot, mut image_square, mut text_square) = (0.0, 0.0, 0.0);
    for (&a, &b) in image.iter().zip(text) {
        let (a, b) = (f64::from(a), f64::from(b));
        dot += a * b;
        image_square += a * a;
        text_square += b * b;
    }
    require_finite("cosine: squared lengths of image and text embedding", &[image_square, text_square])?;
    for (at, square) in [image_square, text_square].into_iter().enumerate() {
        if square == 0.0 {
            let what = "cosine: squared lengths of image and text embedding";
            return Err(StatsError::OutOfRange { what, at, value: square, range: "a number above 0" });
        }
    }
    Ok((dot / (image_square.sqrt() * text_square.sqrt())).clamp(-1.0, 1.0))
}

/// The cosines of images in plan order. Merging appends, so the value does not depend on how images were sharded.
// Invariant: every cosine is finite and within `COSINE_SLACK` of `[-1, 1]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Vec<f64>", into = "Vec<f64>")]
pub struct CosineScores {
    cosines: Vec<f64>,
}

/// The mean cosine over images.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreMean {
    /// Mean raw cosine, in `[-1, 1]`.
    pub value: f64,
    /// Standard error of the mean over images; absent for one image, which has no spread.
    pub standard_error: Option<f64>,
    /// Mean of `2.5 max(cosine, 0)` over images (CLIPScore).
    pub clip_score: f64,
    /// Images.
    pub n: usize,
}

impl CosineScores {
    /// The cosines in plan order.
    #[must_use]
    pub fn cosines(&self) -> &[f64] {
        &self.cosines
    }
}

impl Statistic for CosineScores {
    type Observation = f64;
    type Value = ScoreMean;

    fn push(&mut self, observation: &f64) -> Result<(), StatsError> {
        check_cosine(self.cosines.len(), *observation)?;
        self.cosines.push(*observation);
        Ok(())
    }

    fn merge(&mut self, later: &Self) -> Result<(), StatsError> {
        self.cosines.extend_from_slice(&later.cosines);
        Ok(())
    }

    fn value(&self) -> Result<ScoreMean, StatsError> {
        let value = arithmetic_mean(&self.cosines)?;
        let n = self.cosines.len();
        let standard_error = if n > 1 { Some(standard_error(&self.cosines)?) } else { None };
        let clip_score = 2.5 * self.cosines.iter().map(|cosine| cosine.max(0.0)).sum::<f64>() / n as f64;
        Ok(ScoreMean { value, standard_error, clip_score, n })
    }
}

impl TryFrom<Vec<f64>> for CosineScores {
    type Error = StatsError;

    fn try_from(cosines: Vec<f64>) -> Result<Self, StatsError> {
        for (at, &cosine) in cosines.iter().enumerate() {
            check_cosine(at, cosine)?;
        }
        Ok(Self { cosines })
    }
}

impl From<CosineScores> for Vec<f64> {
    fn from(scores: CosineScores) -> Self {
        scores.cosines
    }
}

fn check_cosine(at: usize, cosine: f64) -> Result<(), StatsError> {
    if cosine.abs() <= 1.0 + COSINE_SLACK {
        return Ok(());
    }
    let range = "a cosine in [-1, 1]; divide a score scaled by 100 first";
    Err(StatsError::OutOfRange { what: "cosine scores", at, value: cosine, range })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    fn scores(cosines: &[f64]) -> CosineScores {
        CosineScores::try_from(cosines.to_vec()).unwrap()
    }

    #[test]
    fn the_mean_keeps_negative_cosines_and_the_clip_score_clamps_each() {
        let value = scores(&[0.3, -0.1, 0.4]).value().unwrap();
        assert!((value.value - 0.2).abs() < 1e-15);
        assert!((value.clip_score - 2.5 * 0.7 / 3.0).abs() < 1e-15);
        // Deviations .1, -.3, .2: variance .14 / 2, over 3 images.
        assert!((value.standard_error.unwrap() - (0.07_f64 / 3.0).sqrt()).abs() < 1e-15);
    }

    #[test]
    fn any_cut_into_shards_gives_the_same_digits() {
        let cosines: Vec<f64> = (0..50).map(|i| (f64::from(i) * 0.7).sin() / 3.0).collect();
        let whole = scores(&cosines).value().unwrap();
        for cut in [1, 17, 49] {
            let mut parts = scores(&cosines[..cut]);
            parts.merge(&scores(&cosines[cut..])).unwrap();
            assert_eq!(parts.value().unwrap(), whole);
        }
    }

    #[test]
    fn one_image_has_a_mean_but_no_standard_error_and_none_has_neither() {
        assert_eq!(scores(&[0.25]).value().unwrap().standard_error, None);
        assert!(scores(&[]).value().is_err());
    }

    #[test]
    fn a_scaled_score_or_nan_is_not_taken_for_a_cosine() {
        let mut state = scores(&[0.3]);
        assert!(state.push(&31.2).is_err());
        assert!(state.push(&f64::NAN).is_err());
        assert_eq!(state, scores(&[0.3]));
    }

    #[test]
    fn the_cosine_ignores_length_and_refuses_a_zero_vector() {
        assert!((cosine(&[3.0, 4.0], &[30.0, 40.0]).unwrap() - 1.0).abs() < 1e-15);
        assert!((cosine(&[1.0, 0.0], &[1.0, 1.0]).unwrap() - 0.5_f64.sqrt()).abs() < 1e-15);
        assert!(cosine(&[0.0, 0.0], &[1.0, 1.0]).is_err());
        assert!(cosine(&[1.0], &[1.0, 1.0]).is_err());
    }

    #[test]
    fn lengths_of_both_sides_are_taken_out() {
        let found = cosine(&[3.0, 4.0], &[5.0, 12.0]).unwrap();
        assert!((found - 63.0 / 65.0).abs() < 1e-15, "{found}");
    }

    #[test]
    fn scores_become_their_cosines_and_hardly_more_than_one_is_refused() {
        let cosines = vec![0.25, -1.0, 1.0 + 0.9 * COSINE_SLACK];
        assert_eq!(Vec::from(CosineScores::try_from(cosines.clone()).unwrap()), cosines);
        assert!(CosineScores::try_from(vec![1.0 + 1.1 * COSINE_SLACK]).is_err());
    }
}
