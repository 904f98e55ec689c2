//! How numbers are written for people: as many decimals as their intervals justify, the same for a whole
//! column.

/// Decimals that a column needs: two digits of the widest interval, or four of the largest value where
/// there are no intervals.
pub fn column_decimals(values: &[(f64, Option<[f64; 2]>)]) -> usize {
    let widest = values.iter().filter_map(|(_, ci)| ci.map(|[lo, hi]| (hi - lo) / 2.0)).fold(0.0, f64::max);
    let (scale, digits) = if widest > 0.0 {
        (widest, 2)
    } else {
        (values.iter().map(|(value, _)| value.abs()).fold(0.0, f64::max), 4)
    };
    let mut decimals = digits - 1;
    let mut rest = scale;
    while rest >= 10.0 && decimals > 0 {
        rest /= 10.0;
        decimals -= 1;
    }
    while rest < 1.0 && rest > 0.0 && decimals < 6 {
        rest *= 10.0;
        decimals += 1;
    }
    decimals
}

/// A value with its interval: `1.92 [1.85, 2.01]`, or `1.92 ± 0.08` where both sides are alike. No zero
/// keeps a minus sign.
pub fn with_interval(value: f64, ci95: Option<[f64; 2]>, decimals: usize, brackets: bool) -> String {
    let number = fixed(value, decimals);
    let Some([lo, hi]) = ci95 else { return number };
    let (below, above) = (value - lo, hi - value);
    let alike = below >= 0.0 && above >= 0.0 && fixed(below, decimals) == fixed(above, decimals);
    if alike && !brackets {
        format!("{number} ± {}", fixed(above, decimals))
    } else {
        format!("{number} [{}, {}]", fixed(lo, decimals), fixed(hi, decimals))
    }
}

/// A value with a fixed number of decimals. Its last bits do not count: a mean of 7/8 is one number, in whatever order it was
/// summed, and not 0.87 in one row and 0.88 in another.
pub fn fixed(value: f64, decimals: usize) -> String {
    let value: f64 = format!("{value:.13e}").parse().unwrap_or(value);
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|b| b == b'0' || b == b'.') => rest.to_owned(),
        _ => text,
    }
}

/// A value with at least `least` decimals, and as many more (up to 12 in all) as show on which side of each of `bounds` it
/// is: 0.0304 next to a bound of 0.03 with two decimals, not 0.03.
pub fn deciding(value: f64, bounds: &[f64], least: usize) -> String {
    const MOST: usize = 12;
    let is_faithful = |text: &str| {
        let shown: f64 = text.parse().unwrap_or(value);
        bounds.iter().all(|bound| shown.partial_cmp(bound) == value.partial_cmp(bound))
    };
    let texts = (least..MOST).map(|decimals| fixed(value, decimals));
    texts.into_iter().find(|text| is_faithful(text)).unwrap_or_else(|| fixed(value, MOST.max(least)))
}

/// A value with its interval, as [`deciding`] writes each of the three numbers: `10 [-0.4, 16]` next to a bound of 0, not
/// `10 [0, 16]`.
pub fn deciding_interval(value: f64, ci95: Option<[f64; 2]>, bounds: &[f64], least: usize) -> String {
    let shown = |number: f64| deciding(number, bounds, least);
    match ci95 {
        Some([low, high]) => format!("{} [{}, {}]", shown(value), shown(low), shown(high)),
        None => shown(value),
    }
}

/// A number as a person types it: no trailing zeros.
pub fn plain(value: f64) -> String {
    format!("{value}")
}

/// The letters of marks; there is no raised q.
const RAISED: &str = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ";
const PLAIN: &str = "abcdefghijklmnoprstuvwxyz";

/// The plain letter of one of a mark; `None` for any other character.
pub(crate) fn raised_letter(c: char) -> Option<char> {
    let at = RAISED.chars().position(|raised| raised == c)?;
    PLAIN.chars().nth(at)
}

/// The mark of a footnote: a raised letter, since a raised digit after a number reads as a power.
pub fn mark(index: usize) -> String {
    let n = RAISED.chars().count();
    let letter = RAISED.chars().nth(index % n).expect("the remainder is below the number of letters");
    String::from(letter).repeat(1 + index / n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_widest_interval_decides_the_decimals() {
        assert_eq!(column_decimals(&[(5.1, Some([5.0, 5.2])), (5.0, Some([4.99, 5.01]))]), 2);
        assert_eq!(column_decimals(&[(512.0, Some([500.0, 524.0]))]), 0);
        assert_eq!(column_decimals(&[(512.0, None), (3.0, None)]), 1);
        assert_eq!(column_decimals(&[(0.012, None)]), 5);
        assert_eq!(column_decimals(&[(1e-12, Some([0.0, 2e-12]))]), 6);
        assert_eq!(column_decimals(&[(1e12, None)]), 0);
        assert_eq!(column_decimals(&[]), 3);
        assert_eq!(column_decimals(&[(0.0, Some([0.0, 0.0]))]), 3);
    }

    #[test]
    fn the_last_bit_of_a_mean_decides_no_digit() {
        let below = 0.875_f64.next_down();
        assert_eq!((fixed(0.875, 2), fixed(below, 2)), ("0.88".to_owned(), "0.88".to_owned()));
        assert_eq!(fixed(0.8749, 2), "0.87");
        assert_eq!((fixed(f64::NAN, 1), fixed(f64::INFINITY, 1)), ("NaN".to_owned(), "inf".to_owned()));
        assert_eq!(fixed(1e300, 0).len(), 301);
    }

    #[test]
    fn digits_are_added_until_the_side_of_a_bound_is_seen() {
        assert_eq!(deciding(0.0304, &[0.03], 2), "0.0304");
        assert_eq!(deciding(0.5, &[0.03], 2), "0.50");
        assert_eq!(deciding(0.03, &[0.03], 2), "0.03");
        assert_eq!(deciding(-0.0004, &[0.0], 1), "-0.0004");
        assert_eq!(deciding(4.999_96, &[5.0], 2), "4.99996");
        assert_eq!(deciding(1e-15, &[0.0], 2), "0.000000000000");
        assert_eq!(deciding(2.0, &[], 3), "2.000");
        assert_eq!(deciding_interval(10.0, Some([-0.375, 16.0]), &[0.0], 0), "10 [-0.4, 16]");
        assert_eq!(deciding_interval(0.2, None, &[0.0], 0), "0.2");
    }

    #[test]
    fn intervals_are_short_where_both_sides_are_alike() {
        assert_eq!(with_interval(1.0, Some([0.9, 1.1]), 2, false), "1.00 ± 0.10");
        assert_eq!(with_interval(1.0, Some([0.9, 1.1]), 2, true), "1.00 [0.90, 1.10]");
        assert_eq!(with_interval(1.0, Some([0.9, 1.3]), 1, false), "1.0 [0.9, 1.3]");
        assert_eq!(with_interval(1.0, None, 1, false), "1.0");
        assert_eq!(with_interval(-0.001, None, 2, false), "0.00");
        assert_eq!(with_interval(2.0, Some([2.1, 2.3]), 1, false), "2.0 [2.1, 2.3]");
    }

    #[test]
    fn footnote_marks_never_run_out_nor_repeat() {
        assert_eq!((mark(0), mark(25)), ("ᵃ".to_owned(), "ᵃᵃ".to_owned()));
        let marks: std::collections::BTreeSet<String> = (0..100).map(mark).collect();
        assert_eq!(marks.len(), 100);
        let letters: String = RAISED.chars().filter_map(raised_letter).collect();
        assert_eq!(letters, PLAIN);
    }
}
