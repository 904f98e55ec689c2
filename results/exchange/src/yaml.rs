//! YAML of plain data. Texts are written as JSON writes them, which YAML reads alike.

use serde_json::Value;

/// `value` as a document of YAML: tables and lists in blocks, in their order.
pub(crate) fn document(value: &Value) -> String {
    let mut text = String::new();
    block(value, 0, &mut text);
    text
}

fn block(value: &Value, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            for (name, value) in entries {
                text.push_str(&format!("{indent}{}:", key(name)));
                below(value, depth, text);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for item in items {
                let mut inner = String::new();
                block(item, depth + 1, &mut inner);
                text.push_str(&format!("{indent}- {}", inner.trim_start()));
            }
        }
        plain => text.push_str(&format!("{indent}{plain}\n")),
    }
}

/// What follows a key: a plain value on its line, anything else on the lines below.
fn below(value: &Value, depth: usize, text: &mut String) {
    let is_plain = match value {
        Value::Object(entries) => entries.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => true,
    };
    if is_plain {
        text.push_str(&format!(" {value}\n"));
    } else {
        text.push('\n');
        block(value, depth + 1, text);
    }
}

/// A key as it is where it is a word, else in quotes.
fn key(name: &str) -> String {
    let is_word = name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_' || byte == b'-')
        && name.starts_with(|first: char| first.is_ascii_lowercase());
    if is_word { name.to_owned() } else { Value::from(name).to_string() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn tables_and_lists_are_blocks_and_texts_are_quoted() {
        let value = json!({
            "name": "a: \"b\"\n", "n": 1.5, "none": null, "empty": [], "fid:x": true,
            "rows": [{ "a": 1, "b": { "c": "no" } }, { "a": 2 }], "plain": [1, "2"],
        });
        let expected = "\
name: \"a: \\\"b\\\"\\n\"
n: 1.5
none: null
empty: []
\"fid:x\": true
rows:
  - a: 1
    b:
      c: \"no\"
  - a: 2
plain:
  - 1
  - \"2\"
";
        assert_eq!(document(&value), expected);
    }
}
