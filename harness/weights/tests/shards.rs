//! Checkpoints in several files, and digests that are kept between runs.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

use std::{
    collections::BTreeMap,
    fs::{File, FileTimes},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use specimen_weights::{Checkpoint, DigestCache, LoadError, write_safetensors};
use tch::{Device, Tensor};

/// Two files with one tensor each, and their index.
fn shards(folder: &Path, map: &str) -> PathBuf {
    for (file, name, value) in [("a.safetensors", "first", 1.0_f32), ("b.safetensors", "second", 2.0)] {
        let tensors = BTreeMap::from([(name.to_owned(), Tensor::from_slice(&[value, 0.5]))]);
        write_safetensors(&folder.join(file), &tensors).unwrap();
    }
    let path = folder.join("model.safetensors.index.json");
    std::fs::write(&path, format!("{{\"metadata\": {{}}, \"weight_map\": {{{map}}}}}")).unwrap();
    path
}

const MAP: &str = "\"first\": \"a.safetensors\", \"second\": \"b.safetensors\"";

fn open(path: &Path) -> Result<Checkpoint, LoadError> {
    Checkpoint::open(path, None, Device::Cpu)
}

#[test]
fn tensors_of_several_files_are_one_checkpoint() {
    let folder = tempfile::tempdir().unwrap();
    let path = shards(folder.path(), MAP);
    let mut checkpoint = open(&path).unwrap();
    assert_eq!(checkpoint.path(), path);
    for (name, value) in [("second", 2.0), ("first", 1.0)] {
        assert_eq!(checkpoint.take(name, &[2]).unwrap().double_value(&[0]), value);
    }
    let digest = checkpoint.digest().to_owned();
    checkpoint.finish().unwrap();
    assert_eq!(open(&path).unwrap().digest(), digest);
    assert!(open(&path).unwrap().finish().unwrap_err().to_string().contains("2 tensors are not part"));

    // The digest is that of the contents, not of the index's words.
    std::fs::write(&path, format!("{{\"weight_map\": {{{MAP}}}}}")).unwrap();
    assert_eq!(open(&path).unwrap().digest(), digest);
    let other = BTreeMap::from([("second".to_owned(), Tensor::from_slice(&[3.0_f32, 0.5]))]);
    write_safetensors(&folder.path().join("b.safetensors"), &other).unwrap();
    assert_ne!(open(&path).unwrap().digest(), digest);
}

#[test]
fn an_index_that_does_not_fit_its_files_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (map, part) in [
        ("", "lists no tensors"),
        (
            "\"first\": \"a.safetensors\", \"third\": \"a.safetensors\"",
            "`a.safetensors` disagree about tensor `third`",
        ),
        ("\"third\": \"b.safetensors\"", "`b.safetensors` disagree about tensor `second`"),
        ("\"first\": \"../a.safetensors\"", "no name of a file beside it"),
        ("\"first\": \"c.safetensors\"", "c.safetensors: cannot read the weights"),
        ("\"first\": 1", "not an index of weights"),
    ] {
        let error = open(&shards(folder.path(), map)).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains(part), "`{part}` is not in `{error}`");
    }
}

fn set_age(path: &Path, seconds: u64) {
    let time = SystemTime::now() - Duration::from_secs(seconds);
    File::options().write(true).open(path).unwrap().set_times(FileTimes::new().set_modified(time)).unwrap();
}

#[test]
fn a_digest_is_kept_until_the_file_changes() {
    let folder = tempfile::tempdir().unwrap();
    let cache = DigestCache::new(Some(folder.path().join("digests")), 0);
    let path = folder.path().join("x");
    std::fs::write(&path, "one").unwrap();
    set_age(&path, 100);
    let digest = |bytes: &[u8]| cache.digest(&File::open(&path).unwrap(), &path, bytes).unwrap();
    let first = digest(b"one");
    assert_eq!(first, blake3::hash(b"one").to_hex().as_str());
    // Nobody reads the bytes again.
    assert_eq!(digest(b"not looked at"), first);
    let kept =
        || std::fs::read_dir(folder.path().join("digests")).unwrap().map(|entry| entry.unwrap().path());
    std::fs::write(kept().next().unwrap(), "no digest").unwrap();
    assert_eq!(digest(b"one"), first);
    set_age(&path, 50);
    assert_eq!(digest(b"two"), blake3::hash(b"two").to_hex().as_str());
    assert_eq!(kept().count(), 2);
}

#[test]
fn a_file_that_has_just_changed_is_digested_every_time() {
    let folder = tempfile::tempdir().unwrap();
    let cache = DigestCache::new(Some(folder.path().join("digests")), 0);
    let path = folder.path().join("x");
    std::fs::write(&path, "one").unwrap();
    let digest = |bytes: &[u8]| cache.digest(&File::open(&path).unwrap(), &path, bytes).unwrap();
    assert_ne!(digest(b"one"), digest(b"two"));
}

#[test]
fn a_kept_digest_without_end_is_not_read_but_written_anew() {
    let folder = tempfile::tempdir().unwrap();
    let digests = folder.path().join("digests");
    let path = folder.path().join("x");
    std::fs::write(&path, "one").unwrap();
    set_age(&path, 100);
    let cache = DigestCache::new(Some(digests.clone()), 0);
    let digest = || cache.digest(&File::open(&path).unwrap(), &path, b"one").unwrap();
    let first = digest();
    let kept = std::fs::read_dir(&digests).unwrap().next().unwrap().unwrap().path();
    std::fs::remove_file(&kept).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &kept).unwrap();
    assert_eq!(digest(), first);
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), first);
}

#[test]
fn a_folder_that_cannot_be_written_costs_no_digest() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x");
    std::fs::write(&path, "one").unwrap();
    set_age(&path, 100);
    let cache = DigestCache::new(Some(path.join("digests")), 0);
    let digest = cache.digest(&File::open(&path).unwrap(), &path, b"one").unwrap();
    assert_eq!(digest, blake3::hash(b"one").to_hex().as_str());
}
