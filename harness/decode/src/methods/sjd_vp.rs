//! SJD-VP, a RECONSTRUCTION: favour tokens whose probability rose since the last Jacobi iteration (Shan et
//! al., arXiv 2603.27115).
//!
//! Only the abstract and the captions were available: "the change of token probabilities between consecutive
//! iterations guides the sampling of drafts". How is our guess, in three modes; no equation of the paper stands
//! behind any, and no number of it may be called a reproduction. Recorded as the distribution a draft was drawn
//! from, the tilted distribution keeps the method lossless; recording the untilted one does not, and exists to show
//! that. The abstract speaks of the change of token probabilities, so a rise is measured between the target's own
//! distributions of two iterations; measured from the recorded, tilted one, a token that was favoured looks as if it
//! fell. A token whose probability was 0 counts as one that did not rise: behind top-k it only crossed the last rank, and a
//! ratio over 0 would put nearly all that is drawn on such tokens.

use std::rc::Rc;

use serde::{Deserialize, Serialize};

use crate::{
    dist::Dist,
    method::{MethodError, Works},
};

/// The work that the tilted redraw is from.
pub(crate) const WORKS: Works = Works { method: "sjd-vp", cite: &["shan2026sjdvp"] };

/// What unsettled positions of a Jacobi window are drawn from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Refresh {
    /// The target's newest distribution (SJD).
    Plain {},
    /// That distribution, tilted towards rising tokens. The word reconstruction stays with every number of it.
    VpReconstruction {
        /// How a rise becomes a weight.
        mode: Tilt,
        /// `lambda`: strength, at least 0, where it is plain SJD.
        lambda: f64,
        /// Which distribution a draft is tested against.
        law: Recorded,
        /// What a rise is measured from.
        #[serde(default)]
        from: From,
    },
}

/// How a rise of probability becomes a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tilt {
    /// `1 + lambda` for tokens that rose, 1 for others.
    Step,
    /// `max(P / previous, 1) ^ lambda`.
    Ratio,
    /// `1 + lambda max(P - previous, 0)`.
    Difference,
}

/// Which distribution a draft is tested against.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Recorded {
    /// The one it was drawn from: lossless.
    Tilted,
    /// The target's own: not lossless.
    Untilted,
}

/// Which distribution of the iteration before a rise is measured from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum From {
    /// The target's own.
    #[default]
    Target,
    /// The one that drafts were tested against, which is tilted where `law` is.
    Recorded,
}

/// Largest ratio a rise counts as.
pub const MAX_RATIO: f64 = 1e3;

/// The distribution of one unsettled position.
pub(crate) struct RefreshDistributions {
    /// The draft is drawn from it.
    pub(crate) drawn: Rc<Dist>,
    /// The draft is tested against it.
    pub(crate) recorded: Rc<Dist>,
}

/// What the iteration before left of a position.
#[derive(Clone, Copy)]
pub(crate) struct Previous<'a> {
    /// The target's own distribution.
    pub(crate) target: &'a Dist,
    /// What the draft was tested against.
    pub(crate) recorded: &'a Dist,
}

impl Refresh {
    /// Whether drafts are tested against the distribution they were drawn from.
    pub(crate) fn is_lossless(&self) -> bool {
        !matches!(self, Self::VpReconstruction { law: Recorded::Untilted, .. })
    }

    pub(crate) fn validate(&self) -> Result<(), MethodError> {
        let Self::VpReconstruction { lambda, .. } = *self else { return Ok(()) };
        let within = (0.0..=1e3).contains(&lambda);
        MethodError::check_real("refresh vp-reconstruction", "lambda", "0 to 1000", within, lambda)
    }

    /// Empty for the plain refresh.
    pub(crate) fn canonical(&self) -> String {
        let Self::VpReconstruction { mode, lambda, law, from } = self else { return String::new() };
        let mode = match mode {
            Tilt::Step => "step",
            Tilt::Ratio => "ratio",
            Tilt::Difference => "difference",
        };
        let law = match law {
            Recorded::Tilted => "tilted",
            Recorded::Untilted => "untilted",
        };
        let from = match from {
            From::Target => "target",
            From::Recorded => "recorded",
        };
        format!(",refresh=vp-reconstruction(mode={mode},lambda={lambda},law={law},from={from})")
    }

    /// The distributions of a position the target now gives `current`; `previous` is `None` if the position is new.
    pub(crate) fn distributions(
        &self,
        current: Rc<Dist>,
        previous: Option<Previous<'_>>,
    ) -> RefreshDistributions {
        let (Self::VpReconstruction { mode, lambda, law, from }, Some(previous)) = (self, previous) else {
            return RefreshDistributions { drawn: Rc::clone(&current), recorded: current };
        };
        let previous = match from {
            From::Target => previous.target,
            From::Recorded => previous.recorded,
        };
        let weight = |(&now, &before): (&f32, &f32)| {
            let rose = 0.0 < before && before < now;
            let tilt = match mode {
                Tilt::Step if rose => 1.0 + lambda,
                Tilt::Ratio if rose => (f64::from(now) / f64::from(before)).min(MAX_RATIO).powf(*lambda),
                Tilt::Difference if rose => 1.0 + lambda * (f64::from(now) - f64::from(before)),
                Tilt::Step | Tilt::Ratio | Tilt::Difference => 1.0,
            };
            f64::from(now) * tilt
        };
        let weights: Vec<f64> = current.probs().iter().zip(previous.probs()).map(weight).collect();
        // Large powers leave the range of f32, so the largest weight becomes 1.
        let most = weights.iter().copied().fold(0.0, f64::max);
        let scaled = weights.into_iter().map(|weight| (weight / most) as f32).collect();
        let drawn = Rc::new(Dist::from_weights(scaled).expect("the largest weight is 1"));
        let recorded = match law {
            Recorded::Tilted => Rc::clone(&drawn),
            Recorded::Untilted => current,
        };
        RefreshDistributions { drawn, recorded }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;

    fn distribution(weights: &[f32]) -> Rc<Dist> {
        Rc::new(Dist::from_weights(weights.to_vec()).unwrap())
    }

    fn vp(mode: Tilt, lambda: f64, law: Recorded) -> Refresh {
        Refresh::VpReconstruction { mode, lambda, law, from: From::Target }
    }

    /// The distributions after one whose target and record were `previous`.
    fn after(refresh: &Refresh, current: &[f32], previous: &[f32]) -> RefreshDistributions {
        let before = distribution(previous);
        refresh.distributions(distribution(current), Some(Previous { target: &before, recorded: &before }))
    }

    #[track_caller]
    fn check(mode: Tilt, lambda: f64, expected: [f64; 3]) {
        let found = after(&vp(mode, lambda, Recorded::Tilted), &[0.5, 0.3, 0.2], &[0.25, 0.75, 0.0]);
        let total: f64 = expected.iter().sum();
        for (p, expected) in found.drawn.probs().iter().zip(expected) {
            assert!((f64::from(*p) - expected / total).abs() < 1e-6, "{mode:?} {:?}", found.drawn.probs());
        }
        assert_eq!(found.drawn, found.recorded);
    }

    #[test]
    fn rising_tokens_gain_weight_and_falling_ones_keep_theirs() {
        check(Tilt::Step, 1.0, [1.0, 0.3, 0.2]);
        check(Tilt::Ratio, 1.0, [1.0, 0.3, 0.2]);
        check(Tilt::Ratio, 0.5, [0.5 * 2_f64.sqrt(), 0.3, 0.2]);
        check(Tilt::Step, 0.0, [0.5, 0.3, 0.2]);
        check(Tilt::Difference, 4.0, [1.0, 0.3, 0.2]);
    }

    #[test]
    fn a_token_that_neither_rose_nor_fell_keeps_its_weight() {
        let refresh = vp(Tilt::Step, 1.0, Recorded::Tilted);
        assert_eq!(after(&refresh, &[0.5, 0.25, 0.25], &[0.5, 0.4, 0.1]).drawn.probs(), [0.4, 0.2, 0.4]);
    }

    /// What top-k lets in anew must not take the draws of what was there.
    #[test]
    fn newcomers_are_drawn_no_more_often_than_the_target_draws_them() {
        let (current, previous) = ([0.4, 0.3, 0.1, 0.1, 0.1], [0.5, 0.2, 0.3, 0.0, 0.0]);
        for mode in [Tilt::Step, Tilt::Ratio, Tilt::Difference] {
            for lambda in [0.0, 0.5, 1.0, 8.0] {
                let drawn = after(&vp(mode, lambda, Recorded::Tilted), &current, &previous).drawn;
                let share = drawn.probs()[3] + drawn.probs()[4];
                assert!(share <= 0.2 + 1e-6, "{mode:?} {lambda}: {share}");
            }
        }
    }

    #[test]
    fn powers_beyond_the_range_of_f32_are_a_distribution_all_the_same() {
        let refresh = vp(Tilt::Ratio, 60.0, Recorded::Tilted);
        assert_eq!(after(&refresh, &[0.5, 0.5], &[0.01, 0.99]).drawn.probs(), [1.0, 0.0]);
    }

    #[test]
    fn a_position_seen_for_the_first_time_is_not_tilted() {
        let refresh = vp(Tilt::Step, 9.0, Recorded::Untilted);
        let current = distribution(&[0.5, 0.3, 0.2]);
        assert_eq!(refresh.distributions(Rc::clone(&current), None).drawn, current);
        let found = after(&refresh, &[0.5, 0.3, 0.2], &[0.2, 0.4, 0.4]);
        assert!(found.recorded == current && found.drawn != current);
    }

    /// `P_(t-1) = (1/4, 3/4)` was tilted to `(3/4, 1/4)`, and `P_t = (1/2, 1/2)`: by the target's own distributions
    /// token 0 rose, by the recorded one token 1 did.
    #[test]
    fn a_rise_is_of_the_targets_own_probabilities_unless_asked_otherwise() {
        let (target, recorded) = (distribution(&[0.25, 0.75]), distribution(&[0.75, 0.25]));
        for (from, expected) in [(From::Target, [0.75, 0.25]), (From::Recorded, [0.25, 0.75])] {
            let refresh =
                Refresh::VpReconstruction { mode: Tilt::Step, lambda: 2.0, law: Recorded::Tilted, from };
            let previous = Previous { target: &target, recorded: &recorded };
            let found = refresh.distributions(distribution(&[0.5, 0.5]), Some(previous));
            assert_eq!(found.drawn.probs(), expected, "{from:?}");
        }
    }
}
