//! The protocol: a request and an answer, each one line of JSON. `docs/external.md` is its page for people.
//!
//! Version 1. A process that reads another version answers with an error; keys that are not known are refused
//! on both sides, so that a misspelt key is not a value silently lost.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use specimen_foundation::plain_words::plain_words;

use crate::external::error::{ExternalError, shown};

/// Version of the protocol.
pub const PROTOCOL: u32 = 1;
/// Tokens of one image, at most.
pub const MAX_TOKENS: usize = 1 << 18;
/// Phases that may be reported of one image, at most, and characters of a phase's name.
const MAX_PHASES: usize = 32;
const MAX_NAME: usize = 64;
/// Seconds that a phase may last: ten days.
const MAX_SECONDS: f64 = 864_000.0;
/// Characters of an error that are kept.
const MAX_ERROR: usize = 500;

/// How tokens are to be drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sampling {
    /// At least 0; 0 is greedy.
    pub temperature: f64,
    /// Tokens kept; 0 keeps all.
    pub top_k: u32,
    /// Mass kept, in (0, 1].
    pub top_p: f64,
    /// Scale of classifier-free guidance; 1 is off.
    pub guidance: f64,
    /// `top-k-then-top-p` or `top-p-then-top-k`.
    pub filter_order: String,
}

/// The model that the cell names: what the process should stand for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Its name in specs.
    pub name: String,
    /// `f32`, `bf16` or `f16`.
    pub dtype: String,
    /// `cpu`, `cuda` or `cuda:N`.
    pub device: String,
}

/// One image to make.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Request {
    /// [`PROTOCOL`].
    pub protocol: u32,
    /// What the answer must repeat.
    pub id: String,
    /// The prompt; empty for unconditional models.
    pub prompt: String,
    /// Key of the random source, up to 2^64 - 1.
    pub seed: u64,
    /// How tokens are drawn.
    pub sampling: Sampling,
    /// What the process stands for.
    pub model: Model,
    /// Folder that the image must be written to; absolute.
    pub folder: String,
}

impl Request {
    /// The request as a line, with its end.
    pub fn line(&self) -> String {
        let mut line = serde_json::to_string(self).expect("a request is plain text and finite numbers");
        line.push('\n');
        line
    }
}

/// The answer as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wire {
    protocol: u32,
    id: String,
    image: Option<String>,
    tokens: Option<Vec<u32>>,
    phases_s: Option<BTreeMap<String, f64>>,
    forwards: Option<u64>,
    draft_forwards: Option<u64>,
    error: Option<String>,
}

/// What the process made.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// Path of the image, absolute or relative to the request's folder; not checked yet.
    pub image: String,
    /// Its tokens, `[n_tokens]`, where it has any to show.
    pub tokens: Option<Vec<u32>>,
    /// Nanoseconds of phases by its own names and its own clock.
    pub phases_ns: BTreeMap<String, u64>,
    /// Forwards of the target, with the prefill.
    pub forwards: Option<u64>,
    /// Forwards of a drafter.
    pub draft_forwards: Option<u64>,
}

/// An answer, checked.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// An image.
    Made(Made),
    /// Why there is none.
    Refused(String),
}

impl Answer {
    /// Reads the answer to the request `id` from `line`, which is line number `number` of the process.
    pub fn parse(line: &[u8], number: u64, id: &str) -> Result<Self, ExternalError> {
        let bad = |expected: &str, found: String| ExternalError::Malformed {
            line: number,
            expected: expected.to_owned(),
            found,
        };
        const EXPECTED: &str = "one JSON object with `protocol`, `id`, and `image` or `error`";
        let text =
            std::str::from_utf8(line).map_err(|_| bad(EXPECTED, "bytes that are no UTF-8".to_owned()))?;
        let quoted = || format!("`{}`", shown(text, 120));
        let wire: Wire = serde_json::from_str(text).map_err(|error| {
            bad(EXPECTED, format!("{} ({})", quoted(), shown(&plain_words(&error.to_string()), 300)))
        })?;
        if wire.protocol != PROTOCOL {
            return Err(bad(&format!("`protocol` {PROTOCOL}"), wire.protocol.to_string()));
        }
        if wire.id != id {
            let expected = format!("the answer to `{}`", shown(id, 200));
            return Err(bad(&expected, format!("`id` `{}`", shown(&wire.id, 200))));
        }
        match (wire.error, wire.image) {
            (Some(why), None) => Ok(Self::Refused(shown(&why, MAX_ERROR))),
            (Some(_), Some(_)) => Err(bad("`image` or `error`", "both".to_owned())),
            (None, None) => Err(bad("`image` or `error`", "neither".to_owned())),
            (None, Some(image)) => {
                let tokens = wire.tokens;
                if let Some(n) = tokens.as_ref().map(Vec::len).filter(|&n| n > MAX_TOKENS) {
                    return Err(bad(&format!("at most {MAX_TOKENS} tokens"), n.to_string()));
                }
                let phases_ns = phases(wire.phases_s.unwrap_or_default(), &bad)?;
                if wire.forwards == Some(0) {
                    return Err(bad("`forwards` of at least 1, or none", "0".to_owned()));
                }
                for count in [wire.forwards, wire.draft_forwards].into_iter().flatten() {
                    if count > u64::from(u32::MAX) {
                        return Err(bad("a count of forwards below 2^32", count.to_string()));
                    }
                }
                let (forwards, draft_forwards) = (wire.forwards, wire.draft_forwards);
                Ok(Self::Made(Made { image, tokens, phases_ns, forwards, draft_forwards }))
            }
        }
    }
}

/// Seconds by name to nanoseconds by name.
fn phases(
    seconds: BTreeMap<String, f64>,
    bad: &dyn Fn(&str, String) -> ExternalError,
) -> Result<BTreeMap<String, u64>, ExternalError> {
    if seconds.len() > MAX_PHASES {
        return Err(bad(&format!("at most {MAX_PHASES} phases"), seconds.len().to_string()));
    }
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let of = |(name, value): (String, f64)| {
        if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(fits) {
            let expected = "names of phases of letters, digits, `_` and `-`, at most 64";
            return Err(bad(expected, format!("`{}`", shown(&name, 80))));
        }
        if !(0.0..=MAX_SECONDS).contains(&value) {
            return Err(bad(&format!("0 to {MAX_SECONDS} seconds of `{name}`"), value.to_string()));
        }
        Ok((name, (value * 1e9).round() as u64))
    };
    seconds.into_iter().map(of).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Answer, ExternalError> {
        Answer::parse(text.as_bytes(), 3, "a/1/0")
    }

    #[track_caller]
    fn check_refused(text: &str, parts: &[&str]) {
        let message = parse(text).unwrap_err().to_string();
        assert!(message.starts_with("line 3 of its answers: expected "), "{message}");
        for part in parts {
            assert!(message.contains(part), "`{part}` is not in `{message}`");
        }
    }

    #[test]
    fn an_answer_carries_what_the_process_reports_of_the_image() {
        let text = r#"{"protocol": 1, "id": "a/1/0", "image": "1.png", "tokens": [3, 1], "forwards": 2,
            "phases_s": {"draft": 0.5, "vq-decode": 0}}"#;
        let expected = Made {
            image: "1.png".to_owned(),
            tokens: Some(vec![3, 1]),
            phases_ns: BTreeMap::from([("draft".to_owned(), 500_000_000), ("vq-decode".to_owned(), 0)]),
            forwards: Some(2),
            draft_forwards: None,
        };
        assert_eq!(parse(text).unwrap(), Answer::Made(expected));
    }

    #[test]
    fn a_refusal_is_an_answer_and_controls_no_terminal() {
        let text = r#"{"protocol": 1, "id": "a/1/0", "error": "\u001b]0;no memory\u0007"}"#;
        assert_eq!(parse(text).unwrap(), Answer::Refused("\\u{1b}]0;no memory\\u{7}".to_owned()));
    }

    #[test]
    fn what_is_no_answer_is_refused_with_what_was_expected() {
        check_refused("hello", &["one JSON object", "found `hello`", "expected value"]);
        check_refused("\u{1b}[2J", &["found `\\u{1b}[2J`"]);
        check_refused(r#"{"protocol": 2, "id": "a/1/0", "image": "1.png"}"#, &["`protocol` 1, found 2"]);
        check_refused(r#"{"protocol": 1, "id": "b", "image": "1.png"}"#, &["answer to `a/1/0`", "`id` `b`"]);
        check_refused(r#"{"protocol": 1, "id": "a/1/0"}"#, &["`image` or `error`, found neither"]);
        check_refused(r#"{"protocol": 1, "id": "a/1/0", "image": "1.png", "error": "x"}"#, &["found both"]);
        let head = r#"{"protocol": 1, "id": "a/1/0", "image": "1.png""#;
        check_refused(&format!(r#"{head}, "imagee": 1}}"#), &["unknown key `imagee`; did you mean `image`?"]);
        check_refused(
            &format!(r#"{head}, "tokens": [-1]}}"#),
            &["found the integer -1, expected a whole number from 0 to"],
        );
        check_refused(
            &format!(r#"{head}, "phases_s": {{"draft": -1}}}}"#),
            &["seconds of `draft`", "found -1"],
        );
        check_refused(&format!(r#"{head}, "phases_s": {{"draft": 1e999}}}}"#), &["out of range"]);
        check_refused(&format!(r#"{head}, "phases_s": {{"=cmd()": 1}}}}"#), &["names of phases", "`=cmd()`"]);
        check_refused(&format!(r#"{head}, "forwards": 0}}"#), &["at least 1, or none"]);
        check_refused(&format!(r#"{head}, "forwards": 4294967296}}"#), &["below 2^32"]);
        check_refused(&"[".repeat(100_000), &["found a list"]);
        assert!(Answer::parse(b"\xff", 1, "a").unwrap_err().to_string().contains("no UTF-8"));
    }

    #[test]
    fn a_request_is_one_line_whatever_the_prompt() {
        let request = Request {
            protocol: PROTOCOL,
            id: "a/1/0".to_owned(),
            prompt: "two\nlines \u{2028} \"quoted\"".to_owned(),
            seed: u64::MAX,
            sampling: Sampling {
                temperature: 1.0,
                top_k: 0,
                top_p: 1.0,
                guidance: 3.0,
                filter_order: "top-k-then-top-p".to_owned(),
            },
            model: Model { name: "tiny".to_owned(), dtype: "bf16".to_owned(), device: "cpu".to_owned() },
            folder: "/x".to_owned(),
        };
        let line = request.line();
        assert_eq!(line.matches('\n').count(), 1);
        assert!(line.ends_with("}\n") && line.contains("\"seed\":18446744073709551615"), "{line}");
        assert_eq!(serde_json::from_str::<Request>(&line).unwrap(), request);
    }
}
