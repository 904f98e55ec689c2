//! Gumbel noise that belongs to an image: the token of a distribution `P` at a position is the largest of
//! `log P(v) + G(position, v)`, which has the distribution `P`.
//!
//! Two distributions that are drawn by the same noise give the same token with probability at least
//! `(1 - TV) / (1 + TV)` (Daliri, Musco and Suresh, arXiv 2408.07978). SCD couples the iterations of a Jacobi window this way.
//! With coupled seeds ([`Uniforms::coupled`]) the target's own tokens are drawn so too, whoever drafted: every lossless method
//! then gives the image of plain decoding, token for token, as far as its forwards give the same logits.

use std::collections::BTreeMap;

use crate::{
    dist::{Dist, TokenId},
    rng::{Purpose, Uniforms},
};

/// Noise of positions, as `-ln u` for every token: drawn when it is first needed, since a window draws a position in many
/// iterations. A position is addressed by the tokens that the image misses from it on, its own included.
#[derive(Default)]
pub(crate) struct Noise {
    /// By position, `[n_vocab]`; NaN where nothing was drawn yet.
    rows: BTreeMap<usize, Vec<f32>>,
}

impl Noise {
    /// Keeps the noise of positions from which on at most `left` tokens are missing.
    pub(crate) fn keep_within(&mut self, left: usize) {
        drop(self.rows.split_off(&(left + 1)));
    }

    /// The token of `distribution` at the position `left`.
    pub(crate) fn first(&mut self, distribution: &Dist, uniforms: &Uniforms, left: usize) -> TokenId {
        self.first_n(distribution, uniforms, left, 1)[0]
    }

    /// The `n` largest, or all that are possible, with the largest first; ties to the lowest id. They are a draw of `n` tokens
    /// without replacement.
    pub(crate) fn first_n(
        &mut self,
        distribution: &Dist,
        uniforms: &Uniforms,
        left: usize,
        n: usize,
    ) -> Vec<TokenId> {
        let row = self.rows.entry(left).or_insert_with(|| vec![f32::NAN; distribution.len()]);
        let mut arrivals: Vec<(f64, u32)> = Vec::new();
        for ((id, &p), waiting) in (0_u32..).zip(distribution.probs()).zip(row) {
            if p <= 0.0 {
                continue;
            }
            if waiting.is_nan() {
                *waiting = -uniforms.uniform(Purpose::Gumbel, left as u32, id).ln() as f32;
            }
            // The largest of log P + G is the least of -ln(u) / P.
            let arrival = (f64::from(*waiting) / f64::from(p), id);
            if arrivals.len() < n || arrivals.last().is_some_and(|last| arrival.0 < last.0) {
                let place = arrivals.partition_point(|earlier| earlier.0 <= arrival.0);
                arrivals.insert(place, arrival);
                arrivals.truncate(n);
            }
        }
        arrivals.into_iter().map(|(_, id)| TokenId(id)).collect()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn tokens_have_their_distribution_and_come_without_replacement() {
        let distribution = Dist::from_weights(vec![0.5, 0.0, 0.3, 0.2]).unwrap();
        let mut counts = [[0_u32; 4]; 2];
        for seed in 0..40_000 {
            let order = Noise::default().first_n(&distribution, &Uniforms::new(seed), 3, 9);
            assert_eq!(order.len(), 3, "token 1 is impossible");
            assert_eq!(Noise::default().first(&distribution, &Uniforms::new(seed), 3), order[0]);
            counts[0][order[0].idx()] += 1;
            counts[1][order[1].idx()] += 1;
        }
        // Second of two draws without replacement: sum over x of p(x) p(v) / (1 - p(x)).
        let p: Vec<f64> = distribution.probs().iter().map(|&p| f64::from(p)).collect();
        let second = |v: usize| (0..4).filter(|&x| x != v).map(|x| p[x] * p[v] / (1.0 - p[x])).sum::<f64>();
        for v in 0..4 {
            let [first, next] = [0, 1].map(|rank| f64::from(counts[rank][v]) / 40_000.0);
            // 4.5 standard errors of at most 0.0025.
            assert!((first - p[v]).abs() < 0.0113 && (next - second(v)).abs() < 0.0113, "{v}: {counts:?}");
        }
    }

    #[test]
    fn a_row_is_the_same_whether_it_is_kept_or_drawn_again() {
        let (wide, narrow) = (Dist::uniform(50), Dist::from_weights(vec![1.0; 20]).unwrap());
        let narrow = Dist::from_weights([narrow.probs(), &[0.0; 30]].concat()).unwrap();
        let uniforms = Uniforms::new(4);
        let mut kept = Noise::default();
        kept.first(&narrow, &uniforms, 8);
        let expected = Noise::default().first_n(&wide, &uniforms, 8, 5);
        assert_eq!(kept.first_n(&wide, &uniforms, 8, 5), expected);
        kept.keep_within(7);
        assert!(kept.rows.is_empty());
    }
}
