//! Digests of files and prompt sets: blake3, and sha256 only where an upstream publishes one.

use crate::error::{DatasetError, Result};
use crate::read;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A 256-bit digest as 64 lower-case hexadecimal digits; blake3 unless the field's name says sha256.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(
    // Invariant: 64 characters out of 0-9 and a-f.
    String,
);

impl Digest {
    /// The digest written as `hex`, or `None` unless that is 64 lower-case hexadecimal digits.
    pub fn from_hex(hex: &str) -> Option<Self> {
        let is_hex = hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
        is_hex.then(|| Self(hex.to_owned()))
    }

    /// The 64 hexadecimal digits.
    pub fn as_hex(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Digest {
    type Error = String;

    fn try_from(hex: String) -> std::result::Result<Self, String> {
        Self::from_hex(&hex)
            .ok_or_else(|| format!("expected 64 lower-case hexadecimal digits, found `{hex}`"))
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}

/// blake3 of bytes in memory.
pub fn blake3_bytes(bytes: &[u8]) -> Digest {
    Digest(blake3::hash(bytes).to_hex().to_string())
}

/// sha256 of bytes in memory.
pub fn sha256_bytes(bytes: &[u8]) -> Digest {
    sha256_hex(Sha256::new_with_prefix(bytes))
}

/// blake3 of a file as it lies on disk. Reads it in blocks, so its size does not matter.
pub fn blake3_file(path: &Path) -> Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    stream(path, &mut open(path)?, |block| {
        hasher.update(block);
    })?;
    Ok(Digest(hasher.finalize().to_hex().to_string()))
}

/// sha256 of a file as it lies on disk.
pub fn sha256_file(path: &Path) -> Result<Digest> {
    let mut hasher = Sha256::new();
    stream(path, &mut open(path)?, |block| hasher.update(block))?;
    Ok(sha256_hex(hasher))
}

/// sha256 and number of bytes of a file's content: of the uncompressed bytes when it is gzipped, so that a
/// file packed again keeps its digest. Fails beyond [`read::MAX_CONTENT_BYTES`].
pub fn sha256_content(path: &Path) -> Result<(Digest, u64)> {
    let content = read::content(path)?;
    Ok((sha256_bytes(&content.bytes), content.bytes.len() as u64))
}

fn open(path: &Path) -> Result<File> {
    read::expect_file(path)?;
    File::open(path).map_err(|e| DatasetError::io(path, e))
}

fn stream(path: &Path, file: &mut File, mut take: impl FnMut(&[u8])) -> Result<()> {
    let mut block = vec![0; 1 << 16];
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok(()),
            Ok(n_read) => take(&block[..n_read]),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(e) => return Err(DatasetError::io(path, e)),
        }
    }
}

fn sha256_hex(hasher: Sha256) -> Digest {
    Digest(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn digests_of_the_empty_string_are_the_published_ones() {
        assert_eq!(
            sha256_bytes(b"").as_hex(),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        assert_eq!(
            blake3_bytes(b"").as_hex(),
            "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"
        );
    }

    #[test]
    fn a_file_has_the_digest_of_its_bytes_and_a_gzipped_one_keeps_that_of_its_content() {
        let folder = tempfile::tempdir().unwrap();
        let bytes: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
        let plain = folder.path().join("plain.bin");
        std::fs::write(&plain, &bytes).unwrap();
        assert_eq!(blake3_file(&plain).unwrap(), blake3_bytes(&bytes));
        assert_eq!(sha256_file(&plain).unwrap(), sha256_bytes(&bytes));

        let packed = folder.path().join("plain.bin.gz");
        let mut encoder =
            flate2::write::GzEncoder::new(File::create(&packed).unwrap(), flate2::Compression::fast());
        encoder.write_all(&bytes).unwrap();
        encoder.finish().unwrap();
        assert_ne!(sha256_file(&packed).unwrap(), sha256_bytes(&bytes));
        assert_eq!(sha256_content(&packed).unwrap(), (sha256_bytes(&bytes), 200_000));
    }

    #[test]
    fn hex_of_the_wrong_length_or_case_is_not_a_digest() {
        assert!(Digest::from_hex(&"a".repeat(64)).is_some());
        assert!(Digest::from_hex(&"A".repeat(64)).is_none());
        assert!(Digest::from_hex(&"a".repeat(63)).is_none());
        assert!(serde_json::from_str::<Digest>("\"zz\"").is_err());
    }
}
