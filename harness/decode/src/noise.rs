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

/// Noise of positions, `-ln u` for every token: what is known of it is kept, since a window draws a position in many iterations.
/// A position is addressed by the tokens that the image misses from it on, its own included.
#[derive(Default)]
pub(crate) struct Noise {
    rows: BTreeMap<usize, Row>,
    /// Rows of positions that are past: their memory is that of the next ones.
    spare: Vec<Row>,
}

/// What is known of the noise of a position.
struct Row {
    blocks: Vec<Block>,
    /// The token that was first for the last distribution: often it is the next one's too, and what comes later is passed over.
    first: TokenId,
}

/// What is known of the noise of a block of tokens, by which most blocks are passed over.
#[derive(Clone, Copy, Default)]
struct Block {
    /// The token whose noise is least.
    token: u32,
    /// Less than its noise.
    least: f32,
    /// Less than the noise of every other one.
    second: f32,
}

/// Less than `-ln u`, by the first bits of `u`: that is above `1 - u`. Rounding in f32 is off by 2^-24 of a value, a few times.
#[inline(always)]
fn least(first_bits: u32) -> f32 {
    const UNIT: f32 = (1.0 - 1e-6) / (1 << 24) as f32;
    // Fewer than 32 bits, so that a signed number holds them: those become floats faster.
    (!first_bits >> 8) as i32 as f32 * UNIT
}

/// The first bits of the noise of a block.
#[inline(always)]
fn first_bits(uniforms: &Uniforms, left: usize, first: u32) -> [u32; BLOCK] {
    let mut bits = [0; BLOCK];
    for (at, bits) in (first..).step_by(TOKENS).zip(bits.as_chunks_mut::<TOKENS>().0) {
        *bits = uniforms.first_bits_of_noise(left as u32, at);
    }
    bits
}

impl Row {
    /// The row of a position; `spare`: one whose memory it may take.
    fn new(spare: Option<Self>, n_vocab: usize, uniforms: &Uniforms, left: usize) -> Self {
        let mut blocks = spare.map_or_else(Vec::new, |row| row.blocks);
        blocks.resize(n_vocab.div_ceil(BLOCK), Block::default());
        with_widest_vectors(
            #[inline(always)]
            move || {
                let mut blocks = blocks;
                for (first, block) in (0..).step_by(BLOCK).zip(&mut blocks) {
                    let bits = first_bits(uniforms, left, first as u32);
                    *block = Block::new(first as u32, &bits, BLOCK.min(n_vocab - first));
                }
                Self { blocks, first: TokenId(0) }
            },
        )
    }
}

impl Block {
    /// The block of the `n` tokens from `first` on.
    #[inline(always)]
    fn new(first: u32, bits: &[u32; BLOCK], n: usize) -> Self {
        // The place of a token in the block takes the lowest bits, which `least` does not read.
        const PLACES: u32 = BLOCK as u32 - 1;
        let (mut one, mut two) = ([u32::MAX; 8], [u32::MAX; 8]);
        for (group, bits) in bits.as_chunks::<8>().0.iter().enumerate() {
            for lane in 0..8 {
                let place = 8 * group + lane;
                let key = if place < n { !bits[lane] & !PLACES | place as u32 } else { u32::MAX };
                two[lane] = two[lane].min(one[lane].max(key));
                one[lane] = one[lane].min(key);
            }
        }
        for n_lanes in [4, 2, 1] {
            for lane in 0..n_lanes {
                let other = lane + n_lanes;
                two[lane] = two[lane].min(two[other]).min(one[lane].max(one[other]));
                one[lane] = one[lane].min(one[other]);
            }
        }
        Self { token: first + (one[0] & PLACES), least: least(!one[0]), second: least(!two[0]) }
    }
}

/// The `n` tokens that were found to arrive first so far: the largest of `log P + G` is the least of `-ln(u) / P`.
struct Arrivals<'a> {
    probs: &'a [f32],
    uniforms: &'a Uniforms,
    left: usize,
    n: usize,
    /// Earliest first; ties to the lowest id.
    found: Vec<(f64, u32)>,
    /// What arrives later is none of them.
    limit: f32,
}

impl Arrivals<'_> {
    /// Whether a token of probability `p`, whose noise is above `least`, can be one of them.
    fn can_be(&self, p: f32, least: f32) -> bool {
        0.0 < p && (least < self.limit * p)
    }

    /// Takes in a token whose noise is above `least`, if it is one of them.
    fn take(&mut self, id: u32, least: f32) {
        let p = self.probs[id as usize];
        if !self.can_be(p, least) {
            return;
        }
        let waiting = -self.uniforms.noise(self.left as u32, id).ln();
        let arrival = (f64::from(waiting as f32) / f64::from(p), id);
        let place = self.found.partition_point(|earlier| *earlier < arrival);
        self.found.insert(place, arrival);
        self.found.truncate(self.n);
        if let Some(last) = self.found.get(self.n - 1) {
            self.limit = last.0 as f32;
        }
    }
}

impl Noise {
    /// Keeps the noise of positions from which on at most `left` tokens are missing.
    pub(crate) fn keep_within(&mut self, left: usize) {
        self.spare.extend(self.rows.split_off(&(left + 1)).into_values());
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
        let probs = distribution.probs();
        let new = || Row::new(self.spare.pop(), probs.len(), uniforms, left);
        let row = self.rows.entry(left).or_insert_with(new);
        let found = Vec::with_capacity(n + 1);
        let mut arrivals = Arrivals { probs, uniforms, left, n, found, limit: f32::INFINITY };
        arrivals.take(row.first.0, 0.0);
        let blocks = || row.blocks.iter().zip(distribution.block_tops());
        for (block, &top) in blocks() {
            if arrivals.can_be(top, block.least) && block.token != row.first.0 {
                arrivals.take(block.token, block.least);
            }
        }
        for (at, (block, &top)) in blocks().enumerate() {
            if !arrivals.can_be(top, block.second) {
                continue;
            }
            let ids = distribution.block(at);
            let first = ids.start as u32;
            let bits = with_widest_vectors(
                #[inline(always)]
                move || first_bits(uniforms, left, first),
            );
            for (id, &bits) in (first..ids.end as u32).zip(&bits) {
                if id != block.token && id != row.first.0 {
                    arrivals.take(id, least(bits));
                }
            }
        }
        let tokens: Vec<TokenId> = arrivals.found.into_iter().map(|(_, id)| TokenId(id)).collect();
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
        // In the memory of rows that are past.
        let many = Dist::uniform(300);
        for left in (0..40).rev() {
            kept.keep_within(left);
            assert_eq!(kept.first(&many, &uniforms, left), Noise::default().first(&many, &uniforms, left));
        }
    }
}
