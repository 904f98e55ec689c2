//! Prompt texts as the JSON list that the field's Python tools read, byte for byte as Python writes it.
//!
//! The longest captions of COCO val2017 written this way equal LANTERN's own list byte for byte.

use crate::prompt_set::PromptSet;
use std::fmt::Write;

/// The texts of a set in order, as Python's `json.dumps(texts, indent=4)`: ASCII only, other code points as
/// `\uXXXX` (surrogate pairs beyond the basic plane), no final line end.
#[must_use]
pub fn python_json_list(set: &PromptSet) -> String {
    let texts: Vec<String> = set.prompts().iter().map(|prompt| python_json_string(&prompt.text)).collect();
    format!("[\n    {}\n]", texts.join(",\n    "))
}

fn python_json_string(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    json.push('"');
    for c in text.chars() {
        match c {
            '"' => json.push_str("\\\""),
            '\\' => json.push_str("\\\\"),
            '\n' => json.push_str("\\n"),
            '\r' => json.push_str("\\r"),
            '\t' => json.push_str("\\t"),
            '\u{8}' => json.push_str("\\b"),
            '\u{c}' => json.push_str("\\f"),
            ' '..='~' => json.push(c),
            c => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(json, "\\u{unit:04x}").expect("writing to a string cannot fail");
                }
            }
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::prompt::{Prompt, PromptId};

    #[test]
    fn texts_are_written_as_python_writes_them() {
        let texts = ["a \"b\"\\/", "\n\r\t\u{8}\u{c}\u{1f}\u{7f}", "é’🙂"];
        let prompts = texts.iter().zip(0..).map(|(t, i)| Prompt::new(PromptId::number(i), *t)).collect();
        let set = PromptSet::new("made", prompts).unwrap();
        // From CPython 3.11.7: json.dumps(texts, indent=4).
        let expected = "[\n    \"a \\\"b\\\"\\\\/\",\n    \"\\n\\r\\t\\b\\f\\u001f\\u007f\",\n    \
                        \"\\u00e9\\u2019\\ud83d\\ude42\"\n]";
        assert_eq!(python_json_list(&set), expected);
    }
}
