//! The blake3 digest of bytes, as every file of a run writes it: 64 lower-case hex digits.

use std::fmt;
use std::path::Path;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::RecordError;

/// A blake3 digest in hex.
// Invariant: 64 lower-case hex digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(extend("pattern" = "^[0-9a-f]{64}$"))]
pub struct Digest(String);

impl Digest {
    /// Digest of bytes; of raw RGB bytes, row by row, for an image.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Digest {
        Digest::from_hash(blake3::hash(bytes))
    }

    /// Digest of a token sequence: each token as four little-endian bytes.
    #[must_use]
    pub fn of_tokens(tokens: &[u32]) -> Digest {
        let bytes: Vec<u8> = tokens.iter().flat_map(|token| token.to_le_bytes()).collect();
        Digest::of(&bytes)
    }

    /// Digest of a file's bytes, read as a stream.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn of_file(path: &Path) -> Result<Digest, RecordError> {
        let file = std::fs::File::open(path).map_err(RecordError::io(path, "open"))?;
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(file).map_err(RecordError::io(path, "read"))?;
        Ok(Digest::from_hasher(&hasher))
    }

    /// The 64 hex digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub(crate) fn from_hasher(hasher: &blake3::Hasher) -> Digest {
        Digest::from_hash(hasher.finalize())
    }

    pub(crate) fn from_hash(hash: blake3::Hash) -> Digest {
        Digest(hash.to_hex().to_string())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Digest, String> {
        let hex = text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        if text.len() == 64 && hex {
            Ok(Digest(text.to_owned()))
        } else {
            Err(format!("`{text}` is not a blake3 digest (64 lower-case hex digits)"))
        }
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Digest, String> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> String {
        digest.0
    }
}
