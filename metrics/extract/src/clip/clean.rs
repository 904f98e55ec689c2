//! Text as CLIP's tokenizer cleans it before it looks at words: `ftfy.fix_text`, `html.unescape` twice, white space
//! made single, lower case.
//!
//! Of ftfy (6.3) everything is here but the repair of text that was decoded in a wrong encoding ("mojibake"), which
//! changes none of the 25,014 captions of MSCOCO val2017 and none of the 1,632 PartiPrompts.

use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::UnicodeNormalization;

use crate::clip::html::{unescape, unescape_whole};

/// Windows-1252 in the range of the C1 controls, those bytes that it leaves undefined as they are.
const WINDOWS_1252: [char; 32] = [
    '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}', '\u{90}',
    '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
];

/// Cleans `text`; words of the result are apart by one space each.
pub fn clean(text: &str) -> String {
    let text = unescape(&unescape(&fix_text(text)));
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Cleans `text` as transformers' tokenizer of CLIP does: composed (NFC), words apart by one space each, each character
/// in lower case. Nothing is mended. Its names of special tokens are none here, in any text.
pub fn clean_hugging_face(text: &str) -> String {
    let composed: String = text.nfc().collect();
    let words = composed.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().flat_map(char::to_lowercase).collect()
}

/// The character that a C1 control was meant to be.
pub(crate) fn of_windows_1252(control: u32) -> Option<char> {
    control.checked_sub(0x80).and_then(|idx| WINDOWS_1252.get(idx as usize)).copied()
}

/// Line by line; from the first line with a `<` on, entities stay, because that is probably markup.
fn fix_text(text: &str) -> String {
    let mut is_markup = false;
    let fix = |line: &str| {
        is_markup |= line.contains('<');
        fix_line(line, !is_markup)
    };
    text.split_inclusive('\n').map(fix).collect()
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
