//! What is put into the page as it is: JSON inside a script element, images as data URIs, figures as SVG, and
//! paths as links.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;
use sha2::{Digest, Sha256};

/// JSON that no text can break out of: `<`, `>` and `&` are written as escapes, so there is no end tag and no
/// comment in it; U+2028 and U+2029, which end a line in older scripts, likewise.
pub(crate) fn script_json<T: Serialize>(value: &T) -> String {
    let json = serde_json::to_string(value).expect("the page's data has text keys and finite numbers");
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            plain => out.push(plain),
        }
    }
    out
}

/// The digest by which a content security policy knows a script.
pub(crate) fn script_hash(script: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(script.as_bytes())))
}

/// A PNG file as the address of an image.
pub(crate) fn png_uri(bytes: &[u8]) -> String {
    format!("data:image/png;base64,{}", STANDARD.encode(bytes))
}

/// Bytes of [`png_uri`] for a file of so many.
pub(crate) fn png_uri_len(n_bytes: usize) -> usize {
    "data:image/png;base64,".len() + n_bytes.div_ceil(3) * 4
}

/// A relative path as a link: whatever has a meaning of its own in an address is percent-encoded.
pub(crate) fn link(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b'/' => {
                out.push(char::from(byte))
            }
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

/// A figure's SVG as an element of the page, with its name for those who do not see it.
pub(crate) fn inline_svg(svg: &str, title: &str) -> String {
    let start = svg.find("<svg").map_or(0, |at| at + "<svg".len());
    format!("<svg role=\"img\" aria-label=\"{}\"{}", attribute(title), &svg[start..])
}

/// A figure's title without the name of the run, which heads the page.
pub(crate) fn heading(title: &str) -> String {
    let short = title.rsplit_once(": ").map_or(title, |(_, short)| short);
    let mut letters = short.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn attribute(text: &str) -> String {
    text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;

    #[test]
    fn nothing_in_the_data_can_end_its_script() {
        let hostile = "</script><script>alert(1)</script><!--\u{2028}\u{2029}&amp;\"\\";
        let json = script_json(&[hostile]);
        assert!(!json.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{json}");
        let back: Vec<String> = serde_json::from_str(&json).unwrap();
        assert_eq!(back, [hostile]);
    }

    #[test]
    fn links_keep_every_byte_of_a_name() {
        assert_eq!(link("../shards/0/images/ar+0+0.png"), "../shards/0/images/ar%2B0%2B0.png");
        assert_eq!(link("%2E.+x"), "%252E.%2Bx");
        assert_eq!(link("javascript:alert(1)#?"), "javascript%3Aalert%281%29%23%3F");
    }

    #[test]
    fn the_length_of_an_address_is_known_beforehand() {
        for n in [0, 1, 2, 3, 4, 100, 1001] {
            assert_eq!(png_uri(&vec![7; n]).len(), png_uri_len(n));
        }
    }

    #[test]
    fn the_hash_is_the_one_a_browser_computes() {
        // The example of the specification of content security policies, level 3.
        assert_eq!(script_hash("doSomething();"), "sha256-RFWPLDbv2BY+rCkDzsE+0fr8ylGr2R2faWMhq4lfEQc=");
    }

    #[test]
    fn a_title_cannot_leave_its_attribute() {
        let svg = inline_svg("<?xml?>\n<svg width=\"1\"/>", "a\" onload=\"x<");
        assert_eq!(svg, "<svg role=\"img\" aria-label=\"a&quot; onload=&quot;x&lt;\" width=\"1\"/>");
    }
}
