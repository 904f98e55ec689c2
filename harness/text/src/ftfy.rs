//! Everything that `ftfy.fix_text` (6.3) repairs with its own settings, in its order: entities of HTML, wrong encodings,
//! C1 controls, ligatures, full- and half-width forms, curly quotes, line breaks, terminal escapes, controls; composed
//! (NFC).

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

use crate::html::unescape_whole;
use crate::mojibake::{fix_encoding, of_windows_1252};

/// `text` with everything repaired, line by line; from the first line with a `<` on, entities stay, because that is
/// probably markup.
#[must_use]
pub fn fix_text(text: &str) -> String {
    fixed(text, true)
}

/// Whether a part of `text` was decoded in a wrong encoding and [`fix_text`] repairs it.
#[must_use]
pub fn repairs_encoding(text: &str) -> bool {
    fixed(text, true) != fixed(text, false)
}

fn fixed(text: &str, with_encoding: bool) -> String {
    let mut is_markup = false;
    let fix = |line: &str| {
        is_markup |= line.contains('<');
        fix_line(line, !is_markup, with_encoding)
    };
    text.split_inclusive('\n').map(fix).collect()
}

/// Repeats the steps until they change nothing.
fn fix_line(line: &str, with_entities: bool, with_encoding: bool) -> String {
    let mut text = line.to_owned();
    // None of the steps changes such text, and most captions are such.
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n') && byte != b'&') {
        return text;
    }
    loop {
        let before = text.clone();
        if with_entities {
            text = unescape_whole(&text);
        }
        if with_encoding {
            text = fix_encoding(&text);
        }
        text = text.chars().flat_map(replaced).collect();
        text = text.replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}', '\u{85}'], "\n");
        text = without_terminal_escapes(&text).chars().filter(|&c| !is_control(c)).nfc().collect();
        if text == before {
            return text;
        }
    }
}

/// Controls of Windows-1252, Latin ligatures, full- and half-width forms and curly quotes, each as the characters that
/// stand for it.
fn replaced(c: char) -> impl Iterator<Item = char> {
    let c = of_windows_1252(c.into()).unwrap_or(c);
    let text: String = match ligature(c) {
        Some(letters) => letters.to_owned(),
        None if c == '\u{3000}' => " ".to_owned(),
        None if ('\u{ff01}'..'\u{fff0}').contains(&c) => std::iter::once(c).nfkc().collect(),
        None => c.to_string(),
    };
    text.chars().map(straight).collect::<Vec<_>>().into_iter()
}

fn straight(c: char) -> char {
    match c {
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2bc}' | '\u{2018}'..='\u{201b}' => '\'',
        c => c,
    }
}

/// Letters of a Latin ligature or digraph.
fn ligature(c: char) -> Option<&'static str> {
    Some(match c {
        'Ĳ' => "IJ",
        'ĳ' => "ij",
        'ŉ' => "ʼn",
        'Ǳ' => "DZ",
        'ǲ' => "Dz",
        'ǳ' => "dz",
        'Ǆ' => "DŽ",
        'ǅ' => "Dž",
        'ǆ' => "dž",
        'Ǉ' => "LJ",
        'ǈ' => "Lj",
        'ǉ' => "lj",
        'Ǌ' => "NJ",
        'ǋ' => "Nj",
        'ǌ' => "nj",
        'ﬀ' => "ff",
        'ﬁ' => "fi",
        'ﬂ' => "fl",
        'ﬃ' => "ffi",
        'ﬄ' => "ffl",
        'ﬅ' => "ſt",
        'ﬆ' => "st",
        _ => return None,
    })
}

/// Without `ESC [ digits and semicolons letter`.
fn without_terminal_escapes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\u{1b}[") {
        kept.push_str(&rest[..at]);
        let is_digit = |c| get_general_category(c) == GeneralCategory::DecimalNumber;
        let after = rest[at + 2..].trim_start_matches(|c| c == ';' || is_digit(c));
        if after.starts_with(|c: char| c.is_ascii_alphabetic()) {
            rest = &after[1..];
        } else {
            kept.push_str(&rest[at..at + 2]);
            rest = &rest[at + 2..];
        }
    }
    kept + rest
}

/// Characters that show nothing and shape nothing.
fn is_control(c: char) -> bool {
    matches!(c,
        '\0'..='\u{8}' | '\u{b}' | '\u{e}'..='\u{1f}' | '\u{7f}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffc}')
}
