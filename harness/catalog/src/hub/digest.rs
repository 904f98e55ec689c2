//! Digests of files and of what streams by, and the comparison of a file with what is known of it: what is published, the name
//! under which the hub's cache stores it, or else what it was when it was first seen.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File},
    io::{self, BufReader, Read},
    path::{Path, PathBuf},
};

use serde::Deserialize;
use sha1::Sha1;
use sha2::{Digest, Sha256};
use specimen_foundation::bounded_read::read_text;

use crate::{
    entry::{Origin, PublishedFile},
    hub::{HubError, Places, cache::write_small},
};

/// Folder of the digests of what was seen, below the first folder of this program.
const SEEN: &str = "first-seen";
/// Bytes of such a note, at most.
const MAX_NOTE_BYTES: u64 = 1 << 12;
/// Links from a file of a snapshot to its content, at most: two of the hub's, and some of a user's.
const MAX_LINKS: usize = 8;

/// The note of a converted safetensors file that names the SHA-256 of the file that it was made from.
pub const SOURCE_KEY: &str = "source_sha256";
/// Bytes of the header of a safetensors file, at most, as its own library has it.
const MAX_HEADER_BYTES: u64 = 100_000_000;

const DAMAGED: &str = "it is truncated or damaged, or another file: remove it and fetch it again";

/// What vouches for the content of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Vouched {
    /// The catalog: it has the published SHA-256.
    Published,
    /// The hub: its content has the digest that is its name in the cache.
    Hub,
    /// Nobody; it has the SHA-256 that it had when it was first seen here.
    Seen(String),
    /// Nobody; it has this SHA-256, which is remembered from now on if the folder can be written.
    Nobody(String),
}

impl fmt::Display for Vouched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Published => f.write_str("as published"),
            Self::Hub => f.write_str("as the hub stores it"),
            Self::Seen(sha256) => {
                write!(f, "digest unknown; SHA-256 is {sha256}, the same as when it was first seen")
            }
            Self::Nobody(sha256) => write!(f, "digest unknown; SHA-256 is {sha256}"),
        }
    }
}

/// Compares the file at `path` with what is published of `file`: its size and SHA-256, or the digest under which the cache
/// of the hub stores it. Returns the SHA-256 that was compared; `None` where none is known.
pub fn check_published(path: &Path, file: &PublishedFile) -> Result<Option<String>, HubError> {
    check_published_by(path, file, &of_file)
}

/// The same, with digests that `of_file` gives: of a path, and of the kind that a digest is.
pub fn check_published_by(
    path: &Path,
    file: &PublishedFile,
    of_file: &OfFile<'_>,
) -> Result<Option<String>, HubError> {
    let expected = known(path, file);
    let expected = expected.as_ref().map(|(digest, _)| digest.as_str());
    check_by(path, (file.n_bytes.get().copied(), expected), DAMAGED, of_file)?;
    Ok(expected.filter(|digest| !is_git(digest)).map(str::to_owned))
}

/// The same, and where nothing is known compares its SHA-256 with what it was when it was first seen. `snapshot`: the one that
/// it is from, where that is not the one which the catalog names.
pub fn vouched(
    path: &Path,
    file: &PublishedFile,
    snapshot: Option<&str>,
    places: &Places,
) -> Result<Vouched, HubError> {
    check_published(path, file)?;
    if let Some((_, by)) = known(path, file) {
        return Ok(by);
    }
    compared_with_first(path, &source_of(file, snapshot), places.own.first().map(PathBuf::as_path))
}

/// Compares the safetensors file at `path` with `file`, which it was converted from by its own words: who vouches for it, in
/// words.
pub fn check_source(path: &Path, file: &PublishedFile) -> Result<String, HubError> {
    let source = source_note(path).map_err(HubError::io(path, "cannot read its header"))?;
    Ok(match (source, file.sha256.get()) {
        (Some(source), Some(known)) if source.starts_with(known.as_str()) => {
            "converted from the published file".to_owned()
        }
        (Some(source), Some(known)) => {
            let expected = format!("weights that were made from a file with SHA-256 {known}");
            let remedy =
                "remove it and fetch it again; weights of your own are named by their path".to_owned();
            let (path, found) = (path.to_owned(), format!("such made from {source}"));
            return Err(HubError::Mismatch { path, expected, found, remedy });
        }
        (Some(source), None) => format!("digest unknown; converted from a file with SHA-256 {source}"),
        (None, _) => "digest unknown; it does not name the file that it was made from".to_owned(),
    })
}

/// What the safetensors file at `path` says under [`SOURCE_KEY`].
fn source_note(path: &Path) -> io::Result<Option<String>> {
    #[derive(Deserialize)]
    struct Header {
        #[serde(default, rename = "__metadata__")]
        notes: BTreeMap<String, String>,
    }
    let (mut file, mut length) = (File::open(path)?, [0; 8]);
    file.read_exact(&mut length)?;
    let header = file.take(u64::from_le_bytes(length).min(MAX_HEADER_BYTES));
    let mut header: Header = serde_json::from_reader(BufReader::new(header))?;
    Ok(header.notes.remove(SOURCE_KEY))
}

/// Removes the file at `path`, which turned out to be none that is published, and what is remembered of it.
pub fn discard(path: &Path, file: &PublishedFile, places: &Places) -> Result<(), HubError> {
    let content = fs::canonicalize(path).map_err(HubError::io(path, "cannot look at it"))?;
    let note = places.own.first().map(|folder| note_of(folder, &source_of(file, None)));
    for gone in [Some(path.to_owned()), Some(content), note].into_iter().flatten() {
        match fs::remove_file(&gone) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(HubError::io(&gone, "cannot remove it")(error));
            }
            _ => {}
        }
    }
    Ok(())
}

/// Where `file` is from, in words; `snapshot` as in [`vouched`].
fn source_of(file: &PublishedFile, snapshot: Option<&str>) -> String {
    match &file.origin {
        Origin::Hub { revision, .. } => format!("{} at {}", file.described(), snapshot.unwrap_or(revision)),
        Origin::Url { .. } | Origin::ByHand { .. } => file.described(),
    }
}

/// Where the digest of what is from `source` is remembered.
fn note_of(folder: &Path, source: &str) -> PathBuf {
    folder.join(SEEN).join(hex(Sha256::new().chain_update(source)))
}

/// Compares the SHA-256 of the file at `path` with the one that `source` had when it was first seen, which is remembered
/// below `folder`.
pub fn compared_with_first(path: &Path, source: &str, folder: Option<&Path>) -> Result<Vouched, HubError> {
    let found = of_file(path, "").map_err(HubError::io(path, "cannot read it"))?;
    let Some(folder) = folder else { return Ok(Vouched::Nobody(found)) };
    let note = note_of(folder, source);
    let first = match read_text(&note, MAX_NOTE_BYTES) {
        Ok(text) => text.split_whitespace().next().unwrap_or_default().to_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            // Data that many share may be read-only: then there is nothing to compare with next time either.
            let _ = write_small(&note, format!("{found}  {source}\n").as_bytes());
            return Ok(Vouched::Nobody(found));
        }
        Err(error) => return Err(HubError::io(&note, "cannot read it")(error)),
    };
    if first == found {
        return Ok(Vouched::Seen(found));
    }
    let expected = format!("SHA-256 {first}, which {source} had when it was first seen here");
    let remedy = format!(
        "{DAMAGED}; if its publisher has another one now and you want it, remove {} too",
        note.display()
    );
    Err(HubError::Mismatch { path: path.to_owned(), expected, found, remedy })
}

/// The digest that is known of `file`, which is at `path`, and who says so.
fn known(path: &Path, file: &PublishedFile) -> Option<(String, Vouched)> {
    let published = file.sha256.get().cloned().map(|sha256| (sha256, Vouched::Published));
    published.or_else(|| Some((stored_name(path)?, Vouched::Hub)))
}

/// The digest under which the hub's cache stores the file that `path` links to: the first name on the way that is in a
/// folder `blobs`. Behind it may be another link, to a name in a store of all repositories that is no SHA-256.
fn stored_name(path: &Path) -> Option<String> {
    let mut at = path.to_owned();
    for _ in 0..MAX_LINKS {
        at = at.parent()?.join(fs::read_link(&at).ok()?);
        if at.parent()?.file_name().is_some_and(|folder| folder == "blobs") {
            return at.file_name()?.to_str().filter(|name| is_digest(name)).map(str::to_owned);
        }
    }
    None
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(hasher: impl Digest) -> String {
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What takes the digest of a file.
pub type OfFile<'a> = dyn Fn(&Path, &str) -> io::Result<String> + 'a;

/// The digest of the file at `path` of the kind that `like` is: git's of a blob, the plain SHA-1 by which some proxies of the
/// hub name content where it is `like`, or SHA-256.
pub fn of_file(path: &Path, like: &str) -> io::Result<String> {
    if !is_git(like) {
        return taken_in(path, Sha256::new());
    }
    let git = taken_in(path, Sha1::new().chain_update(format!("blob {}\0", path.metadata()?.len())))?;
    let is_plain = git != like && taken_in(path, Sha1::new())? == like;
    Ok(if is_plain { like.to_owned() } else { git })
}

/// The digest once `hasher` has the bytes of the file at `path` too.
fn taken_in(path: &Path, mut hasher: impl Digest) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut block = vec![0; 1 << 18];
    loop {
        match file.read(&mut block) {
            Ok(0) => return Ok(hex(hasher)),
            Ok(n) => hasher.update(&block[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether `text` is a whole digest in lower-case hexadecimal digits, as the hub names content: a SHA-256, or git's of a small
/// file; a proxy may name it by its SHA-1.
pub(crate) fn is_digest(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether a digest is git's: no SHA-256 is published in so many digits.
fn is_git(digest: &str) -> bool {
    digest.len() == 40
}

/// The size and digest of the file at `path`, compared with what is known.
pub(crate) fn check(
    path: &Path,
    n_bytes: Option<u64>,
    digest: Option<&str>,
    remedy: &str,
) -> Result<(), HubError> {
    check_by(path, (n_bytes, digest), remedy, &of_file)
}

fn check_by(
    path: &Path,
    (n_bytes, digest): (Option<u64>, Option<&str>),
    remedy: &str,
    of_file: &OfFile<'_>,
) -> Result<(), HubError> {
    let mismatch = |expected: String, found: String| {
        Err(HubError::Mismatch { path: path.to_owned(), expected, found, remedy: remedy.to_owned() })
    };
    let found = path.metadata().map_err(HubError::io(path, "cannot look at it"))?.len();
    if let Some(expected) = n_bytes.filter(|&expected| expected != found) {
        return mismatch(format!("{expected} bytes"), found.to_string());
    }
    let Some(expected) = digest else { return Ok(()) };
    let found = of_file(path, expected).map_err(HubError::io(path, "cannot read it"))?;
    let kind = if is_git(expected) { "git's digest" } else { "SHA-256" };
    // The digest that some authors put into a file's name is the beginning of it.
    if found.starts_with(expected) { Ok(()) } else { mismatch(format!("{kind} {expected}"), found) }
}
