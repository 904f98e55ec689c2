//! Letters, numbers and marks that Unicode 14 (2021) does not know. How a tool lowers, composes and splits them depends
//! on the version of its Unicode: Python 3.11 has 14, 3.14 has 16.

/// First and last of each range; between two of a range Unicode 14 knows nothing either.
const NEWER: &[(u32, u32)] = &[
    (0x558, 0x558),
    (0x58b, 0x58c),
    (0x5c8, 0x5c9),
    (0x88f, 0x88f),
    (0x897, 0x897),
    (0xb53, 0xb54),
    (0xc5c, 0xc5c),
    (0xcdc, 0xcdc),
    (0xcf3, 0xcf3),
    (0xece, 0xece),
    (0x1acf, 0x1af0),
    (0x1c89, 0x1c8a),
    (0x208f, 0x208f),
    (0x209d, 0x209f),
    (0xa7cb, 0xa7cf),
    (0xa7d2, 0xa7d2),
    (0xa7d4, 0xa7d4),
    (0xa7da, 0xa7f1),
    (0xab6c, 0xab6d),
    (0x105c0, 0x105f3),
    (0x107bb, 0x107bf),
    (0x10940, 0x10959),
    (0x10d40, 0x10d85),
    (0x10ec2, 0x10eff),
    (0x1123f, 0x11241),
    (0x11380, 0x113e2),
    (0x116d0, 0x116e3),
    (0x11b0a, 0x11bf9),
    (0x11db0, 0x11df1),
    (0x11f00, 0x11f5a),
    (0x1246f, 0x1246f),
    (0x12475, 0x1247f),
    (0x12550, 0x12686),
    (0x1342f, 0x1342f),
    (0x13440, 0x143fa),
    (0x16100, 0x16139),
    (0x16d40, 0x16d79),
    (0x16ea0, 0x16ed3),
    (0x16ff2, 0x16ff6),
    (0x187f8, 0x187ff),
    (0x18cd6, 0x18cff),
    (0x18d09, 0x191d2),
    (0x1b123, 0x1b132),
    (0x1b155, 0x1b155),
    (0x1b168, 0x1b168),
    (0x1ccf0, 0x1ccf9),
    (0x1d127, 0x1d128),
    (0x1d250, 0x1d2d3),
    (0x1d6a6, 0x1d6a6),
    (0x1df1f, 0x1dfff),
    (0x1e030, 0x1e08f),
    (0x1e4d0, 0x1e6ff),
    (0x2b739, 0x2b73f),
    (0x2b81e, 0x2b81e),
    (0x2cea2, 0x2cead),
    (0x2ebf0, 0x2ee5d),
    (0x31350, 0x3fc3f),
];

/// Whether `c` is a letter, a number or a mark that came with a version of Unicode after 14.
pub fn is_newer(c: char) -> bool {
    let after = NEWER.partition_point(|&(first, _)| first <= c.into());
    after.checked_sub(1).is_some_and(|idx| u32::from(c) <= NEWER[idx].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_marks_and_numbers_after_unicode_14_are_newer_and_emoji_are_not() {
        // Glagolitic YU came with 4.1, its capital with a tail with 14; the others with 15, 15, 16, 16 and 15.1.
        for (c, expected) in [
            ('a', false),
            ('\u{1e}', false),
            ('\u{2c5f}', false),
            ('\u{cf3}', true),
            ('\u{1e4d0}', true),
            ('\u{a7cb}', true),
            ('\u{16d63}', true),
            ('\u{2ebf0}', true),
            ('\u{1fae8}', false),
            ('\u{10ffff}', false),
        ] {
            assert_eq!(is_newer(c), expected, "{c:?}");
        }
        assert!(NEWER.windows(2).all(|pair| pair[0].0 <= pair[0].1 && pair[0].1 < pair[1].0));
    }
}
