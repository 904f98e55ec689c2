//! What serde says of a text that does not fit, in words for a person: no names of Rust's types, and the key or value
//! that was probably meant.

use crate::names::suggestion;
use crate::text::joined_lines;

/// How serde's sentences begin.
const BEGINNINGS: [&str; 8] = [
    "invalid type: ",
    "invalid value: ",
    "invalid length ",
    "unknown field ",
    "unknown variant ",
    "missing field ",
    "duplicate field ",
    "data did not match any variant of untagged enum ",
];

/// `message` of serde (of TOML or JSON) as one line of plain words; what is not serde's sentence stays as it is.
#[must_use]
pub fn plain_words(message: &str) -> String {
    let message = joined_lines(message, "; ");
    let Some(start) = BEGINNINGS.iter().filter_map(|words| message.find(words)).min() else { return message };
    let (before, rest) = message.split_at(start);
    // JSON's reader appends the place.
    let (said, place) = rest.rfind(" at line ").map_or((rest, ""), |at| rest.split_at(at));
    format!("{before}{}{place}", sentence(said))
}

fn sentence(said: &str) -> String {
    let quoted: Vec<&str> = said.split('`').skip(1).step_by(2).collect();
    let beginning = BEGINNINGS.iter().position(|words| said.starts_with(words));
    match (beginning, quoted.as_slice()) {
        (Some(0..=2), _) => mismatch(said),
        (Some(3), [found, known @ ..]) => format!("unknown key `{found}`{}", choices(found, known)),
        (Some(4), [found, known @ ..]) => format!("there is no `{found}`{}", choices(found, known)),
        (Some(5), [key, ..]) => format!("`{key}` is missing"),
        (Some(6), [key, ..]) => format!("`{key}` is given twice"),
        (Some(7), _) => "the value has none of the forms that fit here".to_owned(),
        _ => said.to_owned(),
    }
}

fn choices(found: &str, known: &[&str]) -> String {
    match known {
        [] => ", and no key fits here".to_owned(),
        known => format!("; {}", suggestion(found, known.iter().copied())),
    }
}

/// `invalid type: …, expected …` and its relatives. What was found may hold any text, so the last `expected` counts.
fn mismatch(said: &str) -> String {
    let Some((found, expected)) = said.rsplit_once(", expected ") else { return said.to_owned() };
    let found = match found.strip_prefix("invalid length ") {
        Some(n) => format!("{n} values"),
        None => found_value(found.split_once(": ").map_or(found, |(_, value)| value)),
    };
    format!("found {found}, expected {}", expected_kind(expected))
}

/// What was found, as serde describes it.
fn found_value(found: &str) -> String {
    let bare = |prefix: &str| found.strip_prefix(prefix).map(|value| value.trim_matches('`'));
    if let Some(number) = bare("integer ") {
        return format!("the integer {number}");
    }
    if let Some(number) = bare("floating point ") {
        return format!("the number {number}");
    }
    if let Some(flag) = bare("boolean ") {
        return format!("the flag {flag}");
    }
    if let Some(text) = found.strip_prefix("string ") {
        return format!("the text {text}");
    }
    match found {
        "sequence" => "a list",
        "map" => "a table",
        "null" | "unit value" | "Option value" => "no value (null)",
        other => other,
    }
    .to_owned()
}

/// The kind that was expected, for one of Rust's types.
fn expected_kind(expected: &str) -> String {
    let list_of = |n: &str| format!("a list of {n}");
    if let Some(n) = expected.strip_prefix("an array of length ") {
        return list_of(n);
    }
    if let Some(n) = expected.strip_prefix("a tuple of size ") {
        return list_of(n);
    }
    if let Some((_, n)) = expected.split_once(" with ").filter(|_| expected.contains("struct ")) {
        return list_of(n.split(' ').next().unwrap_or(n));
    }
    match expected {
        "f32" | "f64" => "a number",
        "u8" => "a whole number from 0 to 255",
        "u16" => "a whole number from 0 to 65535",
        "u32" => "a whole number from 0 to 4294967295",
        "u64" | "u128" | "usize" => "a whole number of at least 0",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "a whole number",
        kind if kind.starts_with("a nonzero ") => "a whole number of at least 1",
        "a string" | "a borrowed string" | "string" | "str" | "path string" => "text",
        "a boolean" | "bool" => "true or false",
        "a character" => "one character",
        "a sequence" => "a list",
        "a map" => "a table",
        "field identifier" => "a key",
        "variant identifier" | "string or table" => "a name",
        kind if kind.starts_with("struct ") || kind.starts_with("internally tagged enum ") => "a table",
        kind if kind.starts_with("tuple struct ") => "a list",
        kind if kind.starts_with("enum ") || kind.starts_with("unit variant ") => "a name",
        other => other,
    }
    .to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

    use std::num::NonZeroU32;

    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        First,
        Tenth,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code)] // It is only read into.
    struct Read {
        real: f64,
        #[serde(default)]
        count: u32,
        #[serde(default)]
        offset: i64,
        least: Option<NonZeroU32>,
        #[serde(default)]
        name: String,
        #[serde(default)]
        flag: bool,
        #[serde(default)]
        list: Vec<f64>,
        #[serde(default)]
        ends: [f64; 2],
        kind: Option<Kind>,
        inner: Option<Inner>,
        either: Option<Either>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {}

    #[derive(Debug, Deserialize)]
    #[serde(untagged)]
    #[allow(dead_code)] // It is only read into.
    enum Either {
        Number(f64),
        Text(String),
    }

    #[test]
    fn a_mismatch_is_said_without_a_name_of_rust() {
        let last = r#", "real": 1"#;
        for (json, expected) in [
            (r#""real": "a lot""#, "found the text \"a lot\", expected a number"),
            (r#""real": "f64, expected u8""#, "found the text \"f64, expected u8\", expected a number"),
            (r#""real": null"#, "found no value (null), expected a number"),
            (
                &format!(r#""count": -1{last}"#),
                "found the integer -1, expected a whole number from 0 to 4294967295",
            ),
            (
                &format!(r#""count": 1.5{last}"#),
                "found the number 1.5, expected a whole number from 0 to 4294967295",
            ),
            (&format!(r#""offset": true{last}"#), "found the flag true, expected a whole number"),
            (&format!(r#""least": 0{last}"#), "found the integer 0, expected a whole number of at least 1"),
            (&format!(r#""name": 3{last}"#), "found the integer 3, expected text"),
            (&format!(r#""flag": [1]{last}"#), "found a list, expected true or false"),
            (&format!(r#""list": {{}}{last}"#), "found a table, expected a list"),
            (&format!(r#""ends": [1]{last}"#), "found 1 values, expected a list of 2"),
            (&format!(r#""inner": 3{last}"#), "found the integer 3, expected a table"),
            (&format!(r#""either": {{}}{last}"#), "the value has none of the forms that fit here"),
            (r#""reel": 1"#, "unknown key `reel`; did you mean `real`?"),
            (&format!(r#""kind": "tenht"{last}"#), "there is no `tenht`; did you mean `tenth`?"),
            (&format!(r#""kind": "x"{last}"#), "there is no `x`; expected one of first, tenth"),
            (&format!(r#""inner": {{"a": 1}}{last}"#), "unknown key `a`, and no key fits here"),
            (r#""name": """#, "`real` is missing"),
            (r#""real": 1, "real": 2"#, "`real` is given twice"),
        ] {
            let error = serde_json::from_str::<Read>(&format!("{{{json}}}")).unwrap_err().to_string();
            let (_, place) = error.rsplit_once(" at line ").expect("JSON's reader says the place");
            assert_eq!(plain_words(&error), format!("{expected} at line {place}"), "{error}");
        }
    }

    #[test]
    fn what_is_not_of_serde_stays_on_one_line() {
        assert_eq!(
            plain_words("string values must be quoted\nexpected literal"),
            "string values must be quoted; expected literal"
        );
        assert_eq!(plain_words("accept: missing field `delta`"), "accept: `delta` is missing");
    }
}
