//! The name of an item: `<cell>/<prompt id>/<sample>`. Parts are percent-encoded, so that a prompt id
//! may hold anything (a slash, `..`, a newline, nothing at all) and still be one part of a key and a
//! safe file name.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use specimen_foundation::failure;

use crate::{Digest, RecordError};

/// Longest file name that [`ItemKey::file_name`] writes out before it shortens, in bytes.
const LONGEST_STEM: usize = 180;

/// The name of an item, `cell/prompt/sample`, sorted by cell, prompt id, then sample as a number. All characters but letters,
/// digits and `_.-` are written as in URLs, `lant%5Bk%3D3%5D` for `lant[k=3]`: rows of several files are joined by the key.
// Invariant: three parts, the first two in the form `encode_part` gives, the third a u32 without
// leading zeros; one item has one spelling.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(extend("pattern" = "^([A-Za-z0-9_.%-]+)/([A-Za-z0-9_.%-]+)/(0|[1-9][0-9]*)$"))]
pub struct ItemKey(String);

impl ItemKey {
    /// The key of sample `sample` of prompt `prompt_id` in cell `cell`.
    pub fn new(cell: &str, prompt_id: &str, sample: u32) -> ItemKey {
        ItemKey(format!("{}/{}/{sample}", encode_part(cell), encode_part(prompt_id)))
    }

    /// The key as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The cell's name, decoded.
    pub fn cell(&self) -> String {
        decode_part(self.parts().0).expect("a key's parts were checked when it was made")
    }

    /// The prompt id, decoded.
    pub fn prompt_id(&self) -> String {
        decode_part(self.parts().1).expect("a key's parts were checked when it was made")
    }

    /// The sample number.
    pub fn sample(&self) -> u32 {
        self.parts().2
    }

    /// A flat file name for this item, `<cell>+<prompt id>+<sample>.<extension>`. It never holds a path
    /// separator and never starts with a dot; a very long one is cut and ends in `~` and 16 hex digits
    /// of the key's digest, so that two items never share a name.
    pub fn file_name(&self, extension: &str) -> String {
        let stem = self.0.replace('/', "+");
        if stem.len() <= LONGEST_STEM {
            return format!("{stem}.{extension}");
        }
        let digest = Digest::of(self.0.as_bytes());
        format!("{}~{}.{extension}", &stem[..LONGEST_STEM], &digest.as_str()[..16])
    }

    /// Cell and prompt id, still encoded, and the sample.
    fn parts(&self) -> (&str, &str, u32) {
        let (rest, sample) = self.0.rsplit_once('/').expect("a key has three parts");
        let (cell, prompt) = rest.split_once('/').expect("a key has three parts");
        (cell, prompt, sample.parse().expect("a key ends in a number"))
    }
}

/// Percent-encodes one part of a key. Letters, digits, `_`, `-` and a dot that is not the first byte
/// stay; the empty text becomes `%` alone.
pub fn encode_part(text: &str) -> String {
    if text.is_empty() {
        return "%".to_owned();
    }
    if is_plain(text) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len());
    for (at, byte) in text.bytes().enumerate() {
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' || (byte == b'.' && at > 0) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The text that [`encode_part`] made `part` from; `None` when it made it from none.
pub fn decode_part(part: &str) -> Option<String> {
    if is_plain(part) {
        return Some(part.to_owned());
    }
    let text = if part == "%" { String::new() } else { String::from_utf8(decode_bytes(part)?).ok()? };
    // One text has one spelling: an escape that was not needed is refused.
    (encode_part(&text) == part).then_some(text)
}

/// Whether a part has nothing to escape.
fn is_plain(part: &str) -> bool {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    !part.is_empty() && !part.starts_with('.') && part.bytes().all(plain)
}

fn decode_bytes(part: &str) -> Option<Vec<u8>> {
    let mut bytes = part.bytes();
    let mut out = Vec::with_capacity(part.len());
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let (high, low) = (char::from(bytes.next()?).to_digit(16)?, char::from(bytes.next()?).to_digit(16)?);
        out.push(u8::try_from(high * 16 + low).ok()?);
    }
    Some(out)
}

impl fmt::Display for ItemKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for ItemKey {
    type Err = RecordError;

    fn from_str(text: &str) -> Result<ItemKey, RecordError> {
        let bad = |reason| -> RecordError {
            failure!(Bug: "`{text}` is not an item key: {reason}; expected <cell>/<prompt id>/<sample>, \
                percent-encoded")
            .into()
        };
        let mut parts = text.split('/');
        let (Some(cell), Some(prompt), Some(sample), None) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            return Err(bad("it does not have three parts"));
        };
        decode_part(cell).ok_or_else(|| bad("its cell is not in canonical percent-encoding"))?;
        decode_part(prompt).ok_or_else(|| bad("its prompt id is not in canonical percent-encoding"))?;
        let number: u32 = sample.parse().map_err(|_| bad("its sample is not a number"))?;
        if number.to_string() != sample {
            return Err(bad("its sample has leading zeros or a sign"));
        }
        Ok(ItemKey(text.to_owned()))
    }
}

impl TryFrom<String> for ItemKey {
    type Error = RecordError;

    fn try_from(text: String) -> Result<ItemKey, RecordError> {
        text.parse()
    }
}

impl From<ItemKey> for String {
    fn from(key: ItemKey) -> String {
        key.0
    }
}

impl Ord for ItemKey {
    fn cmp(&self, other: &ItemKey) -> Ordering {
        self.parts().cmp(&other.parts())
    }
}

impl PartialOrd for ItemKey {
    fn partial_cmp(&self, other: &ItemKey) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;

    const HOSTILE: [&str; 14] = [
        "",
        ".",
        "..",
        "../x",
        "/etc/passwd",
        "a/b",
        "%",
        "%2F",
        "a b\n",
        "naïve 猫 🐈",
        "C:\\x",
        "-rf",
        "x+y",
        "\0",
    ];

    #[test]
    fn hostile_prompt_ids_survive_a_round_trip() {
        for id in HOSTILE {
            let key = ItemKey::new(id, id, 7);
            assert_eq!((key.cell().as_str(), key.prompt_id().as_str(), key.sample()), (id, id, 7), "{id:?}");
            assert_eq!(key.as_str().parse::<ItemKey>().unwrap(), key);
            let json = serde_json::to_string(&key).unwrap();
            assert_eq!(serde_json::from_str::<ItemKey>(&json).unwrap(), key);
        }
    }

    #[test]
    fn file_names_are_plain_and_distinct() {
        let long = "猫".repeat(200);
        let longer = format!("{long}!");
        let mut names: Vec<String> = HOSTILE
            .iter()
            .copied()
            .chain([long.as_str(), longer.as_str()])
            .map(|id| ItemKey::new("ar", id, 0).file_name("png"))
            .collect();
        for name in &names {
            assert!(
                !name.contains(['/', '\\', '\0']) && !name.starts_with('.') && name.len() < 255,
                "{name}"
            );
            assert!(name.is_ascii());
        }
        names.sort();
        names.dedup();
        assert_eq!(names.len(), HOSTILE.len() + 2);
    }

    #[test]
    fn a_cell_may_not_escape_its_file_name() {
        assert_eq!(ItemKey::new("..", "../x", 0).file_name("png"), "%2E.+%2E.%2Fx+0.png");
    }

    #[test]
    fn samples_sort_as_numbers() {
        let mut keys = ["b/1/0", "a/2/10", "a/2/9", "a/10/0"].map(|k| k.parse::<ItemKey>().unwrap());
        keys.sort();
        assert_eq!(keys.map(|k| k.to_string()), ["a/10/0", "a/2/9", "a/2/10", "b/1/0"]);
    }

    #[test]
    fn other_spellings_are_refused_with_the_reason() {
        for (text, reason) in [
            ("a/b", "three parts"),
            ("a/b/c/0", "three parts"),
            ("a//0", "prompt id is not in canonical"),
            ("a/../0", "prompt id is not in canonical"),
            ("%61/b/0", "cell is not in canonical"),
            ("a/%2f/0", "prompt id is not in canonical"),
            ("a/%FF/0", "prompt id is not in canonical"),
            ("a/%é/0", "prompt id is not in canonical"),
            ("a/b/x", "not a number"),
            ("a/b/01", "leading zeros"),
            ("a/b/+1", "leading zeros or a sign"),
        ] {
            let message = text.parse::<ItemKey>().unwrap_err().to_string();
            assert!(message.contains(reason), "{text}: {message}");
        }
    }
}
