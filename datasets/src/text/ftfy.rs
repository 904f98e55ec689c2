//! What `ftfy.fix_text(text, fix_encoding=False)` (6.3) repairs, in its order: entities of HTML, C1 controls, ligatures,
//! full- and half-width forms, curly quotes, line breaks, terminal escapes, controls; composed (NFC). Text that was
//! decoded in a wrong encoding is recognised and not repaired.

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

use crate::text::html::unescape_whole;

/// Characters of the bytes 0x80 to 0x9F in Windows-1252; a byte that has none stands for the control of the same number.
const WINDOWS_1252: &str = "€\u{81}‚ƒ„…†‡ˆ‰Š‹Œ\u{8d}Ž\u{8f}\u{90}‘’“”•–—˜™š›œ\u{9d}žŸ";

/// `text` repaired line by line; from the first line with a `<` on, entities stay, because that is probably markup.
pub fn fix_text(text: &str) -> String {
    let mut is_markup = false;
    let fix = |line: &str| {
        is_markup |= line.contains('<');
        fix_line(line, !is_markup)
    };
    text.split_inclusive('\n').map(fix).collect()
}

/// Whether `text` holds a character of UTF-8 whose bytes were read as Windows-1252 or Latin-1, as in `donâ€™t`. A letter
/// before nothing but dashes and quotation marks is none, as in `“Café”…`.
pub fn is_wrongly_decoded(text: &str) -> bool {
    let upper = |c: char| WINDOWS_1252.chars().position(|upper| upper == c).map(|idx| 0x80 + idx as u8);
    let byte = |&c: &char| upper(c).or_else(|| u8::try_from(u32::from(c)).ok()).unwrap_or_default();
    let chars: Vec<char> = text.chars().collect();
    let bytes: Vec<u8> = chars.iter().map(byte).collect();
    let is_character = |at: usize| {
        let end = at + bytes[at].leading_ones() as usize;
        let is_meant = |c: &char| !"–—‘’‚“”„•…".contains(*c);
        let inside = chars.get(at + 1..end).unwrap_or_default();
        inside.iter().any(is_meant) && std::str::from_utf8(&bytes[at..end]).is_ok()
    };
    (0..bytes.len()).any(is_character)
}

/// Repeats the steps until they change nothing.
fn fix_line(line: &str, with_entities: bool) -> String {
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
        text = text.chars().flat_map(replaced).collect();
        text = text.replace("\r\n", "\n").replace(['\r', '\u{2028}', '\u{2029}', '\u{85}'], "\n");
        text = without_terminal_escapes(&text).chars().filter(|&c| !is_control(c)).nfc().collect();
        if text == before {
            return text;
        }
    }
}

/// The character that Windows-1252 has for the byte `control` of 0x80 to 0x9F, the control of the same number where it
/// has none; `None` for other numbers.
pub(crate) fn of_windows_1252(control: u32) -> Option<char> {
    WINDOWS_1252.chars().nth(control.checked_sub(0x80)? as usize)
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
