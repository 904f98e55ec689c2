//! Random numbers of one scene: a SplitMix64 stream (Steele, Lea and Flood 2014) keyed by
//! `(seed, index, purpose)`, so that one part of a scene never shifts the draws of another.

/// What a stream is used for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// Sky, ground, horizon, objects and their places.
    Layout,
    /// Texture of the sky.
    Sky,
    /// Texture of the ground.
    Ground,
    /// Texture of the object at this position of the object list.
    Object(usize),
    /// Sensor noise over all pixels.
    Pixels,
}

impl Purpose {
    fn key(self) -> u64 {
        match self {
            Self::Layout => 0,
            Self::Sky => 1,
            Self::Ground => 2,
            Self::Pixels => 3,
            Self::Object(position) => 16 + position as u64,
        }
    }
}

const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// One stream of draws.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    state: u64,
}

impl Stream {
    pub(super) fn new(seed: u64, index: u64, purpose: Purpose) -> Self {
        let mut state = mix(seed.wrapping_add(GOLDEN));
        state = mix(state ^ index.wrapping_mul(GOLDEN).wrapping_add(GOLDEN));
        state = mix(state ^ purpose.key().wrapping_mul(GOLDEN).wrapping_add(GOLDEN));
        Self { state }
    }

    /// The next 64 random bits.
    pub(super) fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        mix(self.state)
    }

    /// A number in `0..n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (((self.bits() >> 32) * n as u64) >> 32) as usize
    }

    /// A number in `[0, 1)`, a multiple of 2^-24.
    pub(super) fn unit(&mut self) -> f32 {
        (self.bits() >> 40) as f32 * (1.0 / 16_777_216.0)
    }

    /// A number in `[low, high)`.
    pub(super) fn between(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.unit()
    }

    /// Two independent, nearly normal numbers of mean 0 and deviation 1: sums of four bytes.
    pub(super) fn normal_pair(&mut self) -> [f32; 2] {
        let bits = self.bits();
        let sum = |word: u64| (0..4).map(|byte| (word >> (8 * byte)) & 0xff).sum::<u64>() as f32;
        // Four uniform bytes have mean 510 and variance 4 * (256^2 - 1) / 12 = 147.8^2.
        [bits & 0xffff_ffff, bits >> 32].map(|word| (sum(word) - 510.0) * (1.0 / 147.800_77))
    }
}

fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::{Purpose, Stream};

    #[test]
    fn near_normal_draws_have_mean_zero_and_deviation_one() {
        let mut stream = Stream::new(7, 0, Purpose::Pixels);
        let draws: Vec<f64> = (0..50_000).flat_map(|_| stream.normal_pair()).map(f64::from).collect();
        let n = draws.len() as f64;
        let mean = draws.iter().sum::<f64>() / n;
        let deviation = (draws.iter().map(|d| d * d).sum::<f64>() / n - mean * mean).sqrt();
        // Standard errors: 0.0032 for the mean, 0.0022 for the deviation; four of each.
        assert!(mean.abs() < 0.0127, "mean {mean}");
        assert!((deviation - 1.0).abs() < 0.009, "deviation {deviation}");
    }

    #[test]
    fn streams_of_different_keys_differ() {
        let first = |seed, index, purpose| Stream::new(seed, index, purpose).bits();
        let mut draws = vec![];
        for seed in 0..4 {
            for index in 0..4 {
                for purpose in [Purpose::Layout, Purpose::Sky, Purpose::Object(0), Purpose::Object(1)] {
                    draws.push(first(seed, index, purpose));
                }
            }
        }
        let n_draws = draws.len();
        draws.sort_unstable();
        draws.dedup();
        assert_eq!(draws.len(), n_draws);
    }
}
