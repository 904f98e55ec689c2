//! Captions as LlamaGen's training data were cleaned before its tokenizer saw them: two passes over a list of things
//! that captions from the web hold and that describe no picture (addresses, nicknames, file names, article numbers).
//! Patterns mean what they mean in Python's `re`.
//!
//! Of the names of HTML's characters those without their semicolon, which BeautifulSoup reads, are left out, and so is the
//! repair of wrong encodings; none occurs in captions of MSCOCO or in PartiPrompts.

use std::sync::LazyLock;

use fancy_regex::Regex;
use specimen_datasets::text::{ftfy::fix_text, html::unescape, python::is_space};

/// A pattern and what takes the place of every match.
type Rule = (Regex, &'static str);

/// Endings of addresses.
const DOMAINS: &str = "com|co|ru|net|org|edu|gov|it";
/// Endings of file names.
const FILES: &str = "png|jpg|jpeg|bmp|webp|eps|pdf|apk|mp4";

/// Rules for placeholders and addresses, used before markup is taken out.
static ADDRESSES: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let domain = format!(r"[a-zA-Z0-9.\-]+[.](?:{DOMAINS})[\w/-]*\b/?(?!@)");
    rules(&[
        ("<person>".into(), "person"),
        (format!(r"\b(?:https?:(?:/{{1,3}}|[a-zA-Z0-9%])|{domain})"), ""),
        (format!(r"\b(?:www:(?:/{{1,3}}|[a-zA-Z0-9%])|{domain})"), ""),
    ])
});

/// Rules for signs, scripts and quotes, used after markup is taken out.
static SIGNS: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    let dashes = r"[-\u{58a}\u{5be}\u{1400}\u{1806}\u{2010}-\u{2015}\u{2e17}\u{2e1a}\u{2e3a}\u{2e3b}\u{2e40}\u{301c}\u{3030}\u{30a0}\u{fe31}\u{fe32}\u{fe58}\u{fe63}\u{ff0d}]+";
    rules(&[
        (r"@\w+\b".into(), ""),
        // Strokes, Katakana extensions, enclosed and compatibility forms, Han, hexagrams.
        (r"[\u{31c0}-\u{4dff}\u{4e00}-\u{9fff}]+".into(), ""),
        (dashes.into(), "-"),
        ("[`´«»“”¨]".into(), "\""),
        ("[‘’]".into(), "'"),
        ("&quot;?".into(), ""),
        ("&amp".into(), ""),
        (r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}".into(), " "),
        (r"\d:\d\d\s+$".into(), ""),
        (r"\\n".into(), " "),
        (r"#\d{1,3}\b".into(), ""),
        (r"#\d{5,}\b".into(), ""),
        (r"\b\d{6,}\b".into(), ""),
        (format!(r"\S+\.(?:{FILES})"), ""),
        ("[\"']{2,}".into(), "\""),
        (r"\.{2,}".into(), " "),
        (r"[#®•©™&@·º½¾¿¡§~)(\]\[}{|\\/*]+".into(), " "),
        (r"\s+\.\s+".into(), " "),
    ])
});

/// Rules for words and spaces, used after [`fix_text`].
static WORDS: LazyLock<Vec<Rule>> = LazyLock::new(|| {
    rules(&[
        (r"\b[a-zA-Z]{1,3}\d{3,15}\b".into(), ""),
        (r"\b[a-zA-Z]+\d+[a-zA-Z]+\b".into(), ""),
        (r"\b\d+[a-zA-Z]+\d+\b".into(), ""),
        (r"(?:worldwide\s+)?(?:free\s+)?shipping".into(), ""),
        (r"(?:free\s)?download(?:\sfree)?".into(), ""),
        (r"\bclick\b\s(?:for|on)\s\w+".into(), ""),
        (format!(r"\b(?:{FILES})(?:\simages?)?"), ""),
        (r"\bpage\s+\d+\b".into(), ""),
        (r"\b\d*[a-zA-Z]+\d+[a-zA-Z]+\d+[a-zA-Z\d]*\b".into(), " "),
        (r"\b\d+\.?\d*[xх×]\d+\.?\d*\b".into(), ""),
        (r"\b\s+:\s+".into(), ": "),
        (r"(\D[,./])\b".into(), "${1} "),
        (r"\s+".into(), " "),
        (r#"^["']([\w\W]+)["']$"#.into(), "${1}"),
        (r"^['_,\-:;]".into(), ""),
        (r"['_,\-:+]$".into(), ""),
        (r"^\.\S+$".into(), ""),
    ])
});

fn rules(list: &[(String, &'static str)]) -> Vec<Rule> {
    let compile = |(pattern, by): &(String, &'static str)| {
        (Regex::new(&of_python(pattern)).expect("the patterns of this file are regular expressions"), *by)
    };
    list.iter().map(compile).collect()
}

/// `pattern` with Python's sets of characters: a word is made of letters, numbers and `_`, not of combining marks, and
/// the four separators of ASCII are white space.
fn of_python(pattern: &str) -> String {
    const BORDER: &str = r"(?:(?<=[\p{L}\p{N}_])(?![\p{L}\p{N}_])|(?<![\p{L}\p{N}_])(?=[\p{L}\p{N}_]))";
    let sets = [
        (r"\b", BORDER),
        (r"\w", r"[\p{L}\p{N}_]"),
        (r"\W", r"[^\p{L}\p{N}_]"),
        (r"\s", r"[\s\x1c-\x1f]"),
        (r"\S", r"[^\s\x1c-\x1f]"),
    ];
    let mut found = String::with_capacity(pattern.len());
    let mut rest = pattern;
    while let Some(first) = rest.chars().next() {
        let set = sets.iter().find(|(name, _)| rest.starts_with(name));
        // A backslash takes the character behind it along, so that `\\` before an `s` is no set.
        let len = if first == '\\' {
            1 + rest[1..].chars().next().map_or(0, char::len_utf8)
        } else {
            first.len_utf8()
        };
        found.push_str(set.map_or(&rest[..len], |(_, set)| set));
        rest = &rest[len..];
    }
    found
}

/// `text` in the form that the encoder was trained on.
pub fn clean_caption(text: &str) -> String {
    pass(&pass(text))
}

fn pass(text: &str) -> String {
    let text = unquoted(text).trim_matches(is_space).to_lowercase();
    let text = apply(&ADDRESSES, text);
    let mut text = apply(&SIGNS, unescaped(&without_tags(&text)));
    if 3 < text.matches(['-', '_']).count() {
        text = text.replace(['-', '_'], " ");
    }
    let text = unescape(&unescape(&fix_text(&text)));
    apply(&WORDS, text.trim_matches(is_space).to_owned()).trim_matches(is_space).to_owned()
}

fn apply(rules: &[Rule], text: String) -> String {
    rules.iter().fold(text, |text, (pattern, by)| pattern.replace_all(&text, *by).into_owned())
}

/// `+` as a space, and `%` with two hexadecimal digits as a byte; bytes that are not UTF-8 become U+FFFD.
fn unquoted(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut found = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let digits = bytes.get(at + 1..at + 3).filter(|pair| pair.iter().all(u8::is_ascii_hexdigit));
        let digits = digits.and_then(|pair| std::str::from_utf8(pair).ok());
        let code = digits.and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match (byte, code) {
            (b'%', Some(code)) => {
                found.push(code);
                at += 2;
            }
            (b'+', _) => found.push(b' '),
            _ => found.push(byte),
        }
        at += 1;
    }
    String::from_utf8_lossy(&found).into_owned()
}

/// Without `<...>` that begins as a tag, an end tag, a comment or a declaration does.
fn without_tags(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let after = &rest[at + 1..];
        let is_tag = after.starts_with(|c: char| c.is_ascii_alphabetic() || "/!?".contains(c));
        match after.find('>').filter(|_| is_tag) {
            Some(end) => {
                kept.push_str(&rest[..at]);
                rest = &after[end + 1..];
            }
            None => {
                kept.push_str(&rest[..=at]);
                rest = after;
            }
        }
    }
    kept + rest
}

/// Names that end in their semicolon, and numbers, of HTML's characters as the characters: what BeautifulSoup's `text`
/// makes of them.
fn unescaped(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        kept.push_str(&rest[..at]);
        let after = &rest[at..];
        let named = after.find(';').map(|end| &after[..=end]).and_then(|name| Some((name, character(name)?)));
        match named {
            Some((name, meant)) => {
                kept.push_str(&meant);
                rest = &after[name.len()..];
            }
            None => {
                kept.push('&');
                rest = &after[1..];
            }
        }
    }
    kept + rest
}

/// What `&name;`, `&#8217;` or `&#x2019;` stands for.
fn character(name: &str) -> Option<String> {
    if let Some(number) = name.strip_prefix("&#") {
        let number = number.strip_suffix(';')?;
        let code = match number.strip_prefix(['x', 'X']) {
            Some(hexadecimal) => u32::from_str_radix(hexadecimal, 16).ok()?,
            None => number.parse().ok()?,
        };
        return char::from_u32(code).map(String::from);
    }
    entities::ENTITIES.iter().find(|entity| entity.entity == name).map(|entity| entity.characters.to_owned())
}
