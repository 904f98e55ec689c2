//! Text as CLIP's tokenizer cleans it before it looks at words: `ftfy.fix_text`, `html.unescape` twice, white space
//! made single, lower case. Wrong encodings, which ftfy repairs too, stay.

use specimen_datasets::text::{ftfy::fix_text, html::unescape};
use unicode_normalization::UnicodeNormalization;

/// Cleans `text`; words of the result are apart by one space each.
pub fn clean(text: &str) -> String {
    let text = unescape(&unescape(&fix_text(text)));
    text.split_whitespace().collect::<Vec<_>>().join(" ").to_lowercase()
}

/// Cleans `text` as transformers' tokenizer of CLIP does: composed (NFC), words apart by one space each, each character
/// in lower case. Nothing is mended.
pub fn clean_hugging_face(text: &str) -> String {
    let composed: String = text.nfc().collect();
    let words = composed.split_whitespace().collect::<Vec<_>>().join(" ");
    words.chars().flat_map(char::to_lowercase).collect()
}
