//! Tables of neighbours kept on disk by their content: making one takes time that grows with the square of the vocabulary,
//! and every worker of every run needs the same.

use std::{
    fs,
    path::{Path, PathBuf},
};

use specimen_decode::{
    dist::TokenId,
    vectors::{Neighbours, TokenVectors},
};
use specimen_foundation::{bounded_read, whole_file::write_whole};

/// Tables of fewer tokens are made in less time than a file is worth.
const FEWEST_TOKENS: usize = 4096;

/// Part of a file's name; another rule of order or ties has another.
const RULE: &str = "euclidean-1";

/// Bytes of the digest at the end of a file.
const N_DIGEST: usize = 32;

/// The nearest `n_nearest` others of every token, from a file below `cache` or made and kept there. A file that is not
/// whole is made again, and so is a table that cannot be kept.
pub(crate) fn neighbours(vectors: &TokenVectors, n_nearest: usize, cache: Option<&Path>) -> Neighbours {
    let Some(cache) = cache.filter(|_| FEWEST_TOKENS <= vectors.n_vocab() && n_nearest > 0) else {
        return Neighbours::of_vectors(vectors, n_nearest);
    };
    let file = file(cache, vectors, n_nearest);
    read(&file, vectors.n_vocab(), n_nearest).unwrap_or_else(|| {
        let made = Neighbours::of_vectors(vectors, n_nearest);
        // Workers that write at the same time write the same bytes.
        let folder = file.parent().expect("a file is in a folder");
        let _ = fs::create_dir_all(folder).and_then(|()| write_whole(&file, &bytes(&made)));
        made
    })
}

fn file(cache: &Path, vectors: &TokenVectors, n_nearest: usize) -> PathBuf {
    let mut hasher = blake3::Hasher::new();
    for token in 0..vectors.n_vocab() {
        vectors.of(TokenId(token as u32)).iter().for_each(|value| {
            hasher.update(&value.to_le_bytes());
        });
    }
    let n_vocab = vectors.n_vocab();
    cache.join("neighbours").join(format!("{RULE}-{}-{n_vocab}-{n_nearest}", hasher.finalize().to_hex()))
}

/// Every id as four bytes, row after row, and the digest of these.
fn bytes(table: &Neighbours) -> Vec<u8> {
    let rows = (0..table.n_vocab() as u32).flat_map(|token| table.of(TokenId(token), table.n_nearest()));
    let mut bytes: Vec<u8> = rows.flat_map(|id| id.0.to_le_bytes()).collect();
    let digest = blake3::hash(&bytes);
    bytes.extend(digest.as_bytes());
    bytes
}

fn read(file: &Path, n_vocab: usize, n_nearest: usize) -> Option<Neighbours> {
    let n_nearest = n_nearest.min(n_vocab - 1);
    let n_bytes = 4 * n_vocab * n_nearest;
    let bytes = bounded_read::read(file, (n_bytes + N_DIGEST) as u64).ok()?;
    let (ids, digest) = bytes.split_at_checked(n_bytes)?;
    if blake3::hash(ids).as_bytes() != digest {
        return None;
    }
    let id = |four: &[u8]| Some(TokenId(u32::from_le_bytes(four.try_into().ok()?)));
    let rows: Option<Vec<Vec<TokenId>>> =
        ids.chunks_exact(4 * n_nearest).map(|row| row.chunks_exact(4).map(id).collect()).collect();
    Neighbours::from_rows(&rows?).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn vectors() -> TokenVectors {
        TokenVectors::new((0..FEWEST_TOKENS).map(|at| (at as f32 * 0.37).sin()).collect(), 1).unwrap()
    }

    #[test]
    fn a_kept_table_is_the_one_that_was_made_and_a_broken_file_is_made_again() {
        let cache = tempfile::tempdir().unwrap();
        let vectors = vectors();
        let made = neighbours(&vectors, 3, Some(cache.path()));
        assert_eq!(made, Neighbours::of_vectors(&vectors, 3));
        let file = file(cache.path(), &vectors, 3);
        let kept = fs::read(&file).unwrap();
        assert_eq!(read(&file, FEWEST_TOKENS, 3), Some(made.clone()));
        for broken in [&kept[..kept.len() - 1], &[&[1], &kept[1..]].concat()] {
            fs::write(&file, broken).unwrap();
            assert_eq!(read(&file, FEWEST_TOKENS, 3), None);
            assert_eq!(neighbours(&vectors, 3, Some(cache.path())), made);
            assert_eq!(fs::read(&file).unwrap(), kept);
        }
    }

    #[test]
    fn small_tables_leave_no_file() {
        let cache = tempfile::tempdir().unwrap();
        let few = TokenVectors::new(vec![0.0, 1.0, 3.0], 1).unwrap();
        neighbours(&few, 2, Some(cache.path()));
        assert!(!cache.path().join("neighbours").exists());
    }
}
