//! How many independent observations an interval needs that is formed from the observations themselves, by a bootstrap or by
//! their order, and how many decide. Independent are prompts: samples of one prompt and images that were decoded together count
//! once.
//!
//! The range of `n` values holds their median with probability `1 - 2^(1 - n)`, so fewer than six cannot have an interval of
//! the median at 95 %, whatever their distribution. A bootstrap never leaves the range of what it draws from, and is refused
//! below the same number; its intervals of two to five observations hold the truth far less often than they say. Student's t
//! assumes a normal distribution instead and is valid from two values on.

use crate::error::{StatsError, require_count};
use crate::student::student_quantile;

/// The fewest observations of an interval at 95 %.
pub const FEWEST_OBSERVATIONS: usize = 6;

/// The fewest observations of an interval at `level` in (0, 1): those whose range holds the median that often, and at least 2.
#[must_use]
pub fn fewest_observations(level: f64) -> usize {
    (1.0 - (1.0 - level).log2()).ceil().max(2.0) as usize
}

/// More observations than this are not named: nobody makes them.
const MOST_NAMED: u64 = 1_000_000;

/// An interval that holds a value, as seen from its mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Undecided {
    /// Observations, at least 2.
    pub n: u64,
    /// How far the value is from the mean.
    pub distance: f64,
    /// How far the interval's end on its side is.
    pub side: f64,
    /// Half the width of the interval.
    pub half: f64,
}

/// Returns the least number of observations, above those of `open`, whose interval at the two-sided `level` in (0, 1) no longer
/// holds its value, if mean and spread stay as they are. Half the width shrinks as Student's t over the root of the observations,
/// and the share by which a side is longer or shorter than that as one over the root: the skewness of a mean (Hall, The
/// Bootstrap and Edgeworth Expansion, 1992, chapter 3). `None` for more than a million, and for no number.
///
/// # Errors
/// Fewer than two observations, and a `level` outside (0, 1).
pub fn observations_to_decide(open: &Undecided, level: f64) -> Result<Option<u64>, StatsError> {
    let Undecided { n, distance, side, half } = *open;
    require_count("observations to decide", 2, n)?;
    if !(0.0 < level && level < 1.0) {
        return Err(StatsError::OutOfRange {
            what: "observations to decide: level",
            at: 0,
            value: level,
            range: "(0, 1)",
        });
    }
    let t = |n: u64| student_quantile(n - 1, 0.5 + level / 2.0);
    // An interval of no width has no sides that differ.
    let (t_now, skew) = (t(n)?, if half == 0.0 { 0.0 } else { side / half - 1.0 });
    let decides = |more: u64| -> Result<bool, StatsError> {
        let shrunk = (n as f64 / more as f64).sqrt();
        Ok(half * t(more)? / t_now * shrunk * (1.0 + skew * shrunk) < distance)
    };
    let (mut few, mut enough) = (n, MOST_NAMED);
    if n >= MOST_NAMED || !decides(enough)? {
        return Ok(None);
    }
    while enough - few > 1 {
        let middle = few.midpoint(enough);
        if decides(middle)? { enough = middle } else { few = middle }
    }
    Ok(Some(enough))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;

    #[test]
    fn as_many_as_decide_shrink_the_interval_past_the_value_and_one_fewer_do_not() {
        let even = |n: u64, distance: f64| Undecided { n, distance, side: 1.0, half: 1.0 };
        // t(.975) over the root of n, by SciPy: 1.0494356 at 6, 0.1556440 at 161, 0.1551556 at 162.
        assert_eq!(observations_to_decide(&even(6, 0.1553 / 1.049_435_6), 0.95).unwrap(), Some(162));
        assert_eq!(observations_to_decide(&even(6, 0.1557 / 1.049_435_6), 0.95).unwrap(), Some(161));
        // A value at the end is past it with one more, and so is any where nothing is spread; one at the mean never is.
        assert_eq!(observations_to_decide(&even(6, 1.0), 0.95).unwrap(), Some(7));
        let still = Undecided { side: 0.0, half: 0.0, ..even(6, 0.1) };
        assert_eq!(observations_to_decide(&still, 0.95).unwrap(), Some(7));
        for never in [0.0, 1e-6, f64::NAN] {
            assert_eq!(observations_to_decide(&even(6, never), 0.95).unwrap(), None);
        }
        assert!(
            observations_to_decide(&even(1, 0.5), 0.95).is_err()
                && observations_to_decide(&even(6, 0.5), 1.0).is_err()
        );
    }

    #[test]
    fn a_short_side_of_few_observations_grows_towards_half_the_width() {
        // At 24 the root of 6 / 24 is 1/2: 1 * t(23)/t(5) / 2 * (1 - 0.4 / 2), t(.975) by SciPy 2.0686576 and 2.5705818.
        let end = 2.068_657_6 / 2.570_581_8 / 2.0 * 0.8;
        let short = |distance: f64| Undecided { n: 6, distance, side: 0.6, half: 1.0 };
        assert_eq!(observations_to_decide(&short(end * 1.0001), 0.95).unwrap(), Some(24));
        assert_eq!(observations_to_decide(&short(end * 0.9999), 0.95).unwrap(), Some(25));
        // A value just inside the short end: the side first grows, so one more observation does not do.
        assert_eq!(observations_to_decide(&Undecided { side: 0.3, ..short(0.299) }, 0.95).unwrap(), Some(14));
    }

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
