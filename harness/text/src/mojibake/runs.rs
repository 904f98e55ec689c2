//! Runs inside a text that look like UTF-8 in an encoding like Latin-1, each repaired alone.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::code_pages::{ENCODINGS, N_LIKE_LATIN_1};
use super::{fix_encoding, is_bad};

/// First of a character of two bytes.
const FIRST_OF_2: u8 = 1;
/// First of a character of three bytes.
const FIRST_OF_3: u8 = 2;
/// First of a character of four bytes.
const FIRST_OF_4: u8 = 4;
/// Inside a character.
const INSIDE: u8 = 8;
/// Inside a character, and seldom a character of its own next to such runs.
const INSIDE_ONLY: u8 = 16;

/// Dashes, quotation marks, the bullet and the ellipsis: they stand for themselves too.
const OF_THEIR_OWN: &str = "–—―‘’‚“”„•…";

/// What a character may be in UTF-8 that was decoded in one of the encodings like Latin-1.
static ROLES: LazyLock<BTreeMap<char, u8>> = LazyLock::new(|| {
    let mut roles = BTreeMap::from([(' ', INSIDE)]);
    for page in &ENCODINGS[..N_LIKE_LATIN_1] {
        for byte in 0x80..=0xff {
            let c = page.upper_char(byte);
            *roles.entry(c).or_default() |= match byte {
                0x80..=0xbf if OF_THEIR_OWN.contains(c) => INSIDE,
                0x80..=0xbf => INSIDE | INSIDE_ONLY,
                0xc2..=0xdf => FIRST_OF_2,
                0xe0..=0xef => FIRST_OF_3,
                0xf0 | 0xf3 => FIRST_OF_4,
                _ => 0,
            };
        }
    }
    roles
});

/// `text` with each run that looks like UTF-8, is not the whole text and is [`is_bad`] repaired as a text of its own. A
/// run right behind a character that is inside another one is left alone: it is a part of something larger.
pub(super) fn decode_runs(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let mut fixed = String::with_capacity(text.len());
    let mut at = 0;
    while at < chars.len() {
        let is_inside = at > 0 && role(chars[at - 1]) & INSIDE_ONLY != 0;
        let len = if is_inside { 0 } else { run_len(&chars[at..]) };
        let run: String = chars[at..at + len.max(1)].iter().collect();
        let is_meant = 0 < len && len < chars.len() && is_bad(&run);
        fixed.push_str(&if is_meant { fix_encoding(&run) } else { run });
        at += len.max(1);
    }
    fixed
}

/// Characters that look like whole characters of UTF-8, from the first on.
fn run_len(chars: &[char]) -> usize {
    let mut len = 0;
    while let Some(n) = one_len(&chars[len..]) {
        len += n;
    }
    len
}

fn one_len(chars: &[char]) -> Option<usize> {
    let first = role(*chars.first()?);
    let fits = |&(is_first, len): &(u8, usize)| {
        let inside = chars.get(1..len);
        first & is_first != 0 && inside.is_some_and(|rest| rest.iter().all(|&c| role(c) & INSIDE != 0))
    };
    [(FIRST_OF_2, 2), (FIRST_OF_3, 3), (FIRST_OF_4, 4)].iter().find(|kind| fits(kind)).map(|kind| kind.1)
}

fn role(c: char) -> u8 {
    ROLES.get(&c).copied().unwrap_or_default()
}
