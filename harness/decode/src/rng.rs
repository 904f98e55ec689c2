//! The one source of randomness: a counter-based generator (Philox 4x32-10, Salmon et al., SC 2011).
//!
//! A draw is addressed, never taken from a stream, so it does not depend on how many draws another method
//! made, on batch order or on threads. The key is the seed of one image; the address is (purpose, step,
//! slot), where `step` counts the iterations of the decode loop from 0. Slots, unique within a step:
//!
//! | purpose | slot |
//! |---|---|
//! | `Root` | 0, at step 0: the first token |
//! | `Draft` | `slot(parent node, sibling rank)` in a tree; `slot(row, window position)` in a Jacobi window, whose row is 0 where there is one |
//! | `Accept` | `slot(depth of the candidate, sibling rank)`: the walk visits one parent per depth; in place of the rank, the row of a window |
//! | `Resample` | 0: the correction or bonus token, of which a step has one; `slot(0, row)` where rows are decoded side by side |
//! | `Init` | `slot(row, window position)`: first guess of a Jacobi window |
//! | `Skip` | 0: the path a skipping scheduler picks |
//! | `Couple` | `slot(n, window position)`, where n is 0: whether a guess stays; 1, 3: a token that may replace it; 2, 4: whether that one does |
//! | `Gumbel` | the token, whose noise is one word of a draw; in place of the step, the tokens that the image misses from the position on |

/// What a draw is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// The first token, from the prefill.
    Root,
    /// A drafted candidate.
    Draft,
    /// The test of a candidate.
    Accept,
    /// The correction or bonus token.
    Resample,
    /// The first guess for a position nothing is known about (Jacobi).
    Init,
    /// The choice of a path that is taken without the target (VVS).
    Skip,
    /// Whether a guess of a Jacobi window stays, and what replaces it (SCD).
    Couple,
    /// Noise of a token at a position of the image (SCD, coupled seeds).
    Gumbel,
}

/// Draws of noise that are made side by side: as many as the widest vectors have registers for.
pub(crate) const DRAWS: usize = 8;

/// Tokens whose noise is of one draw.
pub(crate) const TOKENS: usize = 4;

/// All draws of one image, as a pure function of their address.
#[derive(Clone, Copy, Debug)]
pub struct Uniforms {
    key: [u32; 2],
    is_coupled: bool,
}

impl Uniforms {
    /// The draws that belong to the seed of one image.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { key: [seed as u32, (seed >> 32) as u32], is_coupled: false }
    }

    /// The same draws; with `is_coupled`, tokens are drawn by the image's Gumbel noise, so that all lossless methods give the
    /// image of plain decoding.
    #[must_use]
    pub fn coupled(self, is_coupled: bool) -> Self {
        Self { is_coupled, ..self }
    }

    /// Whether tokens are drawn by the image's Gumbel noise.
    #[must_use]
    pub fn is_coupled(&self) -> bool {
        self.is_coupled
    }

    /// A uniform number in `[0, 1)` with 53 random bits for `token` at the position from which on `left` tokens are missing. The
    /// four words of one draw are the first bits of four tokens, so that noise of a whole vocabulary takes a quarter of the draws.
    pub(crate) fn noise(&self, left: u32, token: u32) -> f64 {
        let purpose = [Purpose::Gumbel as u32];
        let first =
            philox([[token / TOKENS as u32], [left], purpose, [0]], self.key)[token as usize % TOKENS];
        let [rest, ..] = philox([[token], [left], purpose, [1]], self.key);
        unit(first[0], rest[0])
    }

    /// The first 32 bits of [`noise`](Self::noise) of the tokens of `draws`, `[TOKENS][DRAWS]`: draw `i` is that of the tokens from
    /// `TOKENS * i` on.
    #[inline(always)]
    pub(crate) fn first_bits_of_noise(&self, left: u32, draws: [u32; DRAWS]) -> [[u32; DRAWS]; TOKENS] {
        philox([draws, [left; DRAWS], [Purpose::Gumbel as u32; DRAWS], [0; DRAWS]], self.key)
    }

    /// A uniform number in `[0, 1)` with 53 random bits.
    #[must_use]
    pub fn uniform(&self, purpose: Purpose, step: u32, slot: u32) -> f64 {
        let [[rest], [first], ..] = philox([[slot], [step], [purpose as u32], [0]], self.key);
        unit(first, rest)
    }
}

/// The number in `[0, 1)` whose 53 binary places are `first` and the upper bits of `rest`.
fn unit(first: u32, rest: u32) -> f64 {
    let bits = (u64::from(first) << 32 | u64::from(rest)) >> 11;
    bits as f64 / (1_u64 << 53) as f64
}

/// Packs two indices into one slot, without collisions below 65,536 each.
///
/// # Panics
/// If an index does not fit: drafts are limited to far smaller trees.
#[must_use]
pub fn slot(group: usize, idx: usize) -> u32 {
    assert!(group < 1 << 16 && idx < 1 << 16, "slot ({group}, {idx}) exceeds 16 bits");
    (group << 16 | idx) as u32
}

/// Ten rounds of Philox 4x32 with the constants of Random123, for `N` counters `[4][N]` side by side. Each word is the lower half
/// of 64 bits, as the products need it: so nothing is moved between the lanes of vectors.
#[inline(always)]
fn philox<const N: usize>(mut counter: [[u32; N]; 4], mut key: [u32; 2]) -> [[u32; N]; 4] {
    let mut wide = [[0_u64; N]; 4];
    for (wide, words) in wide.iter_mut().zip(&counter) {
        for (wide, &word) in wide.iter_mut().zip(words) {
            *wide = u64::from(word);
        }
    }
    let lower = |word: u64| word & u64::from(u32::MAX);
    for _ in 0..10 {
        let mut next = [[0; N]; 4];
        for at in 0..N {
            let a = lower(wide[0][at]) * 0xD251_1F53;
            let b = lower(wide[2][at]) * 0xCD9E_8D57;
            next[0][at] = b >> 32 ^ wide[1][at] ^ u64::from(key[0]);
            next[1][at] = b;
            next[2][at] = a >> 32 ^ wide[3][at] ^ u64::from(key[1]);
            next[3][at] = a;
        }
        wide = next;
        key = [key[0].wrapping_add(0x9E37_79B9), key[1].wrapping_add(0xBB67_AE85)];
    }
    for (words, wide) in counter.iter_mut().zip(&wide) {
        for (word, &wide) in words.iter_mut().zip(wide) {
            *word = wide as u32;
        }
    }
    counter
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `kat_vectors` of Random123: zeros, ones, and the digits of pi; one by one, and side by side.
    #[test]
    fn philox_equals_the_published_known_answers() {
        let ones = u32::MAX;
        let of_zeros = [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8];
        let one = |counter: [u32; 4], key| philox(counter.map(|c| [c]), key).map(|[c]| c);
        assert_eq!(one([0; 4], [0; 2]), of_zeros);
        assert_eq!(philox([[0; 3]; 4], [0; 2]), of_zeros.map(|c| [c; 3]));
        assert_eq!(one([ones; 4], [ones; 2]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
        assert_eq!(
            one([0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344], [0xa409_3822, 0x299f_31d0]),
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1]
        );
    }

    #[test]
    fn every_part_of_the_address_and_the_seed_changes_the_draw() {
        let u = |seed: u64, purpose, step, slot| Uniforms::new(seed).uniform(purpose, step, slot);
        let base = u(7, Purpose::Draft, 3, 5);
        assert_eq!(base, u(7, Purpose::Draft, 3, 5));
        let others = [
            u(8, Purpose::Draft, 3, 5),
            u(7 | 1 << 40, Purpose::Draft, 3, 5),
            u(7, Purpose::Accept, 3, 5),
            u(7, Purpose::Draft, 4, 5),
            u(7, Purpose::Draft, 3, 6),
        ];
        assert!(others.iter().all(|&other| other != base));
    }

    #[test]
    fn the_first_bits_of_noise_are_those_of_each_token() {
        let uniforms = Uniforms::new(5);
        let draws = std::array::from_fn(|at| 16 + 5 * at as u32);
        for (word, bits) in uniforms.first_bits_of_noise(7, draws).iter().enumerate() {
            for (draw, &first) in draws.iter().zip(bits) {
                let token = draw * TOKENS as u32 + word as u32;
                let rest = uniforms.noise(7, token) * 2_f64.powi(32) - f64::from(first);
                assert!((0.0..1.0).contains(&rest), "{rest}");
            }
        }
    }

    /// A token has first bits of its own, and so has a position.
    #[test]
    fn noise_repeats_nowhere() {
        let uniforms = Uniforms::new(5);
        let mut noise: Vec<u64> = (0..40)
            .flat_map(|left| (0..40).map(move |token| uniforms.noise(left, token).to_bits()))
            .collect();
        noise.sort_unstable();
        noise.dedup();
        assert_eq!(noise.len(), 1600);
    }

    #[test]
    fn draws_are_uniform_in_mean_and_variance() {
        let n = 100_000;
        let draws: Vec<f64> = (0..n).map(|i| Uniforms::new(1).uniform(Purpose::Accept, i, 0)).collect();
        assert!(draws.iter().all(|u| (0.0..1.0).contains(u)));
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|u| (u - mean).powi(2)).sum::<f64>() / f64::from(n);
        // Standard errors at n = 1e5: 9.1e-4 for the mean, 2.4e-4 for the variance; 4 of them.
        assert!((mean - 0.5).abs() < 3.7e-3, "mean {mean}");
        assert!((variance - 1.0 / 12.0).abs() < 1e-3, "variance {variance}");
    }

    #[test]
    fn slots_do_not_collide() {
        let mut slots: Vec<u32> = (0..70).flat_map(|a| (0..70).map(move |b| slot(a, b))).collect();
        slots.sort_unstable();
        slots.dedup();
        assert_eq!(slots.len(), 4900);
    }
}
