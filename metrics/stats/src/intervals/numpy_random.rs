//! NumPy's legacy generator, `numpy.random.RandomState(seed)`, as far as the reference tools draw subsets with it.
//!
//! MT19937 (Matsumoto and Nishimura, ACM TOMACS 8, 1998) with the seeding of its authors' 2002 code; bounded integers
//! by masking and rejection; permutations by the shuffle of Fisher and Yates from the end. NumPy has frozen this
//! stream, so a seed means the same subsets for ever.

const N_WORDS: usize = 624;
const SHIFT: usize = 397;

/// The generator's state after some draws.
#[derive(Clone, Debug)]
pub struct NumpyRandom {
    words: [u32; N_WORDS],
    /// Words of this round that were handed out.
    n_used: usize,
}

impl NumpyRandom {
    /// Returns the stream of `RandomState(seed)`, which is also that of the global generator after `seed(seed)`.
    #[must_use]
    pub fn new(seed: u32) -> Self {
        let mut words = [0; N_WORDS];
        words[0] = seed;
        for i in 1..N_WORDS {
            let previous: u32 = words[i - 1];
            words[i] = (previous ^ (previous >> 30)).wrapping_mul(1_812_433_253).wrapping_add(i as u32);
        }
        Self { words, n_used: N_WORDS }
    }

    /// Returns `permutation(n)`.
    pub fn permutation(&mut self, n: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, self.at_most(i));
        }
        order
    }

    /// Returns `choice(n, n_chosen, replace=False)`. Panics when `n_chosen` exceeds `n`.
    pub fn choice(&mut self, n: usize, n_chosen: usize) -> Vec<usize> {
        assert!(n_chosen <= n, "a subset is no larger than its set");
        let mut order = self.permutation(n);
        order.truncate(n_chosen);
        order
    }

    /// A uniform integer from 0 to `max`, both included, `max` at least 1. Panics past `u32::MAX`, which no list of rows reaches.
    fn at_most(&mut self, max: usize) -> usize {
        let max = u32::try_from(max).expect("a list of rows is shorter than 2^32");
        let mask = u32::MAX >> max.leading_zeros();
        loop {
            let value = self.next_word() & mask;
            if value <= max {
                return value as usize;
            }
        }
    }

    fn next_word(&mut self) -> u32 {
        if self.n_used == N_WORDS {
            self.next_round();
        }
        let mut y = self.words[self.n_used];
        self.n_used += 1;
        y ^= y >> 11;
        y ^= (y << 7) & 0x9d2c_5680;
        y ^= (y << 15) & 0xefc6_0000;
        y ^ (y >> 18)
    }

    fn next_round(&mut self) {
        for i in 0..N_WORDS {
            let y = (self.words[i] & 0x8000_0000) | (self.words[(i + 1) % N_WORDS] & 0x7fff_ffff);
            let twist = if y & 1 == 1 { 0x9908_b0df } else { 0 };
            self.words[i] = self.words[(i + SHIFT) % N_WORDS] ^ (y >> 1) ^ twist;
        }
        self.n_used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_authors_code() {
        // init_genrand(5489): the standard's ten-thousandth word (C++ [rand.predef]).
        let mut rng = NumpyRandom::new(5489);
        assert_eq!((0..10_000).map(|_| rng.next_word()).last(), Some(4_123_659_995));
    }

    #[test]
    fn a_permutation_holds_every_index_once_and_of_nothing_nothing() {
        let mut order = NumpyRandom::new(1).permutation(1000);
        order.sort_unstable();
        assert_eq!(order, (0..1000).collect::<Vec<_>>());
        assert!(NumpyRandom::new(1).permutation(0).is_empty());
    }
}
