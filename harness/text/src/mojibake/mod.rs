//! Text that was written in one encoding and decoded in another (mojibake: `donâ€™t`), repaired as ftfy's
//! `fix_encoding` does.
//!
//! Where a text has a sequence of characters that hardly anybody writes ([`is_bad`]), it is encoded again in each of ten
//! one-byte encodings; the first result that is UTF-8 is the text. What UTF-8 lost on its way is allowed for (`bytes`).
//! Where the whole text cannot be meant, runs that look like UTF-8 are repaired alone (`runs`).

mod badness;
mod bytes;
mod code_pages;
mod runs;

pub use badness::is_bad;
pub(crate) use code_pages::of_windows_1252;

use code_pages::{CodePage, ENCODINGS};

/// `text` with every encoding repaired that ftfy repairs, one wrong decoding behind the other.
#[must_use]
pub fn fix_encoding(text: &str) -> String {
    let mut text = text.to_owned();
    loop {
        let fixed = one_step(&text);
        if fixed == text {
            return text;
        }
        text = fixed;
    }
}

fn one_step(text: &str) -> String {
    if text.is_ascii() || !is_bad(text) {
        return text.to_owned();
    }
    let encoded = ENCODINGS.iter().filter_map(|page| Some((page, page.encode(text)?)));
    for (page, bytes) in encoded {
        if let Some(fixed) = as_utf8(page, bytes) {
            return fixed;
        }
    }
    let fixed = runs::decode_runs(text);
    if fixed != text {
        return fixed;
    }
    // What is Latin-1 with C1 controls was meant to be Windows-1252, as far as that has characters for them.
    let strict = |c: char| match of_windows_1252(c.into()) {
        Some(meant) if meant == c => None,
        meant => Some(meant.unwrap_or(c)),
    };
    let is_latin_1 = text.chars().all(|c| u32::from(c) < 0x100);
    if let Some(fixed) = text.chars().map(strict).collect::<Option<String>>().filter(|_| is_latin_1)
        && fixed != text
    {
        return fixed;
    }
    text.chars().map(|c| of_windows_1252(c.into()).unwrap_or(c)).collect()
}

/// The text that `bytes` are, if they are UTF-8 but for what ftfy allows for; `page` is what they were decoded in.
fn as_utf8(page: &CodePage, mut bytes: Vec<u8>) -> Option<String> {
    if page.may_have_lost_a0() {
        bytes = bytes::with_a0(bytes);
    }
    if page.is_sloppy() {
        bytes = bytes::with_replacements(&bytes);
    }
    if bytes.contains(&0xed) || bytes.contains(&0xc0) {
        return bytes::decode_utf8_variants(&bytes);
    }
    String::from_utf8(bytes).ok()
}
