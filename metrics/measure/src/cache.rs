//! Features on disk, one small file a picture, shared by all metrics and protocols that make them alike.
//!
//! A file's name is the content of the picture (BLAKE3) below a folder for what was done to it: the pixel steps and
//! the network's identity. A second metric over the same pictures runs no network. Files are written aside and
//! renamed, and carry a digest: a damaged one is found, reported and made again. Any number of processes may share it.

use std::path::{Path, PathBuf};

use crate::error::MeasureError;
use crate::whole_file::write_whole;

/// The arithmetic of pixels and networks, and the layout of an entry. Raise it when a change moves any feature.
const VERSION: u32 = 2;
/// First bytes of an entry.
const MAGIC: &[u8; 8] = b"spcfeat\x01";
/// Bytes of the digest at an entry's end.
const N_DIGEST: usize = 32;

/// The features of one network in passes of one size behind one list of pixel steps.
#[derive(Clone, Debug)]
pub struct Cache {
    /// `ROOT/features/RECIPE`
    folder: PathBuf,
    recipe: [u8; 32],
    n_dims: usize,
}

/// What the cache has for a picture.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// The features of the picture.
    Features(Vec<f32>),
    /// Nothing.
    Absent,
    /// A file that is not what was written.
    Damaged(PathBuf),
}

impl Cache {
    /// The part of the cache at `root` for rows of `n_dims` by the network `identity`, `batch` pictures in a pass, behind
    /// the steps with this digest. Makes no folder yet.
    pub fn new(root: &Path, pixels_digest: [u8; 32], identity: &str, batch: usize, n_dims: usize) -> Self {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&VERSION.to_le_bytes());
        hasher.update(&pixels_digest);
        hasher.update(&(batch as u64).to_le_bytes());
        hasher.update(identity.as_bytes());
        let recipe = hasher.finalize();
        let folder = root.join("features").join(&recipe.to_hex()[..32]);
        Self { folder, recipe: recipe.into(), n_dims }
    }

    /// Features of a row.
    pub fn n_dims(&self) -> usize {
        self.n_dims
    }

    /// The features of the picture with this content.
    pub fn find(&self, content: &[u8; 32]) -> Found {
        let path = self.path(content);
        match std::fs::read(&path) {
            Ok(bytes) => self.decode(content, &bytes).map_or(Found::Damaged(path), Found::Features),
            // What cannot be read is not there; writing tells what is wrong with the folder.
            Err(_) => Found::Absent,
        }
    }

    /// Keeps the features of the picture with this content.
    pub fn keep(&self, content: &[u8; 32], features: &[f32]) -> Result<(), MeasureError> {
        let path = self.path(content);
        let folder = path.parent().expect("an entry is in a folder");
        std::fs::create_dir_all(folder).map_err(|e| MeasureError::io(folder, "make the folder", e))?;
        write_whole(&path, &self.encode(content, features))
    }

    fn path(&self, content: &[u8; 32]) -> PathBuf {
        let name = blake3::Hash::from_bytes(*content).to_hex();
        self.folder.join(&name[..2]).join(&name[2..])
    }

    /// Magic, number of values, values, and the digest of all of it with recipe and content.
    fn encode(&self, content: &[u8; 32], features: &[f32]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend((features.len() as u64).to_le_bytes());
        bytes.extend(features.iter().flat_map(|value| value.to_le_bytes()));
        let digest = self.digest(content, &bytes);
        bytes.extend(digest);
        bytes
    }

    fn decode(&self, content: &[u8; 32], bytes: &[u8]) -> Option<Vec<f32>> {
        let (body, digest) = bytes.split_at_checked(bytes.len().checked_sub(N_DIGEST)?)?;
        if digest != self.digest(content, body) {
            return None;
        }
        let values = body.strip_prefix(MAGIC)?.get(size_of::<u64>()..)?;
        let values: Vec<f32> = values
            .chunks_exact(4)
            .map(|value| f32::from_le_bytes(value.try_into().expect("chunks have four bytes")))
            .collect();
        (values.len() == self.n_dims).then_some(values)
    }

    fn digest(&self, content: &[u8; 32], body: &[u8]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.recipe);
        hasher.update(content);
        hasher.update(body);
        hasher.finalize().into()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    const CONTENT: [u8; 32] = [7; 32];

    #[test]
    fn what_was_kept_is_found_and_another_network_finds_nothing() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::new(root.path(), [1; 32], "net@1", 16, 3);
        assert_eq!(cache.find(&CONTENT), Found::Absent);
        cache.keep(&CONTENT, &[1.0, -2.5, 0.0]).unwrap();
        assert_eq!(cache.find(&CONTENT), Found::Features(vec![1.0, -2.5, 0.0]));
        // Another network, other pixels, and passes of another size, which may move a feature in its last digits.
        for (pixels, identity, batch) in
            [([1; 32], "net@2", 16), ([2; 32], "net@1", 16), ([1; 32], "net@1", 8)]
        {
            let other = Cache::new(root.path(), pixels, identity, batch, 3);
            assert_eq!(other.find(&CONTENT), Found::Absent);
        }
    }

    #[test]
    fn every_changed_byte_and_every_cut_is_noticed() {
        let root = tempfile::tempdir().unwrap();
        let cache = Cache::new(root.path(), [1; 32], "net@1", 16, 2);
        cache.keep(&CONTENT, &[1.0, 2.0]).unwrap();
        let path = cache.path(&CONTENT);
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            std::fs::write(&path, changed).unwrap();
            assert_eq!(cache.find(&CONTENT), Found::Damaged(path.clone()), "byte {at}");
            std::fs::write(&path, &whole[..at]).unwrap();
            assert_eq!(cache.find(&CONTENT), Found::Damaged(path.clone()), "cut at {at}");
        }
        // An entry under another picture's name is damaged too.
        let other = cache.path(&[8; 32]);
        std::fs::create_dir_all(other.parent().unwrap()).unwrap();
        std::fs::write(&other, whole).unwrap();
        assert_eq!(cache.find(&[8; 32]), Found::Damaged(other));
    }
}
