//! The seed of one item. It is written as 16 hex digits, because a u64 does not survive readers that
//! hold JSON numbers as doubles.

use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The 64-bit key of an item's random source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(extend("pattern" = "^[0-9a-f]{16}$"))]
pub struct Seed(pub u64);

impl Seed {
    /// What a run says in place of a seed that nobody knows, of images that were imported.
    pub const UNKNOWN: Seed = Seed(0);

    /// The seed, where it is known.
    pub fn known(self) -> Option<Seed> {
        Some(self).filter(|&seed| seed != Seed::UNKNOWN)
    }
}

impl fmt::Display for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl FromStr for Seed {
    type Err = String;

    fn from_str(text: &str) -> Result<Seed, String> {
        let hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        match u64::from_str_radix(text, 16) {
            Ok(value) if hex && text.len() == 16 => Ok(Seed(value)),
            _ => Err(format!("`{text}` is not a seed (16 lower-case hex digits)")),
        }
    }
}

impl TryFrom<String> for Seed {
    type Error = String;

    fn try_from(text: String) -> Result<Seed, String> {
        text.parse()
    }
}

impl From<Seed> for String {
    fn from(seed: Seed) -> String {
        seed.to_string()
    }
}
