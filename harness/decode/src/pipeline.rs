//! The probability pipeline: from two rows of logits to one distribution, in plain Rust.
//!
//! The order is fixed: guidance on the raw logits, temperature, top-k and top-p, softmax. Filtering before
//! guidance would change the support. Target and drafter go through the same pipeline. This is the
//! reference that the tensor version is checked against, and what the [toy](crate::toy) uses.

use serde::{Deserialize, Serialize};

use crate::dist::{Dist, TokenId};

/// The order of the two filters; immaterial at `top_p = 1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FilterOrder {
    /// Top-k, then top-p of what is left (LlamaGen, `generate` of transformers); our default.
    TopKThenTopP,
    /// Top-p, then top-k (how EAGLE, LANTERN and VVS put the warpers of transformers together).
    TopPThenTopK,
}

impl FilterOrder {
    /// All orders with their names in specs.
    pub const ALL: [(&'static str, Self); 2] =
        [("top-k-then-top-p", Self::TopKThenTopP), ("top-p-then-top-k", Self::TopPThenTopK)];
}

/// From logits to the distribution that tokens are drawn from, as a spec has it; target and drafter share it. The
/// arithmetic is in `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// Temperature, 0 to [`MOST_SCALE`]; at most [`GREEDY_BELOW`] is greedy.
    pub temperature: f64,
    /// Logits strictly below the k-th largest are dropped, so ties at that value survive; 0 keeps all.
    pub top_k: u32,
    /// The smallest prefix of cumulative probability above `top_p` is kept, the crossing token included; in `(0, 1]`,
    /// 1 is off. A token behind exactly `top_p` is kept, as in LlamaGen; transformers removes it, and of tied tokens
    /// keeps the highest ids instead of the lowest.
    pub top_p: f64,
    /// Classifier-free guidance scale `s`, 0 to [`MOST_SCALE`]: `L = Lu + s * (Lc - Lu)`. At 1 it is off, and the unconditional
    /// row is not used.
    pub guidance: f64,
    /// Which filter comes first.
    pub filter_order: FilterOrder,
    /// Whether tokens are drawn by noise that belongs to the image: every lossless method then gives the image of plain
    /// decoding, as [`Uniforms::coupled`](crate::rng::Uniforms::coupled) says.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub coupled: bool,
}

impl Sampling {
    /// Whether decoding takes the argmax.
    #[must_use]
    pub fn is_greedy(&self) -> bool {
        self.temperature as f32 <= GREEDY_BELOW
    }

    /// How a drafter's logits become distributions: as the target's, but in greedy decoding the distribution at
    /// temperature 1 without filters, by which candidates are ranked.
    #[must_use]
    pub fn of_drafts(&self) -> Self {
        if self.is_greedy() { Self { temperature: 1.0, top_k: 0, top_p: 1.0, ..*self } } else { *self }
    }
}

/// Temperatures up to this one decode greedily: argmax, ties to the lowest id.
pub const GREEDY_BELOW: f32 = 1e-5;

/// Largest temperature and guidance: what is computed with them in `f32` stays finite for logits up to 1e20.
pub const MOST_SCALE: f64 = 1e9;

/// The distribution of the next token, from the conditional row `[n_vocab]` and, under guidance, the unconditional one.
///
/// # Panics
/// If the rows differ in length, or guidance is not 1 and there is no unconditional row.
#[must_use]
pub fn distribution(conditional: &[f32], unconditional: Option<&[f32]>, sampling: &Sampling) -> Dist {
    let mut logits = guided(conditional, unconditional, sampling.guidance as f32);
    if sampling.is_greedy() {
        return Dist::one_hot(logits.len(), argmax(&logits));
    }
    for logit in &mut logits {
        *logit /= sampling.temperature as f32;
    }
    match sampling.filter_order {
        FilterOrder::TopKThenTopP => {
            keep_top_k(&mut logits, sampling.top_k as usize);
            keep_top_p(&mut logits, sampling.top_p as f32);
        }
        FilterOrder::TopPThenTopK => {
            keep_top_p(&mut logits, sampling.top_p as f32);
            keep_top_k(&mut logits, sampling.top_k as usize);
        }
    }
    Dist::from_probs(softmax(&logits))
}

fn guided(conditional: &[f32], unconditional: Option<&[f32]>, guidance: f32) -> Vec<f32> {
    if guidance == 1.0 {
        return conditional.to_vec();
    }
    let unconditional = unconditional.expect("guidance other than 1 needs the unconditional row");
    assert_eq!(conditional.len(), unconditional.len(), "both guidance rows cover one vocabulary");
    conditional.iter().zip(unconditional).map(|(&c, &u)| u + guidance * (c - u)).collect()
}

fn argmax(logits: &[f32]) -> TokenId {
    let mut best = 0;
    for (v, &logit) in logits.iter().enumerate() {
        if logits[best] < logit {
            best = v;
        }
    }
    TokenId(best as u32)
}

fn keep_top_k(logits: &mut [f32], top_k: usize) {
    if top_k == 0 || logits.len() <= top_k {
        return;
    }
    let mut sorted = logits.to_vec();
    let (_, &mut threshold, _) = sorted.select_nth_unstable_by(top_k - 1, |a, b| b.total_cmp(a));
    for logit in logits {
        if *logit < threshold {
            *logit = f32::NEG_INFINITY;
        }
    }
}

fn keep_top_p(logits: &mut [f32], top_p: f32) {
    if 1.0 <= top_p {
        return;
    }
    let probs = softmax(logits);
    let mut ranked: Vec<usize> = (0..logits.len()).collect();
    ranked.sort_by(|&a, &b| probs[b].total_cmp(&probs[a]).then(a.cmp(&b)));
    let mut before = 0.0_f64;
    for v in ranked {
        if f64::from(top_p) < before {
            logits[v] = f32::NEG_INFINITY;
        }
        before += f64::from(probs[v]);
    }
}

fn softmax(logits: &[f32]) -> Vec<f32> {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let weights: Vec<f32> = logits.iter().map(|&logit| (logit - max).exp()).collect();
    let total: f64 = weights.iter().map(|&w| f64::from(w)).sum();
    weights.into_iter().map(|w| (f64::from(w) / total) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: Sampling = Sampling {
        guidance: 1.0,
        temperature: 1.0,
        top_k: 0,
        top_p: 1.0,
        filter_order: FilterOrder::TopKThenTopP,
        coupled: false,
    };

    #[track_caller]
    fn check(sampling: Sampling, conditional: &[f32], unconditional: Option<&[f32]>, expected: &[f32]) {
        let found = distribution(conditional, unconditional, &sampling);
        let distance = found.probs().iter().zip(expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(distance < 1e-6, "expected {expected:?}, found {:?}", found.probs());
    }

    /// Logits whose softmax is `probs`.
    fn logits<const N: usize>(probs: [f32; N]) -> [f32; N] {
        probs.map(f32::ln)
    }

    #[test]
    fn without_settings_it_is_the_softmax_of_the_conditional_row() {
        check(PLAIN, &logits([0.1, 0.2, 0.3, 0.4]), Some(&[9.0, 0.0, 0.0, 0.0]), &[0.1, 0.2, 0.3, 0.4]);
    }

    #[test]
    fn guidance_moves_away_from_the_unconditional_row() {
        // L = u + 3 (c - u): [0, 3, -3] for c = [1, 2, 0], u = [1.5, 1.5, 1.5] less 1.5.
        let z = 1.0 + 3_f32.exp() + (-3_f32).exp();
        let expected = [(-1.5_f32).exp(), 1.5_f32.exp(), (-4.5_f32).exp()].map(|w| w * 1.5_f32.exp() / z);
        check(Sampling { guidance: 3.0, ..PLAIN }, &[1.0, 2.0, 0.0], Some(&[1.5; 3]), &expected);
    }

    #[test]
    fn at_the_ends_of_their_ranges_guidance_and_temperature_give_a_distribution() {
        let coldest = f64::from(GREEDY_BELOW.next_up());
        for (guidance, temperature) in [(MOST_SCALE, coldest), (0.0, MOST_SCALE), (MOST_SCALE, MOST_SCALE)] {
            let sampling = Sampling { guidance, temperature, ..PLAIN };
            let found = distribution(&[1e20, -1e20, 3.0], Some(&[-1e20, 1e20, f32::MIN_POSITIVE]), &sampling);
            assert!(found.probs().iter().all(|p| p.is_finite()), "{sampling:?}: {:?}", found.probs());
        }
    }

    #[test]
    fn guidance_comes_before_the_filter() {
        // Conditional alone ranks token 0 first; guided logits are [-1, 4, 0.5], so top-1 keeps token 1.
        let sampling = Sampling { guidance: 3.0, top_k: 1, ..PLAIN };
        check(sampling, &[2.0, 1.0, 0.5], Some(&[3.5, -0.5, 0.5]), &[0.0, 1.0, 0.0]);
    }

    #[test]
    fn temperature_divides_the_logits() {
        check(Sampling { temperature: 2.0, ..PLAIN }, &logits([0.64, 0.36]), None, &[0.8 / 1.4, 0.6 / 1.4]);
    }

    #[test]
    fn ties_at_the_kth_value_survive_top_k() {
        let third = 1.0 / 3.0;
        check(Sampling { top_k: 2, ..PLAIN }, &[1.0, 1.0, 0.0, 1.0], None, &[third, third, 0.0, third]);
    }

    #[test]
    fn the_token_that_crosses_top_p_is_kept() {
        check(
            Sampling { top_p: 0.55, ..PLAIN },
            &logits([0.1, 0.5, 0.4]),
            None,
            &[0.0, 5.0 / 9.0, 4.0 / 9.0],
        );
        check(Sampling { top_p: 0.45, ..PLAIN }, &logits([0.1, 0.5, 0.4]), None, &[0.0, 1.0, 0.0]);
    }

    #[test]
    fn a_token_behind_exactly_top_p_of_the_mass_is_kept() {
        // Powers of two, whose softmax is exact; the rule is the reference's `cumulative - own > top_p`.
        check(Sampling { top_p: 0.5, ..PLAIN }, &[0.0; 4], None, &[1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0, 0.0]);
    }

    #[test]
    fn logits_beyond_the_range_of_exp_keep_their_distribution_under_top_p() {
        check(Sampling { top_p: 0.7, ..PLAIN }, &[90.0, 90.0, 60.0], None, &[0.5, 0.5, 0.0]);
    }

    #[test]
    fn the_filter_order_matters_only_when_both_are_on() {
        // Top-2 first leaves [5/9, 4/9]: 0.55 is crossed at once. Top-p first keeps both.
        let probs = logits([0.1, 0.5, 0.4]);
        let both = Sampling { top_k: 2, top_p: 0.55, ..PLAIN };
        check(both, &probs, None, &[0.0, 1.0, 0.0]);
        let swapped = Sampling { filter_order: FilterOrder::TopPThenTopK, ..both };
        check(swapped, &probs, None, &[0.0, 5.0 / 9.0, 4.0 / 9.0]);
    }

    #[test]
    fn a_temperature_near_zero_is_the_argmax_with_ties_to_the_lowest_id() {
        check(Sampling { temperature: 1e-5, ..PLAIN }, &[0.0, 2.0, 2.0], None, &[0.0, 1.0, 0.0]);
    }

    #[test]
    fn greedy_candidates_are_ranked_by_the_distribution_without_temperature_and_filters() {
        let warm = Sampling { guidance: 3.0, temperature: 0.7, top_k: 9, top_p: 0.8, ..PLAIN };
        assert_eq!(warm.of_drafts(), warm);
        let greedy = Sampling { temperature: 0.0, ..warm };
        assert_eq!(greedy.of_drafts(), Sampling { guidance: 3.0, ..PLAIN });
    }
}
