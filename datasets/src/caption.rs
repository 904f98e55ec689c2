//! Which of an image's captions is the prompt. Papers differ in it, and it matters, so it is an option that
//! results record.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which caption stands for an image that has several; the rules are in [`crate::coco`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CaptionPolicy {
    /// The longest, as LANTERN takes it.
    Longest,
    /// The first in file order.
    First,
    /// What SJD's evaluation code really takes.
    Sjd,
    /// Every caption is a prompt of its own.
    All,
}

impl CaptionPolicy {
    /// All policies, in the order in which they are documented.
    pub const ALL: [Self; 4] = [Self::Longest, Self::First, Self::Sjd, Self::All];

    /// The name in specs and results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Longest => "longest",
            Self::First => "first",
            Self::Sjd => "sjd",
            Self::All => "all",
        }
    }
}

impl fmt::Display for CaptionPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CaptionPolicy {
    type Err = String;

    fn from_str(name: &str) -> std::result::Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|policy| policy.name() == name)
            .ok_or_else(|| format!("unknown caption policy `{name}`, expected longest, first, sjd or all"))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn policies_have_the_same_name_in_specs_messages_and_results() {
        for policy in CaptionPolicy::ALL {
            assert_eq!(policy.name().parse(), Ok(policy));
            assert_eq!(serde_json::to_string(&policy).unwrap(), format!("\"{policy}\""));
        }
        assert!("Longest".parse::<CaptionPolicy>().unwrap_err().contains("longest, first, sjd or all"));
    }
}
