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
    rng::{DRAWS, TOKENS, Uniforms},
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
    /// Memory for the blocks that a draw looks at.
    looked_at: Vec<u32>,
    /// Memory for the probabilities that a draw reads.
    read: Vec<f32>,
}

/// What is known of the noise of a position, by block of tokens: most blocks are passed over by it.
#[derive(Default)]
struct Row {
    /// The token whose noise is least.
    tokens: Vec<u32>,
    /// Less than its noise.
    least: Vec<f32>,
    /// Less than the noise of every other one.
    second: Vec<f32>,
    /// The token that was first for the last distribution, and its noise: often it is the next one's too, and what comes later is
    /// passed over.
    first: Option<(u32, f32)>,
}

/// Less than `-ln u`, by the first bits of `u`: that is above `1 - u`. Rounding in f32 is off by 2^-24 of a value, a few times.
#[inline(always)]
fn least(first_bits: u32) -> f32 {
    const UNIT: f32 = (1.0 - 1e-6) / (1 << 24) as f32;
    // Fewer than 32 bits, so that a signed number holds them: those become floats faster.
    (!first_bits >> 8) as i32 as f32 * UNIT
}

/// The draws of the block `at` from its draw `draw` on.
fn draws(at: usize, draw: usize) -> u32 {
    (at * BLOCK / TOKENS + draw) as u32
}

/// The first bits of the noise of the block `at`.
#[inline(always)]
fn first_bits(uniforms: &Uniforms, left: usize, at: usize) -> [u32; BLOCK] {
    let mut block = [0; BLOCK];
    for (part, block) in block.as_chunks_mut::<{ DRAWS * TOKENS }>().0.iter_mut().enumerate() {
        let draws = std::array::from_fn(|draw| draws(at, DRAWS * part + draw));
        for (word, bits) in uniforms.first_bits_of_noise(left as u32, draws).iter().enumerate() {
            for (draw, &bits) in bits.iter().enumerate() {
                block[TOKENS * draw + word] = bits;
            }
        }
    }
    block
}

impl Row {
    /// The row of a position; `spare`: one whose memory it may take.
    fn new(spare: Option<Self>, n_vocab: usize, uniforms: &Uniforms, left: usize) -> Self {
        let mut row = spare.unwrap_or_default();
        row.first = None;
        let n_blocks = n_vocab.div_ceil(BLOCK).next_multiple_of(DRAWS);
        row.tokens.resize(n_blocks, 0);
        row.least.resize(n_blocks, 0.0);
        row.second.resize(n_blocks, 0.0);
        with_widest_vectors(
            #[inline(always)]
            move || {
                let mut row = row;
                for at in (0..n_blocks).step_by(DRAWS) {
                    let [one, two] = least_keys(uniforms, left, at, n_vocab);
                    for lane in 0..DRAWS {
                        let place = one[lane] & PLACES;
                        row.tokens[at + lane] = ((at + lane) * BLOCK) as u32 + place;
                        row.least[at + lane] = least(!one[lane]);
                        row.second[at + lane] = least(!two[lane]);
                    }
                }
                row
            },
        )
    }
}

/// The place of a token in its block takes the lowest bits of its key, which [`least`] does not read.
const PLACES: u32 = BLOCK as u32 - 1;

/// The least and the second least key of each of the [`DRAWS`] blocks from `at` on. A key is less where the noise is. The blocks are
/// side by side, so nothing is moved between the lanes of vectors.
#[inline(always)]
fn least_keys(uniforms: &Uniforms, left: usize, at: usize, n_vocab: usize) -> [[u32; DRAWS]; 2] {
    let mut keys = [[0; DRAWS]; BLOCK];
    for (draw, keys) in keys.as_chunks_mut::<TOKENS>().0.iter_mut().enumerate() {
        let draws = std::array::from_fn(|lane| draws(at + lane, draw));
        let words = uniforms.first_bits_of_noise(left as u32, draws);
        for (word, (keys, bits)) in keys.iter_mut().zip(words).enumerate() {
            *keys = bits.map(|bits| !bits & !PLACES | (TOKENS * draw + word) as u32);
        }
    }
    // The last block may have fewer tokens.
    for lane in 0..DRAWS {
        for keys in keys.iter_mut().skip(n_vocab.saturating_sub((at + lane) * BLOCK)) {
            keys[lane] = u32::MAX;
        }
    }
    let (mut one, mut two) = ([u32::MAX; DRAWS], [u32::MAX; DRAWS]);
    for keys in &keys {
        for lane in 0..DRAWS {
            two[lane] = two[lane].min(one[lane].max(keys[lane]));
            one[lane] = one[lane].min(keys[lane]);
        }
    }
    [one, two]
}

/// Blocks whose tokens are read together.
const CHUNK: usize = 64;

/// The `n` tokens that were found to arrive first so far: the largest of `log P + G` is the least of `-ln(u) / P`.
struct Arrivals<'a> {
    uniforms: &'a Uniforms,
    left: usize,
    n: usize,
    /// Earliest first; ties to the lowest id.
    found: Vec<Arrival>,
    /// What arrives later is none of them.
    limit: f32,
}

impl Arrivals<'_> {
    /// Adds to `blocks` those from `from` on, of as many as `least` has, that can have one of them, by the largest probability of
    /// each and what its noise is above.
    fn blocks_that_can_be(&self, from: usize, tops: &[f32], least: &[f32], blocks: &mut Vec<u32>) {
        let mut n = blocks.len();
        blocks.resize(n + least.len(), 0);
        for (at, (&top, &least)) in (from as u32..).zip(tops.iter().zip(least)) {
            // Without a branch: which ones are is not to be predicted.
            blocks[n] = at;
            n += usize::from(self.can_be(top, least));
        }
        blocks.truncate(n);
    }

    /// Whether a token of probability `p`, whose noise is above `least`, can be one of them.
    fn can_be(&self, p: f32, least: f32) -> bool {
        (0.0 < p) & (least < self.limit * p)
    }

    /// Takes in a token of probability `p`, whose noise is above `least`, if it is one of them.
    fn take(&mut self, id: u32, p: f32, least: f32) {
        if self.can_be(p, least) {
            self.arrives(id, p, -self.uniforms.noise(self.left as u32, id).ln() as f32);
        }
    }

    /// Takes in a token of positive probability `p` and the noise `noise`, if it is one of them.
    fn arrives(&mut self, id: u32, p: f32, noise: f32) {
        let arrival = Arrival { after: f64::from(noise) / f64::from(p), id, noise };
        let is_earlier = |earlier: &Arrival| (earlier.after, earlier.id) < (arrival.after, arrival.id);
        let place = self.found.partition_point(is_earlier);
        self.found.insert(place, arrival);
        self.found.truncate(self.n);
        if let Some(last) = self.found.get(self.n - 1) {
            self.limit = last.after as f32;
        }
    }
}

/// A token and when it arrives.
struct Arrival {
    after: f64,
    id: u32,
    noise: f32,
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
        let mut arrivals = Arrivals { uniforms, left, n, found, limit: f32::INFINITY };
        if let Some((id, noise)) = row.first.filter(|&(id, _)| 0.0 < probs[id as usize]) {
            arrivals.arrives(id, probs[id as usize], noise);
        }
        let known = row.first.map(|(id, _)| id);
        let tops = distribution.block_tops();
        let n_together = if arrivals.limit.is_finite() { tops.len() } else { CHUNK };
        self.looked_at.clear();
        for (from, tops) in (0..).step_by(n_together).zip(tops.chunks(n_together)) {
            let n_before = self.looked_at.len();
            let least = &row.least[from..from + tops.len()];
            arrivals.blocks_that_can_be(from, tops, least, &mut self.looked_at);
            let blocks = &self.looked_at[n_before..];
            // All are read before one is compared: so the memory is waited for once.
            self.read.clear();
            self.read.extend(blocks.iter().map(|&at| probs[row.tokens[at as usize] as usize]));
            for (&p, &at) in self.read.iter().zip(blocks) {
                let id = row.tokens[at as usize];
                if Some(id) != known {
                    arrivals.take(id, p, row.least[at as usize]);
                }
            }
        }
        for at in self.looked_at.iter().map(|&at| at as usize) {
            if !arrivals.can_be(tops[at], row.second[at]) {
                continue;
            }
            let bits = with_widest_vectors(
                #[inline(always)]
                move || first_bits(uniforms, left, at),
            );
            for (id, &bits) in distribution.block(at).zip(&bits) {
                let (id, least) = (id as u32, least(bits));
                // By the largest probability first: few others are read.
                if arrivals.can_be(tops[at], least) && id != row.tokens[at] && Some(id) != known {
                    arrivals.take(id, probs[id as usize], least);
                }
            }
        }
        let first = arrivals.found.first().expect("a distribution has a token of positive probability");
        row.first = Some((first.id, first.noise));
        arrivals.found.into_iter().map(|arrival| TokenId(arrival.id)).collect()
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

    /// Compares the draws of four distributions at one position with the order of all tokens.
    fn check_as_a_plain_scan(n_vocab: u32, seed: u64) {
        let uniforms = Uniforms::new(seed);
        let mut kept = Noise::default();
        for round in 0..4 {
            let weight = |v: u32| {
                uniforms.uniform(Purpose::Init, round, v).powi(8) as f32 * f32::from(v % 3 != round % 3)
            };
            let distribution = Dist::from_weights((0..n_vocab).map(weight).collect()).unwrap();
            let arrival = |&id: &u32| {
                let waiting = -uniforms.noise(5, id).ln() as f32;
                f64::from(waiting) / f64::from(distribution.prob(TokenId(id)))
            };
            let possible = (0..n_vocab).filter(|&id| 0.0 < distribution.prob(TokenId(id)));
            let mut expected: Vec<u32> = possible.collect();
            expected.sort_by_cached_key(|id| arrival(id).to_bits()); // All are positive.
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

    #[test]
    fn the_first_of_many_is_the_one_that_a_plain_scan_finds() {
        (0..200).for_each(|seed| check_as_a_plain_scan(300, seed));
    }

    /// Of a new position as many blocks are read together as [`CHUNK`] says.
    #[test]
    fn so_it_is_where_not_all_blocks_are_read_together() {
        let n_vocab = (2 * CHUNK * BLOCK + 300) as u32;
        (0..20).for_each(|seed| check_as_a_plain_scan(n_vocab, seed));
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
