//! Gumbel noise that belongs to an image: the token of a distribution `P` at a position is the largest of
//! `log P(v) + G(position, v)`, which has the distribution `P`.
//!
//! Two distributions that are drawn by the same noise give the same token with probability at least
//! `(1 - TV) / (1 + TV)` (Daliri, Musco and Suresh, arXiv 2408.07978). SCD couples the iterations of a Jacobi window this way.
//! With coupled seeds ([`Uniforms::coupled`]) the target's own tokens are drawn so too, whoever drafted: every lossless method
//! then gives the image of plain decoding, token for token, as far as its forwards give the same logits.

use std::collections::BTreeMap;

use crate::{
    dist::{BLOCK, Dist, TokenId},
    method::Works,
    rng::{Purpose, Uniforms},
};

/// The work that noise of the image is from.
pub(crate) const WORKS: Works = Works { method: "coupled seeds", cite: &["daliri2024"] };

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
        let row = self.row(distribution, uniforms, left);
        // A division in f32 is off by 2^-24 of itself: which blocks can hold the least is settled so, which token by f64.
        const SLACK: f32 = 1.0 + 1e-6;
        let blocks = || distribution.probs().chunks(BLOCK).zip(row.chunks(BLOCK));
        let of_blocks: Vec<f32> = blocks().map(|(probs, waiting)| least_arrival(probs, waiting)).collect();
        let limit = SLACK * of_blocks.iter().copied().fold(f32::INFINITY, f32::min);
        let mut first: Option<(f64, usize)> = None;
        for (at, (probs, waiting)) in blocks().enumerate().filter(|&(at, _)| of_blocks[at] <= limit) {
            for (v, (&p, &waiting)) in probs.iter().zip(waiting).enumerate().filter(|(_, (p, _))| 0.0 < **p) {
                let arrival = f64::from(waiting) / f64::from(p);
                if first.is_none_or(|(earliest, _)| arrival < earliest) {
                    first = Some((arrival, at * BLOCK + v));
                }
            }
        }
        let (_, token) = first.expect("a distribution has a token of positive probability");
        TokenId(token as u32)
    }

    /// The noise of the position `left`, drawn wherever `distribution` is positive.
    fn row(&mut self, distribution: &Dist, uniforms: &Uniforms, left: usize) -> &[f32] {
        let row = self.rows.entry(left).or_insert_with(|| vec![f32::NAN; distribution.len()]);
        let blocks = distribution.probs().chunks(BLOCK).zip(row.chunks_mut(BLOCK));
        for (at, (probs, waiting)) in blocks.enumerate() {
            let is_missing = |(p, waiting): (&f32, &f32)| (0.0 < *p) & waiting.is_nan();
            if !probs.iter().zip(&*waiting).fold(false, |any, entry| any | is_missing(entry)) {
                continue;
            }
            for (v, (p, waiting)) in probs.iter().zip(waiting).enumerate() {
                if is_missing((p, waiting)) {
                    let id = (at * BLOCK + v) as u32;
                    *waiting = -uniforms.uniform(Purpose::Gumbel, left as u32, id).ln() as f32;
                }
            }
        }
        row
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
        let row = self.row(distribution, uniforms, left);
        let mut arrivals: Vec<(f64, u32)> = Vec::new();
        for ((id, &p), waiting) in (0_u32..).zip(distribution.probs()).zip(row) {
            if p <= 0.0 {
                continue;
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

/// The least of `waiting / probs` in f32, eight interleaved minima; NaN, where nothing was drawn, counts as nothing.
fn least_arrival(probs: &[f32], waiting: &[f32]) -> f32 {
    let mut lanes = [f32::INFINITY; 8];
    let ((probs, rest_of_probs), (waiting, rest)) = (probs.as_chunks::<8>(), waiting.as_chunks::<8>());
    for (probs, waiting) in probs.iter().zip(waiting) {
        for at in 0..8 {
            let arrival = waiting[at] / probs[at];
            lanes[at] = if arrival < lanes[at] { arrival } else { lanes[at] };
        }
    }
    for (lane, (p, waiting)) in lanes.iter_mut().zip(rest_of_probs.iter().zip(rest)) {
        let arrival = waiting / p;
        *lane = if arrival < *lane { arrival } else { *lane };
    }
    lanes.into_iter().fold(f32::INFINITY, f32::min)
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
    fn the_first_of_many_is_found_in_any_block() {
        for seed in 0..500 {
            let uniforms = Uniforms::new(seed);
            let weight =
                |v: u32| uniforms.uniform(Purpose::Init, 0, v).powi(8) as f32 * f32::from(v % 3 != 1);
            let distribution = Dist::from_weights((0..300).map(weight).collect()).unwrap();
            let noise = || Noise::default();
            let expected = noise().first_n(&distribution, &uniforms, 5, 2);
            assert_eq!(noise().first(&distribution, &uniforms, 5), expected[0]);
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
