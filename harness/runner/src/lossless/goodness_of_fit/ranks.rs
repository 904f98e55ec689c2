//! The place of a token in its distribution by falling probability, made continuous by a uniform number:
//! uniform and independent of all before it, whatever the distribution (the probability integral transform;
//! Rosenblatt 1952).
//!
//! Pairs of neighbouring ranks do not overlap. Overlapping ones are not independent: their statistic is no
//! chi-square of `k^2 - 1` degrees of freedom (Good, Proceedings of the Cambridge Philosophical Society 49,
//! 1953).

use std::rc::Rc;

use specimen_decode::{
    dist::{Dist, TokenId},
    rng::{Purpose, Uniforms},
};

use super::Drawn;

/// Bins of a token's rank.
const N_RANKS: usize = 20;

/// Bins of each of two neighbouring ranks.
const N_PAIR_RANKS: usize = 5;

/// Sets the random part of a rank apart from every draw of the image itself.
const RANK_KEY: u64 = 0x7261_6e6b_0000_0000;

/// Counts in cells that are equally probable under the distributions.
pub(super) struct RankCounts {
    /// `[N_RANKS]`
    pub(super) single: Vec<u64>,
    /// Of a rank and the next one, `[N_PAIR_RANKS * N_PAIR_RANKS]`.
    pub(super) pairs: Vec<u64>,
}

/// Counts the ranks of all tokens, and pairs from the first token in every second image and from the second
/// in the others, so that every position is met by the next.
pub(super) fn count(images: &[Drawn]) -> RankCounts {
    let mut counts = RankCounts { single: vec![0; N_RANKS], pairs: vec![0; N_PAIR_RANKS * N_PAIR_RANKS] };
    for (at, image) in images.iter().enumerate() {
        let ranks = ranks(at, image);
        ranks.iter().for_each(|&rank| counts.single[bin(rank, N_RANKS)] += 1);
        for pair in ranks.get(at % 2..).unwrap_or_default().chunks_exact(2) {
            counts.pairs[bin(pair[0], N_PAIR_RANKS) * N_PAIR_RANKS + bin(pair[1], N_PAIR_RANKS)] += 1;
        }
    }
    counts
}

/// The rank of each token in `[0, 1)`. `at` is the image's number.
fn ranks(at: usize, image: &Drawn) -> Vec<f64> {
    let uniforms = Uniforms::new(RANK_KEY ^ at as u64);
    let rank = |(position, (&token, distribution)): (usize, (&TokenId, &Rc<Dist>))| {
        let p = distribution.prob(token);
        let is_before = |&(id, &other): &(usize, &f32)| p < other || (p == other && id < token.idx());
        let before: f64 = distribution
            .probs()
            .iter()
            .enumerate()
            .filter(is_before)
            .map(|(_, &other)| f64::from(other))
            .sum();
        before + uniforms.uniform(Purpose::Root, position as u32, 0) * f64::from(p)
    };
    image.tokens.iter().zip(&image.distributions).enumerate().map(rank).collect()
}

/// The bin of `rank` among `n` of one size.
fn bin(rank: f64, n: usize) -> usize {
    ((rank * n as f64) as usize).min(n - 1)
}
