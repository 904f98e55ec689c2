//! How many independent observations an interval needs that is formed from the observations themselves, by a bootstrap or by
//! their order. Independent are prompts: samples of one prompt and images that were decoded together count once.
//!
//! The range of `n` values holds their median with probability `1 - 2^(1 - n)`, so fewer than six cannot have an interval of
//! the median at 95 %, whatever their distribution. A bootstrap never leaves the range of what it draws from, and is refused
//! below the same number; its intervals of two to five observations hold the truth far less often than they say. Student's t
//! assumes a normal distribution instead and is valid from two values on.

/// The fewest observations of an interval at 95 %.
pub const FEWEST_OBSERVATIONS: usize = 6;

/// The fewest observations of an interval at `level` in (0, 1): those whose range holds the median that often, and at least 2.
#[must_use]
pub fn fewest_observations(level: f64) -> usize {
    (1.0 - (1.0 - level).log2()).ceil().max(2.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_of_the_fewest_values_holds_the_median_at_the_level_and_that_of_one_fewer_does_not() {
        for level in [0.5, 0.8, 0.9, 0.95, 0.99] {
            let held = |n: usize| 1.0 - 2_f64.powi(1 - n as i32);
            let fewest = fewest_observations(level);
            assert!(held(fewest) >= level && (fewest == 2 || held(fewest - 1) < level), "{level}: {fewest}");
        }
        assert_eq!(fewest_observations(0.95), FEWEST_OBSERVATIONS);
    }
}
