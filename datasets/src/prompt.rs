//! One prompt, and the id that ties it to every image that belongs to it.

use serde::{Deserialize, Serialize};
use std::fmt;

/// The name of a prompt and of every image that belongs to it.
///
/// Ids are text (`42` and `042` are two ids) and safe as part of a file name: 1 to 128 bytes, no control
/// character, no slash or backslash, no blank at either end, not `.` or `..`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PromptId(
    // Invariant: as the type's documentation says.
    String,
);

impl PromptId {
    /// The id with this text; the error says which rule the text breaks.
    pub fn new(text: impl Into<String>) -> std::result::Result<Self, BadPromptId> {
        let text = text.into();
        let rule = if text.is_empty() || text.len() > 128 {
            "must have 1 to 128 bytes"
        } else if text.chars().any(|c| c.is_control() || c == '/' || c == '\\') {
            "must not contain control characters, slashes or backslashes"
        } else if text.trim() != text {
            "must not start or end with a blank"
        } else if text == "." || text == ".." {
            "must not be a folder"
        } else {
            return Ok(Self(text));
        };
        Err(BadPromptId { text, rule })
    }

    /// The decimal id of a numbered row, image or annotation.
    pub fn number(number: u64) -> Self {
        Self(number.to_string())
    }

    /// The id's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for PromptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for PromptId {
    type Error = BadPromptId;

    fn try_from(text: String) -> std::result::Result<Self, BadPromptId> {
        Self::new(text)
    }
}

impl From<PromptId> for String {
    fn from(id: PromptId) -> Self {
        id.0
    }
}

/// A text that cannot be a [`PromptId`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the id `{}` {rule}", text.escape_debug())]
pub struct BadPromptId {
    /// The text that is no id.
    pub text: String,
    /// The rule that it breaks.
    pub rule: &'static str,
}

/// One thing to ask the model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prompt {
    /// Unique in its set.
    pub id: PromptId,
    /// The text exactly as in the file, outer blanks included; empty only in an unconditional set.
    pub text: String,
    /// PartiPrompts' category, or the column `category` of a prompt file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<String>,
    /// PartiPrompts' challenge, or the column `challenge` of a prompt file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub challenge: Option<String>,
    /// PartiPrompts' note, or the column `note` of a prompt file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// GenEval's task, or the column `task` of a prompt file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Id of the reference image that this prompt describes, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image_id: Option<PromptId>,
}

impl Prompt {
    /// A prompt without category, task, note or reference image.
    pub fn new(id: PromptId, text: impl Into<String>) -> Self {
        Self {
            id,
            text: text.into(),
            category: None,
            challenge: None,
            note: None,
            task: None,
            image_id: None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn an_id_that_could_leave_its_folder_is_refused() {
        for bad in ["", "a/b", "..", ".", "a\\b", "a\nb", " a", "a ", &"a".repeat(129)] {
            assert!(PromptId::new(bad).is_err(), "{bad:?}");
        }
        assert!(serde_json::from_str::<PromptId>("\"../x\"").is_err());
        assert_eq!(serde_json::to_string(&PromptId::number(3)).unwrap(), "\"3\"");
    }
}
