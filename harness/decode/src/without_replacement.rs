//! Draws several different tokens from one distribution, each from what its predecessors left.
//!
//! EAGLE-1 proposes the children of a node this way. `m` draws cost `m` passes over the block sums of the row, which is never
//! copied.

use crate::dist::{BLOCK, Dist, TokenId, first_exceeding, reached_block};

/// The draws made so far from one distribution.
pub struct WithoutReplacement<'a> {
    distribution: &'a Dist,
    taken: Vec<TokenId>,
    // Invariant: per block, the sum of the entries not yet taken; exactly 0 once none is positive.
    block_sums: Vec<f64>,
}

impl<'a> WithoutReplacement<'a> {
    /// Starts with every token of `distribution` available.
    #[must_use]
    pub fn new(distribution: &'a Dist) -> Self {
        Self { distribution, taken: Vec::new(), block_sums: distribution.block_sums().to_vec() }
    }

    /// Starts with every token but `token`, which was drawn already.
    #[must_use]
    pub fn after(distribution: &'a Dist, token: TokenId) -> Self {
        let mut draws = Self::new(distribution);
        draws.take(token, token.idx() / BLOCK);
        draws
    }

    /// The next token by inverse CDF of `u` in `[0, 1)`, with the probability it had in this draw:
    /// `pc_i = p[x_i] / (1 - sum of earlier draws)`. `None` once no mass is left.
    pub fn draw(&mut self, u: f64) -> Option<(TokenId, f32)> {
        let remaining: f64 = self.block_sums.iter().sum();
        let target = u * remaining;
        let (block_idx, before) = reached_block(&self.block_sums, target)?;
        let token = first_exceeding(self.available(block_idx), before, target)
            .expect("a block of positive sum holds a positive entry");
        let conditional = self.draw_of(token);
        (0.0 < conditional).then_some((token, conditional))
    }

    /// Takes `token`, which something else chose among those that are there; the probability it had in this draw, 0 to 1.
    pub fn draw_of(&mut self, token: TokenId) -> f32 {
        let remaining: f64 = self.block_sums.iter().sum();
        self.take(token, token.idx() / BLOCK);
        let own = f64::from(self.distribution.prob(token));
        if own == 0.0 { 0.0 } else { (own / remaining) as f32 }
    }

    fn available(&self, block_idx: usize) -> impl Iterator<Item = (usize, f32)> {
        let is_taken = |v: usize| self.taken.contains(&TokenId(v as u32));
        self.distribution
            .block(block_idx)
            .filter(move |&v| !is_taken(v))
            .map(|v| (v, self.distribution.probs()[v]))
    }

    fn take(&mut self, token: TokenId, block_idx: usize) {
        self.taken.push(token);
        // Summed anew rather than subtracted: a block without positive entries must sum to exactly 0.
        let left = self.available(block_idx).map(|(_, p)| f64::from(p)).sum();
        self.block_sums[block_idx] = left;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;

    fn distribution(weights: &[f32]) -> Dist {
        Dist::from_weights(weights.to_vec()).unwrap()
    }

    #[test]
    fn the_first_draw_is_the_plain_sample() {
        let distribution = distribution(&(0..300).map(|v| (v % 7) as f32).collect::<Vec<_>>());
        for i in 0..1000 {
            let u = f64::from(i) / 1000.0;
            assert_eq!(WithoutReplacement::new(&distribution).draw(u).unwrap().0, distribution.sample(u));
        }
    }

    #[test]
    fn the_conditional_is_the_mass_among_what_is_left() {
        let distribution = distribution(&[0.5, 0.0, 0.25, 0.25]);
        let mut draws = WithoutReplacement::new(&distribution);
        assert_eq!(draws.draw(0.0), Some((TokenId(0), 0.5)));
        assert_eq!(draws.draw(0.49), Some((TokenId(2), 0.5)));
        assert_eq!(draws.draw(0.99), Some((TokenId(3), 1.0)));
        assert_eq!(draws.draw(0.0), None);
    }

    #[test]
    fn a_point_mass_runs_out_after_one_draw() {
        let distribution = Dist::one_hot(200, TokenId(130));
        let mut draws = WithoutReplacement::new(&distribution);
        assert_eq!(draws.draw(0.7), Some((TokenId(130), 1.0)));
        assert_eq!(draws.draw(0.7), None);
    }

    #[test]
    fn a_draw_on_the_border_of_two_blocks_belongs_to_the_next() {
        let distribution = Dist::uniform(2 * BLOCK);
        assert_eq!(
            WithoutReplacement::new(&distribution).draw(0.5).map(|(token, _)| token),
            Some(TokenId(BLOCK as u32))
        );
    }

    #[test]
    fn all_tokens_come_once_even_when_the_masses_span_many_magnitudes() {
        let distribution = distribution(&(0..40).map(|v| 0.3_f32.powi(v)).collect::<Vec<_>>());
        let mut draws = WithoutReplacement::new(&distribution);
        let mut seen: Vec<u32> = std::iter::from_fn(|| draws.draw(0.5)).map(|(t, _)| t.0).take(41).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..40).collect::<Vec<_>>());
    }

    /// Coupled seeds choose the tokens. The mass left must not be what rounding leaves of a difference.
    #[test]
    fn a_chosen_token_has_a_chance_of_0_to_1_however_little_is_left() {
        for share in [0.3_f32, 1e-3, 1e-7] {
            let distribution = distribution(&(0..5).map(|v| share.powi(v)).collect::<Vec<_>>());
            let mut draws = WithoutReplacement::new(&distribution);
            for v in 0..5 {
                let left: f64 = (0..5 - v).map(|w| f64::from(share).powi(w)).sum();
                let chance = f64::from(draws.draw_of(TokenId(v as u32)));
                assert!(chance <= 1.0 && (chance - 1.0 / left).abs() < 1e-6, "{share}, {v}: {chance}");
            }
        }
    }
}
