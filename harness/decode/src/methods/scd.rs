//! Speculative coupled decoding: what a Jacobi window draws anew stays close to what it held (SCD, also MC-SJD, arXiv
//! 2510.24211; facts from a reading note and from the code junhyukso/SCD).
//!
//! A position that the walk has not settled gets a token of the target's newest distribution `P`. SJD draws it
//! independently of the token `t` that was there, which came from `Q`. A coupling has both distributions and makes the two
//! tokens equal more often, so more guesses live long enough to be accepted. Either way the new token has the distribution
//! `P` given all tokens before it, and `P` is what it is tested against: the method is lossless. The released code of SCD
//! tests a kept token against `Q`, which is not.

use serde::{Deserialize, Serialize};

use crate::{
    dist::{Dist, TokenId},
    method::Works,
    noise::Noise,
    rng::{Purpose, Uniforms, slot},
};

/// The work that the couplings is from.
pub(crate) const WORKS: Works = Works { method: "scd", cite: &["so2026scd"] };

/// Tokens of the new distribution that are tried before the residual is summed.
const TRIES: usize = 2;

/// How the token of an unsettled position depends on the one before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Couple {
    /// Not at all (SJD).
    #[default]
    Independent,
    /// `t` stays with probability `min(1, P(t) / Q(t))`, else the new token is of `norm((P - Q)+)`: they are equal as often
    /// as two tokens of `P` and `Q` can be.
    Maximal,
    /// Each is the largest of `log P(v) + G(position, v)`, where the Gumbel noise `G` is the image's: no table of `Q`.
    Gumbel,
}

/// A place of the window whose token is drawn anew.
pub(crate) struct Redrawn<'a> {
    pub(crate) uniforms: &'a Uniforms,
    pub(crate) step: u32,
    /// Place in the window.
    pub(crate) place: usize,
    /// Tokens that the image misses from its position on.
    pub(crate) left: usize,
}

impl Redrawn<'_> {
    /// The `nth` draw of this place.
    fn uniform(&self, purpose: Purpose, nth: usize) -> f64 {
        self.uniforms.uniform(purpose, self.step, slot(nth, self.place))
    }

    /// A token of `norm((new - old)+)`; `None` where nothing is left. A token of `new` that stays with probability
    /// `(new - old)+ / new` is one of it. The less the two are alike the more of them stay, so a row is seldom summed.
    fn of_residual(&self, new: &Dist, old: &Dist) -> Option<TokenId> {
        for nth in (1..).step_by(2).take(TRIES) {
            let token = new.sample(self.uniform(Purpose::Couple, nth));
            let [p, q] = [new, old].map(|dist| f64::from(dist.prob(token)));
            if self.uniform(Purpose::Couple, nth + 1) * p < p - q {
                return Some(token);
            }
        }
        new.sample_residual(old, self.uniform(Purpose::Draft, 0))
    }
}

impl Couple {
    /// As specs and lines name it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Independent => "independent",
            Self::Maximal => "maximal",
            Self::Gumbel => "gumbel",
        }
    }

    /// A token of `new`. `old`: the token that was there, and what it was drawn from; absent where nothing was.
    pub(crate) fn draw(
        self,
        new: &Dist,
        old: Option<(TokenId, &Dist)>,
        at: &Redrawn<'_>,
        noise: &mut Noise,
    ) -> TokenId {
        match (self, old) {
            (Self::Gumbel, _) => noise.first(new, at.uniforms, at.left),
            (Self::Maximal, Some((token, drawn_from))) => {
                let u = at.uniform(Purpose::Couple, 0);
                if u * f64::from(drawn_from.prob(token)) < f64::from(new.prob(token)) {
                    return token;
                }
                // Nothing is left where rounding alone rejected.
                at.of_residual(new, drawn_from).unwrap_or(token)
            }
            (Self::Independent, _) | (Self::Maximal, None) => new.sample(at.uniform(Purpose::Draft, 0)),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    const N: u32 = 40_000;

    fn drawn(couple: Couple, seed: u64, new: &Dist, old: Option<(TokenId, &Dist)>, step: u32) -> TokenId {
        let uniforms = Uniforms::new(seed);
        let at = Redrawn { uniforms: &uniforms, step, place: 2, left: 7 };
        couple.draw(new, old, &at, &mut Noise::default())
    }

    /// Share of seeds whose tokens of `p` and `q` are equal, and shares of the tokens of `q`.
    fn shares(couple: Couple, p: &Dist, q: &Dist) -> (f64, Vec<f64>) {
        let (mut n_equal, mut counts) = (0, vec![0; q.len()]);
        for seed in 0..u64::from(N) {
            let old = drawn(couple, seed, p, None, 0);
            let new = drawn(couple, seed, q, Some((old, p)), 1);
            n_equal += u32::from(old == new);
            counts[new.idx()] += 1;
        }
        (
            f64::from(n_equal) / f64::from(N),
            counts.into_iter().map(|n: u32| f64::from(n) / f64::from(N)).collect(),
        )
    }

    #[test]
    fn the_new_token_has_the_new_distribution_and_is_equal_as_often_as_the_coupling_says() {
        let dist = |weights: [f32; 4]| Dist::from_weights(weights.to_vec()).unwrap();
        let (p, q) = (dist([0.5, 0.3, 0.2, 0.0]), dist([0.2, 0.3, 0.1, 0.4]));
        // 1 - TV is 0.6. Independent: 0.5 * 0.2 + 0.3 * 0.3 + 0.2 * 0.1. Gumbel: sum over v of
        // 1 / sum over w of max(p_w / p_v, q_w / q_v), with p = 0 left out.
        let gumbel: f64 = (0..3)
            .map(|v| {
                let ratio = |w: usize| {
                    let of = |d: &Dist| f64::from(d.probs()[w]) / f64::from(d.probs()[v]);
                    of(&p).max(of(&q))
                };
                1.0 / (0..4).map(ratio).sum::<f64>()
            })
            .sum();
        for (couple, equal) in [(Couple::Independent, 0.21), (Couple::Maximal, 0.6), (Couple::Gumbel, gumbel)]
        {
            let (share, of_new) = shares(couple, &p, &q);
            // Standard errors of a share are at most 0.0025; 4.5 of them.
            assert!((share - equal).abs() < 0.0113, "{couple:?}: equal in {share}, expected {equal}");
            for (found, &expected) in of_new.iter().zip(q.probs()) {
                assert!((found - f64::from(expected)).abs() < 0.0113, "{couple:?}: {of_new:?}");
            }
        }
    }

    #[test]
    fn a_token_of_the_residual_has_its_distribution_whether_a_try_stays_or_the_row_is_summed() {
        let new = Dist::from_weights(vec![0.3, 0.05, 0.25, 0.1, 0.2, 0.1]).unwrap();
        let old = Dist::from_weights(vec![0.05, 0.3, 0.1, 0.3, 0.15, 0.1]).unwrap();
        // 0.45 of the tries stay, so the row is summed for 0.3 of the tokens.
        let residual = [0.25, 0.0, 0.15, 0.0, 0.05, 0.0].map(|left: f64| left / 0.45);
        let mut counts = [0_u32; 6];
        for seed in 0..u64::from(N) {
            let uniforms = Uniforms::new(seed);
            let at = Redrawn { uniforms: &uniforms, step: 1, place: 2, left: 7 };
            counts[at.of_residual(&new, &old).unwrap().idx()] += 1;
        }
        for (n, expected) in counts.into_iter().zip(residual) {
            assert!((f64::from(n) / f64::from(N) - expected).abs() < 0.0113, "{counts:?}");
        }
        let uniforms = Uniforms::new(1);
        let at = Redrawn { uniforms: &uniforms, step: 1, place: 2, left: 7 };
        assert_eq!(at.of_residual(&new, &new), None);
    }

    #[test]
    fn point_masses_give_their_token() {
        let (p, q) = (Dist::one_hot(5, TokenId(1)), Dist::one_hot(5, TokenId(4)));
        for couple in [Couple::Independent, Couple::Maximal, Couple::Gumbel] {
            assert_eq!(drawn(couple, 3, &q, Some((TokenId(1), &p)), 1), TokenId(4), "{couple:?}");
            assert_eq!(drawn(couple, 3, &p, Some((TokenId(1), &p)), 1), TokenId(1), "{couple:?}");
        }
    }
}
