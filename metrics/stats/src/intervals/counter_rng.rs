//! A counter-based source of random bits: a draw is a pure function of (seed, counter).
//!
//! The finaliser is that of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), applied to an odd multiple of the counter
//! offset by a scrambled seed, so draws can be made in any order or by any thread with the same result.

const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// Random numbers addressed by a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterRng {
    start: u64,
}

impl CounterRng {
    /// Returns the stream of `seed`.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { start: finalise(seed ^ GOLDEN_GAMMA) }
    }

    /// Returns 64 random bits for `counter`.
    #[must_use]
    pub fn bits(&self, counter: u64) -> u64 {
        finalise(self.start.wrapping_add(counter.wrapping_add(1).wrapping_mul(GOLDEN_GAMMA)))
    }

    /// Returns a uniform number in `[0, 1)` with 53 random bits for `counter`.
    #[must_use]
    pub fn uniform(&self, counter: u64) -> f64 {
        (self.bits(counter) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a uniform index below `n` for `counter`; the bias of the multiplication is below `n / 2^64`. Panics
    /// for `n = 0`.
    #[must_use]
    pub fn index(&self, counter: u64, n: usize) -> usize {
        assert!(n > 0, "an index is drawn from at least one element");
        ((u128::from(self.bits(counter)) * n as u128) >> 64) as usize
    }

    /// Returns the whole numbers below `n` in an order uniform to `n^2 / 2^64`: the shuffle of Fisher and Yates from the
    /// end, with draw `i` for place `i`.
    #[must_use]
    pub fn permutation(&self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.index(i as u64, i + 1));
        }
        order
    }
}

fn finalise(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indices_are_uniform_over_a_range_that_is_no_power_of_two() {
        let rng = CounterRng::new(7);
        let mut counts = [0_i32; 6];
        for counter in 0..60_000 {
            counts[rng.index(counter, 6)] += 1;
        }
        // Five standard deviations of a binomial count: 5 sqrt(60000 / 6 * 5 / 6).
        assert!(counts.iter().all(|count| (count - 10_000).abs() < 457), "{counts:?}");
    }

    #[test]
    fn each_number_is_as_often_at_each_place_of_a_permutation() {
        let mut counts = [[0_i32; 4]; 4];
        for seed in 0..40_000 {
            for (place, number) in CounterRng::new(seed).permutation(4).into_iter().enumerate() {
                counts[place][number] += 1;
            }
        }
        // Five standard deviations of a binomial count: 5 sqrt(40000 / 4 * 3 / 4).
        assert!(counts.as_flattened().iter().all(|count| (count - 10_000).abs() < 434), "{counts:?}");
    }

    #[test]
    fn streams_of_neighbouring_seeds_share_no_draw() {
        let (a, b) = (CounterRng::new(1), CounterRng::new(2));
        let seen: std::collections::BTreeSet<u64> = (0..10_000).map(|counter| a.bits(counter)).collect();
        assert_eq!(seen.len(), 10_000);
        assert!((0..10_000).all(|counter| !seen.contains(&b.bits(counter))));
    }

    #[test]
    fn uniforms_fill_the_unit_interval_evenly() {
        let rng = CounterRng::new(3);
        let n = 100_000;
        let mean = (0..n).map(|counter| rng.uniform(counter)).sum::<f64>() / n as f64;
        // Five standard errors: 5 / sqrt(12 n).
        assert!((mean - 0.5).abs() < 0.0046, "{mean}");
        assert!((0..n).all(|counter| (0.0..1.0).contains(&rng.uniform(counter))));
    }
}
