//! One spelling for one JSON value, so that digests do not depend on the order in which a map was
//! filled: object keys sorted bytewise, no spaces, numbers as serde_json writes them.

use serde_json::Value;

/// The canonical text of a JSON value.
pub fn canonical_json(value: &Value) -> String {
    let mut out = String::new();
    write(value, &mut out);
    out
}

fn write(value: &Value, out: &mut String) {
    match value {
        Value::Object(fields) => {
            let mut sorted: Vec<_> = fields.iter().collect();
            sorted.sort_by_key(|(key, _)| key.as_str());
            out.push('{');
            for (at, (key, inner)) in sorted.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_text(key, out);
                out.push(':');
                write(inner, out);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, inner) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write(inner, out);
            }
            out.push(']');
        }
        Value::String(text) => write_text(text, out),
        plain => out.push_str(&plain.to_string()),
    }
}

fn write_text(text: &str, out: &mut String) {
    let plain = |b: u8| b >= b' ' && b != b'"' && b != b'\\';
    if text.bytes().all(plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&Value::from(text).to_string());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.
    use super::*;

    #[test]
    fn the_order_of_keys_does_not_show() {
        let a: Value = serde_json::from_str(r#"{"b": [1, {"y": "ü\n", "x": null}], "a": 1.50}"#).unwrap();
        let b: Value = serde_json::from_str(r#"{"a":1.5,"b":[1,{"x":null,"y":"ü\n"}]}"#).unwrap();
        assert_eq!(canonical_json(&a), canonical_json(&b));
        assert_eq!(canonical_json(&a), r#"{"a":1.5,"b":[1,{"x":null,"y":"ü\n"}]}"#);
    }

    #[test]
    fn the_order_of_lists_does() {
        assert_ne!(canonical_json(&serde_json::json!([1, 2])), canonical_json(&serde_json::json!([2, 1])));
    }
}
