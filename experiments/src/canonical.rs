//! Canonical bytes: item keys, and JSON with sorted keys and no blanks. Both are also written by the record
//! of a run; a test holds the two to the same bytes, so that a plan has one digest before and after it is
//! written.

use serde::Serialize;
use serde_json::Value;

/// The name of an item, `<cell>/<prompt id>/<sample>`, its parts percent-encoded: letters, digits, `_`, `-`
/// and a dot that is not the first byte stay; the empty text is `%` alone.
pub(crate) fn item_key(cell: &str, prompt_id: &str, sample: u32) -> String {
    let mut key = String::with_capacity(cell.len() + prompt_id.len() + 8);
    encode_part(cell, &mut key);
    key.push('/');
    encode_part(prompt_id, &mut key);
    key.push('/');
    key.push_str(&sample.to_string());
    key
}

fn encode_part(text: &str, out: &mut String) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    if text.is_empty() {
        out.push('%');
    }
    for (at, byte) in text.bytes().enumerate() {
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' || (byte == b'.' && at > 0) {
            out.push(char::from(byte));
        } else {
            out.push('%');
            out.push(char::from(HEX[usize::from(byte >> 4)]));
            out.push(char::from(HEX[usize::from(byte & 15)]));
        }
    }
}

/// One item as it is digested. Fields stand in the order of their names, which makes the JSON canonical.
#[derive(Serialize)]
pub(crate) struct ItemRow<'a> {
    pub(crate) block: u32,
    pub(crate) cell: &'a str,
    pub(crate) key: String,
    pub(crate) prompt: &'a str,
    pub(crate) prompt_id: &'a str,
    pub(crate) sample: u32,
    pub(crate) seed: String,
}

/// Hex blake3 of the canonical JSON of `{"items": […], "spec": …}`, without holding that text in memory.
pub(crate) fn digest<'a>(items: impl Iterator<Item = ItemRow<'a>>, identity: &Value) -> String {
    const FLUSH_BYTES: usize = 1 << 16;
    let mut hasher = blake3::Hasher::new();
    let mut buffer: Vec<u8> = Vec::with_capacity(2 * FLUSH_BYTES);
    buffer.extend_from_slice(b"{\"items\":[");
    for (at, item) in items.enumerate() {
        if at > 0 {
            buffer.push(b',');
        }
        serde_json::to_writer(&mut buffer, &item).expect("text and integers can be written into memory");
        if buffer.len() >= FLUSH_BYTES {
            hasher.update(&buffer);
            buffer.clear();
        }
    }
    buffer.extend_from_slice(b"],\"spec\":");
    buffer.extend_from_slice(sorted(identity).to_string().as_bytes());
    buffer.push(b'}');
    hasher.update(&buffer);
    hasher.finalize().to_hex().to_string()
}

/// The value with the keys of every object sorted.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().map(|(key, inner)| (key.clone(), sorted(inner))).collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(fields.into_iter().collect())
        }
        Value::Array(items) => items.iter().map(sorted).collect(),
        plain => plain.clone(),
    }
}
