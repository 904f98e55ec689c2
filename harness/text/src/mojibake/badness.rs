//! Whether a text has a sequence of characters that hardly anybody writes and that a wrong decoding makes often.
//!
//! Characters are sorted by how they occur in mojibake (`ftfy.badness`, version 6.3); a rule is what may be at each
//! of two to six places side by side.

use crate::python::{is_space, is_word};

/// In many contexts, mojibake or not.
const COMMON: u32 = 1;
/// C1 controls, which nobody means.
const C1: u32 = 1 << 1;
/// Nearly always mojibake.
const BAD: u32 = 1 << 2;
/// Signs of paragraphs.
const LAW: u32 = 1 << 3;
const CURRENCY: u32 = 1 << 4;
/// Punctuation before a word.
const OPENING: u32 = 1 << 5;
/// Punctuation behind a word.
const CLOSING: u32 = 1 << 6;
/// Numbers and signs of mathematics.
const NUMERIC: u32 = 1 << 7;
/// Letters that faces are made of.
const FACE: u32 = 1 << 8;
/// Accented capitals.
const UPPER: u32 = 1 << 9;
/// Accented small letters.
const LOWER: u32 = 1 << 10;
/// Capitals of Greek and Cyrillic.
const OTHER_UPPER: u32 = 1 << 11;
/// Small letters of Greek and Cyrillic.
const OTHER_LOWER: u32 = 1 << 12;
/// Boxes and blocks.
const BOX: u32 = 1 << 13;
/// `A` to `Z`.
const ASCII_UPPER: u32 = 1 << 14;
/// `a` to `z`.
const ASCII_LOWER: u32 = 1 << 15;
/// No letter of ASCII.
const NO_ASCII_LETTER: u32 = 1 << 16;
/// White space.
const SPACE: u32 = 1 << 17;
/// Letters, numbers and `_`.
const WORD: u32 = 1 << 18;
/// No line break.
const IN_LINE: u32 = 1 << 19;

const ACCENTED: u32 = UPPER | LOWER;
const ASCII_LETTER: u32 = ASCII_UPPER | ASCII_LOWER;
/// What makes a bad character's neighbour bad too.
const BESIDE_BAD: u32 = ACCENTED | BOX | OPENING | CLOSING | CURRENCY | NUMERIC | LAW;

/// What may be at a place: a character of one of these kinds, or one of these characters.
type Place = (u32, &'static str);

/// Places side by side.
type Rule = &'static [Place];

/// The second and fourth character of Arabic in Windows-1252.
const OF_ARABIC: Place = (COMMON | CURRENCY | BAD | NUMERIC | OPENING, "ŸŠ®°µ»");
const BETWEEN_CYRILLIC: Place = (C1 | BAD | OPENING | CLOSING | CURRENCY, "°µ");
const BETWEEN_GREEK: Place = (C1 | BAD | OPENING | CLOSING | CURRENCY, "°");

const RULES: &[Rule] = &[
    &[(C1, "")],
    &[(BAD | BESIDE_BAD, ""), (BAD, "")],
    &[(BAD, ""), (BESIDE_BAD, "")],
    &[(ASCII_LETTER, ""), (OTHER_LOWER | OTHER_UPPER, ""), (BAD, "")],
    &[(LOWER | OTHER_LOWER | BOX | CLOSING | CURRENCY | NUMERIC, ""), (UPPER, "")],
    &[(BOX | CLOSING | CURRENCY | NUMERIC, ""), (LOWER, "")],
    &[(LOWER | BOX | CLOSING, ""), (CURRENCY, "")],
    &[(SPACE, ""), (UPPER, ""), (CURRENCY, "")],
    &[(UPPER | BOX, ""), (NUMERIC | LAW, "")],
    &[(ACCENTED | BOX | CURRENCY | CLOSING, ""), (OPENING, ""), (NUMERIC, "")],
    &[(ACCENTED | CURRENCY | NUMERIC | BOX | LAW, ""), (CLOSING, ""), (OPENING, "")],
    &[(CURRENCY | NUMERIC | BOX, ""), (OPENING, "")],
    &[(ASCII_LOWER, ""), (UPPER, ""), (OPENING | CURRENCY, "")],
    &[(BOX, ""), (FACE | CLOSING, "")],
    &[(ACCENTED | CURRENCY | NUMERIC | OPENING | CLOSING | LAW, ""), (BOX, "")],
    &[(ACCENTED, ""), (OPENING | CLOSING, ""), (WORD, "")],
    &[(0, "Œœ"), (NO_ASCII_LETTER, "")],
    &[(UPPER, ""), (0, "°")],
    // Windows-1252 of two bytes.
    &[(0, "ÂÃÎÐ"), (OPENING | CLOSING, "€œŠš¢£Ÿž\u{a0}\u{ad}®©°·»–—´")],
    &[(0, "×"), (0, "²³")],
    &[(0, "ØÙ"), OF_ARABIC, (0, "ØÙ"), OF_ARABIC],
    &[(0, "à"), (0, "²µ¹¼½¾")],
    &[(0, "Ã"), (0, "\u{a0}¡")],
    &[(ASCII_LOWER, ""), (0, "ÃÂ"), (0, " ")],
    &[(ASCII_LOWER, ""), (SPACE, ""), (0, "ÃÂ"), (0, " ")],
    &[(ASCII_LOWER | CLOSING, ".,?!"), (0, "Â"), (OPENING | CLOSING, " ")],
    // Mac Roman.
    &[(0, "√"), (0, "±∂†≠®™´≤≥¥µø")],
    &[(0, "≈"), (0, "°¢")],
    &[(0, "‚"), (0, "Ä"), (0, "ìîïòôúùû†°¢π")],
    &[(0, "‚"), (0, "âó"), (0, "àä°ê")],
    // Windows-1251.
    &[(0, "в"), (0, "Ђ")],
    &[(0, "ВГРС"), BETWEEN_CYRILLIC, (0, "ВГРС")],
    &[(0, "Г"), (0, "ў"), (0, "В"), (0, "Ђ"), (0, "В"), (IN_LINE, ""), (ASCII_LETTER, " ")],
    // Windows-1253.
    &[(0, "β"), (0, "€"), (0, "™\u{a0}Ά\u{ad}®°")],
    &[(0, "ΒΓΞΟ"), BETWEEN_GREEK, (0, "ΒΓΞΟ")],
    // Windows-1257.
    &[(0, "ā"), (0, "€")],
];

/// Places of the longest rule.
const MAX_PLACES: usize = 7;

/// Whether `text` looks like mojibake somewhere.
#[must_use]
pub fn is_bad(text: &str) -> bool {
    let mut window: Vec<(char, u32)> = Vec::with_capacity(MAX_PLACES);
    let mut ahead = text.chars().map(|c| (c, kinds(c)));
    window.extend(ahead.by_ref().take(MAX_PLACES));
    if let [(first, _), (' ', _), ..] = window[..]
        && "ÃÂ".contains(first)
    {
        return true;
    }
    while !window.is_empty() {
        if RULES.iter().any(|rule| fits(rule, &window)) {
            return true;
        }
        window.remove(0);
        window.extend(ahead.next());
    }
    false
}

fn fits(rule: Rule, chars: &[(char, u32)]) -> bool {
    let is_in =
        |((kinds, others), (c, found)): (&Place, &(char, u32))| found & kinds != 0 || others.contains(*c);
    rule.len() <= chars.len() && rule.iter().zip(chars).all(is_in)
}

/// Every kind of `c`.
fn kinds(c: char) -> u32 {
    of_any(c) | in_mojibake(c)
}

/// What every character has.
fn of_any(c: char) -> u32 {
    let letter = match c {
        'a'..='z' => ASCII_LOWER,
        'A'..='Z' => ASCII_UPPER,
        _ => NO_ASCII_LETTER,
    };
    let flag = |is_so: bool, kind: u32| if is_so { kind } else { 0 };
    letter | flag(is_space(c), SPACE) | flag(is_word(c), WORD) | flag(c != '\n', IN_LINE)
}

/// Classes of the characters that occur in mojibake and are in none of the ranges of [`in_mojibake`].
const LISTED: &[(u32, &str)] = &[
    (COMMON, "\u{a0}\u{ad}·´–—―…’"),
    (BAD, "¦¤¨¬¯¸ªºƒˆˇ˘˛˜†‡‰⌐◊\u{fffd}"),
    (LAW, "¶§"),
    (CURRENCY, "¢£¥₧€"),
    (OPENING, "¡«¿©\u{384}\u{385}‘‚“„•‹\u{f8ff}"),
    (CLOSING, "®»˝”›™"),
    (NUMERIC, "±²³¹µ¼½¾×÷⁄∂∆∏∑√∞∩∫≈≠≡≤≥№"),
    (FACE | UPPER, "Ü"),
    (FACE | LOWER, "ü"),
    (FACE, "°ŐŌŪŲ"),
    (UPPER, "ØÝĂĀĄĆČĎĐĘĚĒĖĞĢİĪĶĹĽŁĻŃŇŅŒŘŚŞŠŢŤŮŰŸŹŻŽҐ"),
    (LOWER, "ßăąāćčďđęěēėğģįīķĺľłļœŕśşšťźżžґﬁﬂ"),
    (OTHER_UPPER, "ÞΆΈΉΊΌΎΏΪΫ"),
    (OTHER_LOWER, "άέήίΰ"),
    (BOX, "│┌┐┘├┤┬┼▀▄█▌▐░▒▓"),
];

/// What the few hundred characters that occur in mojibake have.
fn in_mojibake(c: char) -> u32 {
    match c {
        '\0'..='\u{7f}' => 0,
        '\u{80}'..='\u{9f}' => C1,
        'Ò'..='Ö' | 'Ù'..='Û' | 'ò'..='ö' | 'ø'..='û' => FACE,
        'À'..='Ñ' => UPPER,
        'à'..='ñ' => LOWER,
        'Α'..='Ω' | 'Ё'..='Я' => OTHER_UPPER,
        'α'..='ω' | 'а'..='џ' => OTHER_LOWER,
        '═'..='╬' => BOX,
        _ => LISTED.iter().find(|(_, listed)| listed.contains(c)).map_or(0, |(class, _)| *class),
    }
}
