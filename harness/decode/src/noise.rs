//! Gumbel noise that belongs to an image: the token of a distribution `P` at a position is the largest of
//! `log P(v) + G(position, v)`, which has the distribution `P`.
//!
//! Two distributions that are drawn by the same noise give the same token with probability at least
//! `(1 - TV) / (1 + TV)` (Daliri, Musco and Suresh, arXiv 2408.07978). SCD couples the iterations of a Jacobi window this way.
//! With coupled seeds ([`Uniforms::coupled`]) the target's own tokens are drawn so too, whoever drafted: every lossless method
//! then gives the image of plain decoding, token for token, as far as its forwards give the same logits.

use std::collections::BTreeMap;

use crate::{
    dist::{BLOCK, Dist, TokenId, with_widest_vectors},
    method::Works,
    rng::{TOKENS, Uniforms},
};

/// The work that noise of the image is from.
pub(crate) const WORKS: Works = Works { method: "coupled seeds", cite: &["daliri2024"] };

/// How far token `a` is ahead of `b` in the draw of `distribution` at the position from which on `left` tokens are missing:
/// `log P(a) + G(a) - log P(b) - G(b)`, in nats. Not finite where one of them is impossible.
#[must_use]
pub fn lead(distribution: &Dist, uniforms: &Uniforms, left: usize, [a, b]: [TokenId; 2]) -> f64 {
    let score = |token: TokenId| {
        let gumbel = -(-uniforms.noise(left as u32, token.0).ln()).ln();
        f64::from(distribution.prob(token)).ln() + gumbel
    };
    score(a) - score(b)
}

/// Noise of positions, `-ln u` for every token: drawn once, since a window draws a position in many iterations. A position is
/// addressed by the tokens that the image misses from it on, its own included.
#[derive(Default)]
pub(crate) struct Noise {
    rows: BTreeMap<usize, Row>,
}

/// What is known of the noise of a position.
struct Row {
    /// Less than `-ln u` of every token, `[n_vocab]`: the logarithm is taken of those few that can be first.
    least: Vec<f32>,
    /// The least of each block of it.
    least_of_blocks: Vec<f32>,
    /// The token that was first for the last distribution: often it is the next one's too, and what comes later is passed over.
    first: TokenId,
}

impl Row {
    fn new(n_vocab: usize, uniforms: &Uniforms, left: usize) -> Self {
        let least = vec![0.0; n_vocab];
        let least_of_blocks = vec![f32::INFINITY; n_vocab.div_ceil(BLOCK)];
        with_widest_vectors(
            #[inline(always)]
            move || {
                let (mut least, mut least_of_blocks) = (least, least_of_blocks);
                // `-ln u` is above `1 - u`. Rounding in f32 is off by 2^-24 of a value, a few times.
                const UNIT: f32 = (1.0 - 1e-6) / (1 << 24) as f32;
                for (first, least) in (0..).step_by(TOKENS).zip(least.chunks_mut(TOKENS)) {
                    let bits = uniforms.first_bits_of_noise(left as u32, first);
                    for (least, u) in least.iter_mut().zip(bits) {
                        // Fewer than 32 bits, so that a signed number holds them: those become floats faster.
                        *least = (!u >> 8) as i32 as f32 * UNIT;
                    }
                }
                for (of_block, block) in least_of_blocks.iter_mut().zip(least.chunks(BLOCK)) {
                    *of_block = least_of(block);
                }
                Self { least, least_of_blocks, first: TokenId(0) }
            },
        )
    }
}

/// The least of a block.
#[inline(always)]
fn least_of(block: &[f32]) -> f32 {
    let mut lanes = [f32::INFINITY; 8];
    let (eights, rest) = block.as_chunks::<8>();
    for eight in eights {
        for (lane, &value) in lanes.iter_mut().zip(eight) {
            *lane = if value < *lane { value } else { *lane };
        }
    }
    lanes.iter().chain(rest).copied().fold(f32::INFINITY, f32::min)
}

/// Whether a token of `probs` can arrive before `limit`, given that it waits longer than `least`. A block of full length has a
/// constant one for the compiler; a shorter one is looked at anyway.
#[inline(always)]
fn can_arrive(probs: &[f32], least: &[f32], limit: f32) -> bool {
    let (Ok(probs), Ok(least)) = (<&[f32; BLOCK]>::try_from(probs), <&[f32; BLOCK]>::try_from(least)) else {
        return true;
    };
    let mut can = false;
    for at in 0..BLOCK {
        can |= least[at] < limit * probs[at];
    }
    can
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
        // The largest of log P + G is the least of -ln(u) / P.
        let arrival = |u: f64, p: f32| f64::from(-u.ln() as f32) / f64::from(p);
        let u = |id| uniforms.noise(left as u32, id);
        let row = self.rows.entry(left).or_insert_with(|| Row::new(distribution.len(), uniforms, left));
        let mut arrivals: Vec<(f64, u32)> = Vec::with_capacity(n + 1);
        // What arrives later is none of them.
        let mut limit = match n {
            1 => arrival(u(row.first.0), distribution.prob(row.first)) as f32,
            _ => f32::INFINITY,
        };
        for (block, (&sum, &least)) in distribution.block_sums().iter().zip(&row.least_of_blocks).enumerate()
        {
            // No token of a block is more probable than all of them.
            if f64::from(limit) * sum <= f64::from(least) {
                continue;
            }
            let ids = distribution.block(block);
            let (probs, least) = (&distribution.probs()[ids.clone()], &row.least[ids.clone()]);
            if !can_arrive(probs, least, limit) {
                continue;
            }
            for (id, (&p, &least)) in (ids.start as u32..).zip(probs.iter().zip(least)) {
                if limit * p <= least || p <= 0.0 {
                    continue;
                }
                let arrival = arrival(u(id), p);
                if arrivals.len() < n || arrivals.last().is_some_and(|last| arrival < last.0) {
                    let place = arrivals.partition_point(|earlier| earlier.0 <= arrival);
                    arrivals.insert(place, (arrival, id));
                    arrivals.truncate(n);
                }
                if arrivals.len() == n {
                    limit = arrivals.last().map_or(limit, |last| limit.min(last.0 as f32));
                }
            }
        }
        let tokens: Vec<TokenId> = arrivals.into_iter().map(|(_, id)| TokenId(id)).collect();
        row.first = *tokens.first().expect("a distribution has a token of positive probability");
        tokens
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::rng::Purpose;

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
    fn the_first_of_many_is_the_one_that_a_plain_scan_finds() {
        for seed in 0..200 {
            let uniforms = Uniforms::new(seed);
            let mut kept = Noise::default();
            for round in 0..4 {
                let weight = |v: u32| {
                    uniforms.uniform(Purpose::Init, round, v).powi(8) as f32 * f32::from(v % 3 != round % 3)
                };
                let distribution = Dist::from_weights((0..300).map(weight).collect()).unwrap();
                let arrival = |&id: &u32| {
                    let waiting = -uniforms.noise(5, id).ln() as f32;
                    f64::from(waiting) / f64::from(distribution.prob(TokenId(id)))
                };
                let possible = (0..300).filter(|&id| 0.0 < distribution.prob(TokenId(id)));
                let mut expected: Vec<u32> = possible.collect();
                expected.sort_by(|a, b| arrival(a).total_cmp(&arrival(b)));
                let expected: Vec<TokenId> = expected.into_iter().map(TokenId).collect();
                assert_eq!(kept.first(&distribution, &uniforms, 5), expected[0]);
                assert_eq!(kept.first_n(&distribution, &uniforms, 5, 7), expected[..7]);
                let ahead = |pair: &[TokenId]| lead(&distribution, &uniforms, 5, [pair[0], pair[1]]);
                assert!(expected[..7].windows(2).all(|pair| 0.0 < ahead(pair)));
                let ratio = arrival(&expected[6].0) / arrival(&expected[0].0);
                let found = lead(&distribution, &uniforms, 5, [expected[0], expected[6]]);
                assert!((found - ratio.ln()).abs() < 1e-5, "{found}");
            }
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
