//! Categorical distributions over the image vocabulary: the distributions `q` and `p` of every formula.
//!
//! Sums are taken in f64 over fixed blocks of 64 entries, so they vectorise and are still the same on
//! every machine; they are kept, and a draw walks them, so it agrees with the total it was scaled by.

/// Index into the image vocabulary `0..V`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenId(pub u32);

impl TokenId {
    /// The token as an index into a row of `V` entries.
    #[must_use]
    pub fn idx(self) -> usize {
        self.0 as usize
    }
}

/// A normalised distribution; entry `v` is the probability of `TokenId(v)`.
#[derive(Clone, Debug, PartialEq)]
pub struct Dist {
    // Invariant: every entry is finite and >= 0, at least one is > 0, and they sum to 1 up to f32 rounding.
    probs: Vec<f32>,
    // Invariant: the sum of each block of `probs`.
    sums: Vec<f64>,
    // Invariant: the largest of each block of `probs`.
    tops: Vec<f32>,
    // Invariant: the sum of `sums`.
    total: f64,
}

impl Dist {
    /// Normalises `weights`, which must be `>= 0`; `None` if their sum is zero or not finite.
    #[must_use]
    pub fn from_weights(weights: Vec<f32>) -> Option<Self> {
        debug_assert!(weights.iter().all(|&w| 0.0 <= w || w.is_nan()), "a weight is negative");
        let mut dist = Self::summed(weights);
        dist.normalise().then_some(dist)
    }

    /// Takes a row that already is a softmax: entries `>= 0` that sum to 1 within `1e-3`.
    ///
    /// # Panics
    /// If the sum is off by more than that (a row with a NaN included): the model is broken.
    #[must_use]
    pub fn from_probs(probs: Vec<f32>) -> Self {
        let dist = Self::summed(probs);
        let (total, probs) = (dist.total, &dist.probs);
        assert!(
            (total - 1.0).abs() < 1e-3,
            "a distribution sums to 1, this row of {} sums to {total}",
            probs.len()
        );
        debug_assert!(probs.iter().all(|&p| 0.0 <= p), "a probability is negative");
        dist
    }

    /// The point mass on `token` over a vocabulary of `n_vocab`.
    ///
    /// # Panics
    /// If `token` is not below `n_vocab`.
    #[must_use]
    pub fn one_hot(n_vocab: usize, token: TokenId) -> Self {
        let mut probs = vec![0.0; n_vocab];
        let (mut sums, mut tops) = (vec![0.0; n_vocab.div_ceil(BLOCK)], vec![0.0; n_vocab.div_ceil(BLOCK)]);
        (probs[token.idx()], sums[token.idx() / BLOCK], tops[token.idx() / BLOCK]) = (1.0, 1.0, 1.0);
        Self { probs, sums, tops, total: 1.0 }
    }

    /// The same probability for each of `n_vocab` tokens.
    ///
    /// # Panics
    /// If `n_vocab` is 0.
    #[must_use]
    pub fn uniform(n_vocab: usize) -> Self {
        assert!(0 < n_vocab, "a vocabulary holds at least one token");
        Self::summed(vec![1.0 / n_vocab as f32; n_vocab])
    }

    /// All probabilities, `[n_vocab]`.
    #[must_use]
    pub fn probs(&self) -> &[f32] {
        &self.probs
    }

    /// Probability of one token.
    ///
    /// # Panics
    /// If `token` is outside the vocabulary.
    #[must_use]
    pub fn prob(&self, token: TokenId) -> f32 {
        self.probs[token.idx()]
    }

    /// Size of the vocabulary.
    #[must_use]
    pub fn len(&self) -> usize {
        self.probs.len()
    }

    /// Never true: a distribution has at least one token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.probs.is_empty()
    }

    /// Inverse-CDF draw for `u` in `[0, 1)`: the first token whose cumulative probability exceeds
    /// `u * total`. Never a token of probability zero.
    #[must_use]
    pub fn sample(&self, u: f64) -> TokenId {
        let target = u * self.total;
        let (block, before) = reached_block(&self.sums, target)
            .expect("a distribution has at least one token of positive probability");
        let entries = self.block(block).map(|v| (v, self.probs[v]));
        first_exceeding(entries, before, target).expect("a block of positive sum holds a positive entry")
    }

    /// The `k` most probable tokens, most probable first, ties to the lowest id; all tokens if there are
    /// fewer than `k`. Tokens of probability zero take part.
    #[must_use]
    pub fn top_k(&self, k: usize) -> Vec<TokenId> {
        let k = k.min(self.probs.len());
        if k == 0 {
            return Vec::new();
        }
        let mut best: Vec<(f32, u32)> = Vec::with_capacity(k + 1);
        for (v, &p) in self.probs.iter().enumerate() {
            if best.len() == k && p <= best[k - 1].0 {
                continue; // An equal probability with a higher id ranks below.
            }
            let rank = best.partition_point(|&(held, _)| p <= held);
            best.insert(rank, (p, v as u32));
            best.truncate(k);
        }
        best.into_iter().map(|(_, v)| TokenId(v)).collect()
    }

    /// The tokens of [`Dist::top_k`] with their probabilities.
    #[must_use]
    pub fn likeliest(&self, k: usize) -> Vec<(TokenId, f32)> {
        self.top_k(k).into_iter().map(|token| (token, self.prob(token))).collect()
    }

    /// This distribution given one of its `k` most probable tokens; tokens as probable as the last of them survive too.
    /// All of it for a `k` of 0, or one above the number of tokens.
    ///
    /// # Panics
    /// Never: what is most probable has mass.
    #[must_use]
    pub fn filtered(&self, k: usize) -> Dist {
        let Some(last) = self.top_k(k).last().copied().filter(|_| k < self.len()) else {
            return self.clone();
        };
        let least = self.prob(last);
        let kept = self.probs.iter().map(|&p| if least <= p { p } else { 0.0 }).collect();
        Self::from_weights(kept).expect("the most probable token has mass")
    }

    /// The most probable token, ties to the lowest id.
    #[must_use]
    pub fn argmax(&self) -> TokenId {
        self.top_k(1)[0]
    }

    /// `norm(max(0, self - other))`, the distribution of a correction token; `None` if nothing is left.
    ///
    /// # Panics
    /// If the vocabularies differ.
    #[must_use]
    pub fn residual(&self, other: &Dist) -> Option<Dist> {
        let mut left = self.clone();
        left.subtract(&other.probs, 1.0, &[]).then_some(left)
    }

    /// A draw of [`Dist::residual`] for `u` in `[0, 1)`, in one pass and without making it: what is summed is not scaled to 1,
    /// so at the border of two tokens rounding can give the other one.
    ///
    /// # Panics
    /// If the vocabularies differ.
    #[must_use]
    pub fn sample_residual(&self, other: &Dist, u: f64) -> Option<TokenId> {
        assert_eq!(self.len(), other.len(), "a residual is of distributions over one vocabulary");
        let sums = vec![0.0; self.sums.len()];
        let sums = with_widest_vectors(
            #[inline(always)]
            move || {
                let mut sums = sums;
                let blocks = self.probs.chunks(BLOCK).zip(other.probs.chunks(BLOCK));
                for (sum, (p, q)) in sums.iter_mut().zip(blocks) {
                    *sum = block_sum_of_residual(p, q);
                }
                sums
            },
        );
        let target = u * sums.iter().sum::<f64>();
        let (block, before) = reached_block(&sums, target)?;
        let entries = self.block(block).map(|v| (v, (self.probs[v] - other.probs[v]).max(0.0)));
        first_exceeding(entries, before, target)
    }

    /// This distribution given that none of `tokens` occurs; `None` if nothing is left.
    #[must_use]
    pub fn without(&self, tokens: &[TokenId]) -> Option<Dist> {
        let mut left = self.clone();
        left.remove(tokens).then_some(left)
    }

    /// Replaces this distribution by `norm(max(0, self - scale * p))`, where `p`, `[n_vocab]`, counts as zero at
    /// `spared`. Returns false, and leaves the distribution unusable, if nothing is left.
    pub(crate) fn subtract(&mut self, p: &[f32], scale: f32, spared: &[TokenId]) -> bool {
        assert_eq!(self.len(), p.len(), "what is taken from a distribution has one value for each token");
        debug_assert!(p.iter().all(|&p| 0.0 <= p), "a mass that is taken is negative");
        let kept: Vec<f32> = spared.iter().map(|&t| self.prob(t)).collect();
        for (g, &p) in self.probs.iter_mut().zip(p) {
            *g = (*g - scale * p).max(0.0);
        }
        for (&token, &g) in spared.iter().zip(&kept) {
            self.probs[token.idx()] = g;
        }
        self.sum();
        self.normalise()
    }

    /// Sets `tokens` to zero and normalises. Returns false, and leaves the distribution unusable, if nothing is left.
    pub(crate) fn remove(&mut self, tokens: &[TokenId]) -> bool {
        if tokens.iter().all(|&t| self.prob(t) == 0.0) {
            return true;
        }
        for &token in tokens {
            self.probs[token.idx()] = 0.0;
        }
        self.sum();
        self.normalise()
    }

    /// The distribution of `probs`, which may sum to anything.
    fn summed(probs: Vec<f32>) -> Self {
        let mut dist = Self { probs, sums: Vec::new(), tops: Vec::new(), total: 0.0 };
        dist.sum();
        dist
    }

    /// Sums `probs` anew.
    fn sum(&mut self) {
        let (mut sums, mut tops) = (std::mem::take(&mut self.sums), std::mem::take(&mut self.tops));
        let (probs, n_blocks) = (&self.probs, self.probs.len().div_ceil(BLOCK));
        sums.resize(n_blocks, 0.0);
        tops.resize(n_blocks, 0.0);
        (self.sums, self.tops) = with_widest_vectors(
            #[inline(always)]
            move || {
                let (mut sums, mut tops) = (sums, tops);
                for ((sum, top), block) in sums.iter_mut().zip(&mut tops).zip(probs.chunks(BLOCK)) {
                    (*sum, *top) = (block_sum(block), block_top(block));
                }
                (sums, tops)
            },
        );
        self.total = self.sums.iter().sum();
    }

    /// The sum of each block of [`BLOCK`] entries.
    pub(crate) fn block_sums(&self) -> &[f64] {
        &self.sums
    }

    /// The largest probability of each block of [`BLOCK`] entries.
    pub(crate) fn block_tops(&self) -> &[f32] {
        &self.tops
    }

    /// The entries of a block.
    pub(crate) fn block(&self, at: usize) -> std::ops::Range<usize> {
        at * BLOCK..((at + 1) * BLOCK).min(self.probs.len())
    }

    /// Scales to sum 1; false if `total` is zero or not finite.
    fn normalise(&mut self) -> bool {
        if !(0.0 < self.total && self.total.is_finite()) {
            return false;
        }
        let scale = 1.0 / self.total;
        for p in &mut self.probs {
            *p = (f64::from(*p) * scale) as f32;
        }
        self.sum();
        true
    }
}

/// Entries summed together before block sums are added up.
pub(crate) const BLOCK: usize = 64;

/// The result of `compute`, by the widest vector instructions that it is compiled for and the processor has: the digits are the
/// same with all, since sums have fixed strands. `compute` is inlined, and so must be all it calls, only if it is marked so and
/// gives away what it captured: a closure that can be called twice is called through a function of its own.
pub(crate) fn with_widest_vectors<R>(compute: impl FnOnce() -> R) -> R {
    pulp::Arch::new().dispatch(compute)
}

/// Sum of one block in f64 by the caller's instructions, eight interleaved partial sums.
#[inline(always)]
fn block_sum(block: &[f32]) -> f64 {
    let mut lanes = [0.0_f64; 8];
    let (eights, rest) = block.as_chunks::<8>();
    for eight in eights {
        for (lane, &p) in lanes.iter_mut().zip(eight) {
            *lane += f64::from(p);
        }
    }
    for (lane, &p) in lanes.iter_mut().zip(rest) {
        *lane += f64::from(p);
    }
    lanes.iter().sum()
}

/// The largest of one block, in eight interleaved parts; a NaN is passed over.
#[inline(always)]
fn block_top(block: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    let (eights, rest) = block.as_chunks::<8>();
    for eight in eights {
        for (lane, &p) in lanes.iter_mut().zip(eight) {
            *lane = if *lane < p { p } else { *lane };
        }
    }
    lanes.iter().chain(rest).copied().fold(0.0, f32::max)
}

/// Sum of `max(0, p - q)` of one block, as [`block_sum`].
#[inline(always)]
fn block_sum_of_residual(p: &[f32], q: &[f32]) -> f64 {
    let mut left = [0.0_f32; BLOCK];
    for (left, (p, q)) in left.iter_mut().zip(p.iter().zip(q)) {
        *left = (p - q).max(0.0);
    }
    block_sum(&left[..p.len()])
}

/// The first block whose cumulative sum exceeds `target`, else the last one of positive sum; and the sum of those before it.
/// `None` if no sum is positive.
pub(crate) fn reached_block(sums: &[f64], target: f64) -> Option<(usize, f64)> {
    let mut cumulative = 0.0;
    let mut reached = None;
    for (block, &sum) in sums.iter().enumerate().filter(|&(_, &sum)| 0.0 < sum) {
        reached = Some((block, cumulative));
        if target < cumulative + sum {
            break;
        }
        cumulative += sum;
    }
    reached
}

/// The first entry at which `before` plus the running sum exceeds `target`, else the last positive one
/// (rounding may leave the running sum a hair below the block sum). `None` if no entry is positive.
pub(crate) fn first_exceeding(
    entries: impl Iterator<Item = (usize, f32)>,
    before: f64,
    target: f64,
) -> Option<TokenId> {
    let mut cumulative = before;
    let mut last = None;
    for (v, p) in entries.filter(|&(_, p)| 0.0 < p) {
        cumulative += f64::from(p);
        last = Some(TokenId(v as u32));
        if target < cumulative {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;

    fn distribution(weights: &[f32]) -> Dist {
        Dist::from_weights(weights.to_vec()).unwrap()
    }

    #[test]
    fn a_sample_is_the_first_token_whose_cumulative_probability_exceeds_u() {
        let distribution = distribution(&[0.0, 0.25, 0.0, 0.5, 0.25, 0.0]);
        let drawn =
            [0.0, 0.2499, 0.25, 0.7499, 0.75, 1.0 - f64::EPSILON / 2.0].map(|u| distribution.sample(u).0);
        assert_eq!(drawn, [1, 1, 3, 3, 4, 4]);
    }

    #[test]
    fn a_draw_of_a_residual_is_one_of_the_residual_that_is_made() {
        let row =
            |seed: usize| distribution(&(0..1000).map(|v| ((v * 37 + seed) % 11) as f32).collect::<Vec<_>>());
        let (p, q) = (row(1), row(5));
        let made = p.residual(&q).unwrap();
        for i in 0..2000 {
            // Off the borders, where rounding decides.
            let u = (f64::from(i) + 0.37) / 2000.0;
            assert_eq!(p.sample_residual(&q, u), Some(made.sample(u)));
        }
        assert_eq!(p.sample_residual(&p, 0.5), None);
    }

    #[test]
    fn a_draw_on_the_border_of_two_blocks_belongs_to_the_next() {
        let distribution = Dist::uniform(2 * BLOCK);
        assert_eq!((distribution.is_empty(), distribution.sample(0.5)), (false, TokenId(BLOCK as u32)));
    }

    #[test]
    fn what_rounding_leaves_over_goes_to_the_last_token_that_has_mass() {
        let entries = [(4, 0.5), (7, 0.0)];
        assert_eq!(first_exceeding(entries.into_iter(), 0.25, 0.75), Some(TokenId(4)));
        assert_eq!(first_exceeding(entries[1..].iter().copied(), 0.0, 0.0), None);
    }

    #[test]
    fn samples_over_many_blocks_equal_a_plain_scan() {
        let distribution = distribution(&(0..1000).map(|v| ((v * 37) % 11) as f32).collect::<Vec<_>>());
        for i in 0..2000 {
            let u = f64::from(i) / 2000.0;
            let mut cumulative = 0.0;
            let exceeds = |&v: &usize| {
                cumulative += f64::from(distribution.probs()[v]);
                u * distribution.total < cumulative
            };
            assert_eq!(distribution.sample(u).idx(), (0..1000).find(exceeds).unwrap());
        }
    }

    #[test]
    fn the_largest_u_never_falls_on_a_token_of_probability_zero() {
        let mut weights = vec![0.1_f32; 130];
        weights.extend([0.0; 70]);
        assert_eq!(distribution(&weights).sample(1.0 - f64::EPSILON / 2.0), TokenId(129));
    }

    #[test]
    fn top_k_breaks_ties_to_the_lowest_id() {
        let distribution = distribution(&[1.0, 3.0, 2.0, 3.0, 2.0, 2.0]);
        assert_eq!(distribution.top_k(4), [TokenId(1), TokenId(3), TokenId(2), TokenId(4)]);
        assert_eq!(distribution.top_k(99).len(), 6);
        assert_eq!(distribution.top_k(0), []);
        assert_eq!(distribution.argmax(), TokenId(1));
    }

    #[test]
    fn the_residual_is_the_positive_part_of_the_difference() {
        let left = distribution(&[0.5, 0.25, 0.25]).residual(&distribution(&[0.25, 0.5, 0.25])).unwrap();
        assert_eq!(left.probs(), [1.0, 0.0, 0.0]);
        let q = distribution(&[0.5, 0.5]);
        assert_eq!(q.residual(&q), None);
    }

    #[test]
    fn the_largest_of_a_block_is_known_after_every_change() {
        let row =
            |seed: usize| distribution(&(0..200).map(|v| ((v * 37 + seed) % 11) as f32).collect::<Vec<_>>());
        let (p, q) = (row(1), row(5));
        let left = [p.residual(&q), q.residual(&p), p.without(&[p.argmax()])].map(Option::unwrap);
        for dist in left.iter().chain([&p, &Dist::uniform(200), &Dist::one_hot(200, TokenId(130))]) {
            let largest = dist.probs().chunks(BLOCK).map(|block| block.iter().copied().fold(0.0, f32::max));
            assert_eq!(dist.block_tops(), largest.collect::<Vec<f32>>());
        }
    }

    #[test]
    fn spared_tokens_keep_their_mass() {
        let mut left = distribution(&[0.5, 0.25, 0.25]);
        assert!(left.subtract(&[0.5, 0.25, 0.25], 2.0, &[TokenId(0), TokenId(2)]));
        let expected = [0.5 / 0.75, 0.0, 0.25 / 0.75];
        assert!(left.probs().iter().zip(expected).all(|(a, b): (&f32, f32)| (a - b).abs() < 1e-7));
    }

    #[test]
    fn removed_tokens_leave_the_rest_in_proportion() {
        let distribution = distribution(&[0.5, 0.25, 0.25]);
        assert_eq!(distribution.without(&[TokenId(0)]).unwrap().probs(), [0.0, 0.5, 0.5]);
        assert_eq!(distribution.without(&[TokenId(0), TokenId(1), TokenId(2)]), None);
    }

    #[test]
    fn weights_without_a_finite_positive_sum_are_no_distribution() {
        assert_eq!(Dist::from_weights(vec![0.0, 0.0]), None);
        assert_eq!(Dist::from_weights(vec![0.0, f32::INFINITY]), None);
        assert_eq!(Dist::from_weights(vec![1.0, f32::NAN]), None);
    }

    #[test]
    #[should_panic(expected = "a distribution sums to 1")]
    fn a_row_with_a_nan_is_no_distribution() {
        let _ = Dist::from_probs(vec![0.5, f32::NAN]);
    }
}
