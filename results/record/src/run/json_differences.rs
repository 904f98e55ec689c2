//! Where two JSON values differ, place by place: what of an experiment is another.

use std::{collections::BTreeSet, fmt};

use serde_json::Value;

/// One place at which two values differ.
#[derive(Debug, PartialEq)]
pub struct Difference {
    /// Keys and indices, joined with dots.
    place: String,
    old: Option<Value>,
    new: Option<Value>,
}

/// Longest text of a value that is shown whole.
const MAX_CHARS: usize = 60;
/// Differences that are shown.
const MAX_SHOWN: usize = 8;

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |value: &Option<Value>| match value {
            None => "absent".to_owned(),
            Some(value) => {
                let text = value.to_string();
                match text.char_indices().nth(MAX_CHARS) {
                    Some((end, _)) => format!("{}...", &text[..end]),
                    None => text,
                }
            }
        };
        write!(f, "`{}` was {}, is {}", self.place, text(&self.old), text(&self.new))
    }
}

/// The differences from `old` to `new`, the deepest place of each; objects by key, lists by index.
pub fn compare(old: &Value, new: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    collect("", Some(old), Some(new), &mut found);
    found
}

/// The first of the differences in a line; `None` without one.
pub fn described(differences: &[Difference]) -> Option<String> {
    let shown: Vec<String> = differences.iter().take(MAX_SHOWN).map(ToString::to_string).collect();
    let shown = shown.join(", ");
    match differences.len() {
        0 => None,
        n if n > MAX_SHOWN => Some(format!("{shown}, and {} more", n - MAX_SHOWN)),
        _ => Some(shown),
    }
}

fn collect(place: &str, old: Option<&Value>, new: Option<&Value>, found: &mut Vec<Difference>) {
    let below = |key: &str| if place.is_empty() { key.to_owned() } else { format!("{place}.{key}") };
    match (old, new) {
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            keys.into_iter().for_each(|key| collect(&below(key), a.get(key), b.get(key), found));
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            let n = a.len().max(b.len());
            (0..n).for_each(|i| collect(&below(&i.to_string()), a.get(i), b.get(i), found));
        }
        _ if old == new => {}
        _ => found.push(Difference { place: place.to_owned(), old: old.cloned(), new: new.cloned() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn places_and_both_values_are_reported() {
        let old = json!({"a": {"b": [1, 2], "c": true}, "d": 1});
        let new = json!({"a": {"b": [1, 3, 4], "c": true}, "e": "x"});
        let found: Vec<String> = compare(&old, &new).iter().map(ToString::to_string).collect();
        let expected = [
            "`a.b.1` was 2, is 3",
            "`a.b.2` was absent, is 4",
            "`d` was 1, is absent",
            "`e` was absent, is \"x\"",
        ];
        assert_eq!(found, expected);
        assert!(compare(&old, &old).is_empty());
    }

    #[test]
    fn the_first_eight_are_shown() {
        let old: Value =
            (0..10).map(|n| (n.to_string(), Value::from(n))).collect::<serde_json::Map<_, _>>().into();
        let found = compare(&old, &json!({}));
        let text = described(&found).unwrap_or_default();
        assert!(text.starts_with("`0` was 0, is absent, `1`") && text.ends_with(", and 2 more"), "{text}");
        assert_eq!(described(&[]), None);
    }

    #[test]
    fn long_values_are_cut() {
        let text = compare(&json!({"a": "x".repeat(100)}), &json!({"a": 1}))[0].to_string();
        assert!(text.contains("...") && text.len() < 100, "{text}");
    }
}
