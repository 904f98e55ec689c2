//! HTML's character references, in the two readings that CLIP's and LlamaGen's cleaning mix: Python's `html.unescape`, which is
//! HTML5's, and ftfy's, which takes whole names only and some in capitals.

use std::{collections::BTreeMap, sync::LazyLock};

use crate::text::ftfy::of_windows_1252;

/// Longest name that HTML5's reading looks at, in characters.
const MAX_NAME: usize = 32;
/// Longest name that ftfy's reading looks at.
const MAX_WHOLE_NAME: usize = 24;

/// Characters by name, as `&amp;`; names that HTML knows without their semicolon are there twice.
static NAMED: LazyLock<BTreeMap<&'static str, &'static str>> =
    LazyLock::new(|| entities::ENTITIES.iter().map(|entity| (entity.entity, entity.characters)).collect());

/// Replaces every reference, those without a semicolon and those with more letters behind them included.
pub fn unescape(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        found.push_str(&rest[..at]);
        rest = &rest[at..];
        let reference = &rest[..reference_len(rest)];
        found.push_str(&of_reference(reference));
        rest = &rest[reference.len()..];
    }
    found + rest
}

/// Replaces references that end in their semicolon; names of small letters count in capitals too and stand for the
/// capital then, if HTML5 knows no such name.
pub fn unescape_whole(text: &str) -> String {
    let mut found = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        found.push_str(&rest[..at]);
        rest = &rest[at..];
        let name = rest[1..].strip_prefix('#').unwrap_or(&rest[1..]);
        let len = name.bytes().take_while(u8::is_ascii_alphanumeric).count();
        let is_whole = (1..=MAX_WHOLE_NAME).contains(&len) && name[len..].starts_with(';');
        let end = if is_whole { rest.len() - name.len() + len + 1 } else { 1 };
        let reference = &rest[..end];
        found.push_str(&if is_whole { of_whole(reference) } else { reference.to_owned() });
        rest = &rest[end..];
    }
    found + rest
}

/// Bytes of the reference that `text` begins with, at least those of its `&`.
fn reference_len(text: &str) -> usize {
    let with_semicolon = |len: usize| len + usize::from(text[len..].starts_with(';'));
    let counted = |from: usize, is_digit: fn(&u8) -> bool| {
        let n = text.bytes().skip(from).take_while(is_digit).count();
        if n == 0 { 1 } else { with_semicolon(from + n) }
    };
    match text.as_bytes().get(1..) {
        Some([b'#', b'x' | b'X', ..]) => counted(3, u8::is_ascii_hexdigit),
        Some([b'#', ..]) => counted(2, u8::is_ascii_digit),
        _ => {
            let ends = |c: char| matches!(c, '\t' | '\n' | '\u{c}' | ' ' | '<' | '&' | '#' | ';');
            let name = text[1..].chars().take(MAX_NAME).take_while(|&c| !ends(c));
            let len = name.map(char::len_utf8).sum::<usize>();
            if len == 0 { 1 } else { with_semicolon(1 + len) }
        }
    }
}

fn of_reference(reference: &str) -> String {
    if let Some(number) = reference.strip_prefix("&#") {
        return of_number(number.trim_end_matches(';'));
    }
    if let Some(characters) = NAMED.get(reference) {
        return (*characters).to_owned();
    }
    // The longest known name that it begins with, of at least two letters.
    let ends = reference.char_indices().map(|(at, _)| at).skip(3);
    for end in ends.collect::<Vec<_>>().into_iter().rev() {
        if let Some(characters) = NAMED.get(&reference[..end]) {
            return format!("{characters}{}", &reference[end..]);
        }
    }
    reference.to_owned()
}

/// `digits`: decimal, or hexadecimal behind an `x`. What no document may contain becomes nothing.
fn of_number(digits: &str) -> String {
    let number = match digits.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => digits.parse(),
    };
    // Only an overflow can fail here, and that is beyond the last character too.
    let number = number.unwrap_or(u32::MAX);
    if let Some(c) = of_windows_1252(number) {
        return c.to_string();
    }
    match (number, char::from_u32(number)) {
        (0, _) | (_, None) => '\u{fffd}'.to_string(),
        (0x1..=0x8 | 0xb | 0xe..=0x1f | 0x7f | 0xfdd0..=0xfdef, _) => String::new(),
        (number, _) if number & 0xfffe == 0xfffe => String::new(),
        (_, Some(c)) => c.to_string(),
    }
}

fn of_whole(reference: &str) -> String {
    if let Some(characters) = NAMED.get(reference) {
        return (*characters).to_owned();
    }
    let unescaped = unescape(reference);
    if reference.starts_with("&#") {
        return if unescaped.contains(';') { reference.to_owned() } else { unescaped };
    }
    let is_capital = reference == reference.to_ascii_uppercase() && unescaped == reference;
    let small = NAMED.get(reference.to_ascii_lowercase().as_str());
    small.filter(|_| is_capital).map_or(reference.to_owned(), |characters| characters.to_uppercase())
}
