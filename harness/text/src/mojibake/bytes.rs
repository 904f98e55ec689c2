//! Bytes that would be UTF-8 but for what a wrong decoding did to them.

use super::code_pages::SUBSTITUTE;

/// A byte at a place of a pattern: one of these ranges, both ends included.
type Place = &'static [(u8, u8)];
/// A byte at each place.
type Pattern = &'static [Place];

const SPACE: Place = &[(b' ', b' ')];
/// Bytes inside a character.
const INSIDE: Place = &[(0x80, 0xbf)];
/// The same but for 0x85 and 0xA0, which stand for blanks in other encodings.
const INSIDE_NO_BLANK: Place = &[(0x80, 0x84), (0x86, 0x9f), (0xa1, 0xbf)];
/// Lost, or inside a character.
const LOST_OR_INSIDE: Place = &[(SUBSTITUTE, SUBSTITUTE), (0x80, 0xbf)];
const LOST: Place = &[(SUBSTITUTE, SUBSTITUTE), (b'?', b'?')];
const LOST_MARK_OR_INSIDE: Place = &[(SUBSTITUTE, SUBSTITUTE), (b'?', b'?'), (0x80, 0xbf)];
const HIGH_SURROGATE: Place = &[(0xa0, 0xaf)];
const LOW_SURROGATE: Place = &[(0xb0, 0xbf)];
const SURROGATE: Place = &[(0xed, 0xed)];
const FIRST_OF_3: Place = &[(0xe0, 0xef)];
const FIRST_OF_4: Place = &[(0xf0, 0xf4)];
/// The first byte of nearly all characters of four bytes that are in use.
const F0: Place = &[(0xf0, 0xf0)];

/// Characters of UTF-8 with a space where the byte 0xA0 was; of two bytes only those that are likely.
const WITH_SPACE: [Pattern; 6] = [
    &[&[(0xc2, 0xc3), (0xc5, 0xc5), (0xce, 0xce), (0xd0, 0xd0), (0xd9, 0xd9)], SPACE],
    &[&[(0xe2, 0xe3)], SPACE, INSIDE_NO_BLANK],
    &[&[(0xe0, 0xe3)], INSIDE_NO_BLANK, SPACE],
    &[F0, SPACE, INSIDE, INSIDE],
    &[F0, INSIDE, SPACE, INSIDE],
    &[F0, INSIDE, INSIDE, SPACE],
];

/// Characters of UTF-8, or pairs of surrogates, of which bytes were lost; `?` stands for one at most.
const WITH_LOSS: [Pattern; 10] = [
    &[&[(0xc2, 0xdf)], &[(SUBSTITUTE, SUBSTITUTE)]],
    &[&[(0xc2, 0xc3)], &[(b'?', b'?')]],
    &[SURROGATE, HIGH_SURROGATE, LOST, SURROGATE, LOW_SURROGATE, LOST_MARK_OR_INSIDE],
    &[SURROGATE, HIGH_SURROGATE, LOST_MARK_OR_INSIDE, SURROGATE, LOW_SURROGATE, LOST],
    &[FIRST_OF_3, LOST, LOST_OR_INSIDE],
    &[FIRST_OF_3, LOST_OR_INSIDE, LOST],
    &[FIRST_OF_4, LOST, LOST_OR_INSIDE, LOST_OR_INSIDE],
    &[FIRST_OF_4, LOST_OR_INSIDE, LOST, LOST_OR_INSIDE],
    &[FIRST_OF_4, LOST_OR_INSIDE, LOST_OR_INSIDE, LOST],
    &[&[(SUBSTITUTE, SUBSTITUTE)]],
];

/// How `à` begins where its second byte became a space that is a space too, unless one of [`NOT_A_WORD`] follows.
const A_GRAVE: &[u8] = &[0xc3, b' '];
/// What follows where `Ã ` is the beginning of a word (Portuguese), or one space of several.
const NOT_A_WORD: [&[u8]; 5] = [b" ", b"quele", b"quela", b"quilo", b"s "];

/// `bytes` with 0xA0 where characters of UTF-8 have a space instead.
pub(super) fn with_a0(bytes: Vec<u8>) -> Vec<u8> {
    let has_space = |at: usize| len_of(&WITH_SPACE, &bytes[at..]).is_some();
    if !(0..bytes.len()).any(has_space) {
        return bytes;
    }
    let mut words = Vec::with_capacity(bytes.len() + 1);
    let mut rest = bytes.as_slice();
    while let Some((&first, after)) = rest.split_first() {
        match rest.strip_prefix(A_GRAVE) {
            Some(follows) if !NOT_A_WORD.iter().any(|end| follows.starts_with(end)) => {
                words.extend([0xc3, 0xa0, b' ']);
                rest = follows;
            }
            _ => {
                words.push(first);
                rest = after;
            }
        }
    }
    replace(&words, &WITH_SPACE, |found, kept| {
        kept.extend(found.iter().map(|&byte| if byte == b' ' { 0xa0 } else { byte }));
    })
}

/// `bytes` with U+FFFD for every character of which bytes were lost.
pub(super) fn with_replacements(bytes: &[u8]) -> Vec<u8> {
    replace(bytes, &WITH_LOSS, |_, kept| kept.extend('\u{fffd}'.to_string().bytes()))
}

/// UTF-8 in which characters beyond U+FFFF may be pairs of surrogates (CESU-8) and U+0000 may be two bytes (Java's).
/// `None` where it is not that.
pub(super) fn decode_utf8_variants(bytes: &[u8]) -> Option<String> {
    let mut text = String::with_capacity(bytes.len());
    let (mut rest, mut at) = (bytes, 0);
    while at < rest.len() {
        let (c, len) = match rest[at..] {
            [0xc0, 0x80, ..] => ('\0', 2),
            [0xed, a @ 0xa0..=0xaf, b @ 0x80..=0xbf, 0xed, c @ 0xb0..=0xbf, d @ 0x80..=0xbf, ..] => {
                let bits = [(a & 0x0f, 16), (b & 0x3f, 10), (c & 0x0f, 6), (d & 0x3f, 0)];
                let number = bits.into_iter().map(|(bits, shift)| u32::from(bits) << shift).sum::<u32>();
                (char::from_u32(0x1_0000 + number)?, 6)
            }
            _ => {
                at += 1;
                continue;
            }
        };
        text.push_str(std::str::from_utf8(&rest[..at]).ok()?);
        text.push(c);
        rest = &rest[at + len..];
        at = 0;
    }
    text.push_str(std::str::from_utf8(rest).ok()?);
    Some(text)
}

/// Bytes of the first of `patterns` that `bytes` begin with.
fn len_of(patterns: &[Pattern], bytes: &[u8]) -> Option<usize> {
    let fits = |pattern: &&Pattern| {
        let is_in =
            |(place, byte): (&Place, &u8)| place.iter().any(|(low, high)| (low..=high).contains(&byte));
        pattern.len() <= bytes.len() && pattern.iter().zip(bytes).all(is_in)
    };
    patterns.iter().find(fits).map(|pattern| pattern.len())
}

/// `bytes` with what `put` writes in place of each that fits one of `patterns`, from the left.
fn replace(bytes: &[u8], patterns: &[Pattern], put: impl Fn(&[u8], &mut Vec<u8>)) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        match len_of(patterns, &bytes[at..]) {
            Some(len) => {
                put(&bytes[at..at + len], &mut kept);
                at += len;
            }
            None => {
                kept.push(bytes[at]);
                at += 1;
            }
        }
    }
    kept
}
