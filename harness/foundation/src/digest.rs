//! Digests of bytes and files: blake3, and SHA-256 only where a publisher gives one.

use std::{fmt, fs::File, io, path::Path, str::FromStr};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A digest of 256 bits as 64 lower-case hexadecimal digits; blake3 unless the name of the field says SHA-256.
// Invariant: 64 characters out of 0-9 and a-f.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(description = "A blake3 digest in hex.", extend("pattern" = "^[0-9a-f]{64}$"))]
pub struct Digest(String);

impl Digest {
    /// blake3 of `bytes`; of an image, of its raw RGB bytes row by row.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        blake3::hash(bytes).into()
    }

    /// blake3 of a token sequence, each token as four little-endian bytes.
    #[must_use]
    pub fn of_tokens(tokens: &[u32]) -> Self {
        let mut hasher = blake3::Hasher::new();
        for token in tokens {
            hasher.update(&token.to_le_bytes());
        }
        hasher.finalize().into()
    }

    /// blake3 of a file, read as a stream.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn of_file(path: &Path) -> io::Result<Self> {
        let mut hasher = blake3::Hasher::new();
        hasher.update_reader(File::open(path)?)?;
        Ok(hasher.finalize().into())
    }

    /// SHA-256 of `bytes`.
    #[must_use]
    pub fn sha256_of(bytes: &[u8]) -> Self {
        Self::of_sha256(Sha256::new_with_prefix(bytes))
    }

    /// What `hasher` has taken in so far.
    #[must_use]
    pub fn of_sha256(hasher: Sha256) -> Self {
        Self(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The digest written as `hex`; `None` unless that is 64 lower-case hexadecimal digits.
    #[must_use]
    pub fn from_hex(hex: &str) -> Option<Self> {
        let is_hex = hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        is_hex.then(|| Self(hex.to_owned()))
    }

    /// The 64 hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<blake3::Hash> for Digest {
    fn from(hash: blake3::Hash) -> Self {
        Self(hash.to_hex().to_string())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Digest {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::from_hex(text)
            .ok_or_else(|| format!("expected a digest of 64 lower-case hexadecimal digits, found `{text}`"))
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn digests_of_the_empty_string_are_the_published_ones() {
        let sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        let blake3 = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        assert_eq!((Digest::sha256_of(b"").as_str(), Digest::of(b"").as_str()), (sha256, blake3));
    }

    #[test]
    fn a_file_and_a_token_sequence_have_the_digest_of_their_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
        let path = folder.path().join("a.bin");
        std::fs::write(&path, &bytes).unwrap();
        assert_eq!(Digest::of_file(&path).unwrap(), Digest::of(&bytes));
        assert!(Digest::of_file(&folder.path().join("none")).is_err());
        assert_eq!(Digest::of_tokens(&[1, 0x0203_0405]), Digest::of(&[1, 0, 0, 0, 5, 4, 3, 2]));
    }

    #[test]
    fn hex_of_the_wrong_length_or_case_is_not_a_digest() {
        assert!("a".repeat(64).parse::<Digest>().is_ok());
        assert!("A".repeat(64).parse::<Digest>().is_err());
        assert!("a".repeat(63).parse::<Digest>().is_err());
        assert!(serde_json::from_str::<Digest>("\"zz\"").is_err());
    }
}
