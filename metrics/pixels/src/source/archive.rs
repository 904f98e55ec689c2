//! The image files in a zip archive, stored or deflated, read one at a time without unpacking the rest.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use zip::ZipArchive;
use zip::result::ZipError;

use super::{MAX_FILE_BYTES, Unlisted, is_image, unread_format};
use crate::error::PixelError;

/// How an entry of the directory begins, and the length of its fixed part.
const ENTRY: &[u8] = b"PK\x01\x02";
const ENTRY_BYTES: usize = 46;

/// An opened archive.
#[derive(Debug)]
pub(super) struct Archive {
    // One reader for all threads: entries are read under the lock and decoded outside of it.
    zip: Mutex<ZipArchive<BufReader<File>>>,
    /// Place in the archive of each entry.
    places: Vec<usize>,
}

/// What an archive holds.
pub(super) struct Listing {
    pub(super) archive: Archive,
    /// The sorted names of its images.
    pub(super) keys: Vec<String>,
    /// Number of its visible files that are no images.
    pub(super) n_ignored: usize,
    /// Pictures in formats that are not read.
    pub(super) unlisted: Vec<Unlisted>,
}

impl Archive {
    /// Opens and lists the archive at `path`. Hidden files are skipped, and so is the folder that macOS adds; `./a.jpg` is
    /// `a.jpg`. A picture whose name leads out of the archive (`../a.jpg`) cannot be listed. Two images of one name are an
    /// error.
    pub(super) fn open(path: &Path) -> Result<Listing, PixelError> {
        let file = File::open(path).map_err(|e| PixelError::io(path, e))?;
        let zip = ZipArchive::new(BufReader::new(file)).map_err(|e| explain(path, e))?;
        check_names(path, zip.central_directory_start())?;
        let (mut images, mut n_ignored, mut unlisted) = (Vec::new(), 0, Vec::new());
        for place in 0..zip.len() {
            let Some(name) = zip.name_for_index(place) else { continue };
            let name = plain_name(&name.map_err(|e| explain(path, e))?);
            if is_skipped(&name) {
                continue;
            }
            if is_picture(&name) && name.split('/').any(|part| part == "..") {
                let found = format!("`{}`; write the archive again without `..`", name.escape_debug());
                let error = PixelError::malformed(path, "names inside the archive", found);
                unlisted.push(Unlisted { key: name, error });
            } else if let Some(error) = unread_format(Path::new(&name), &path.join(&name)) {
                unlisted.push(Unlisted { key: name, error });
            } else if is_image(Path::new(&name)) {
                images.push((name, place));
            } else {
                n_ignored += 1;
            }
        }
        images.sort_unstable();
        let (keys, places) = images.into_iter().unzip();
        unlisted.sort_by(|a, b| a.key.cmp(&b.key));
        Ok(Listing { archive: Self { zip: Mutex::new(zip), places }, keys, n_ignored, unlisted })
    }

    /// The bytes of entry `idx`, which messages call `path`.
    pub(super) fn read(&self, idx: usize, path: &Path) -> Result<Vec<u8>, PixelError> {
        // A panic under the lock leaves no half-read state behind: every read begins with a seek.
        let mut zip = self.zip.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = zip.by_index(self.places[idx]).map_err(|e| explain(path, e))?;
        let n_bytes = entry.size();
        if n_bytes > MAX_FILE_BYTES {
            return Err(PixelError::FileTooLarge {
                path: path.to_path_buf(),
                n_bytes,
                limit: MAX_FILE_BYTES,
            });
        }
        let mut bytes = Vec::new();
        // The declared size is a claim; what comes out is what counts.
        entry.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(|e| PixelError::io(path, e))?;
        if bytes.len() as u64 != n_bytes {
            return Err(PixelError::malformed(path, format!("{n_bytes} bytes"), format!("{}", bytes.len())));
        }
        Ok(bytes)
    }
}

/// `name` without the parts that name the folder they are in (`.`).
fn plain_name(name: &str) -> String {
    name.split('/').filter(|part| *part != ".").collect::<Vec<_>>().join("/")
}

/// Whether the entry `name` is named as a picture, in a format that is read or in another.
fn is_picture(name: &str) -> bool {
    is_image(Path::new(name)) || unread_format(Path::new(name), Path::new(name)).is_some()
}

/// Whether the entry `name` is a folder, or hidden.
fn is_skipped(name: &str) -> bool {
    let is_hidden = |part: &str| part.starts_with('.') && part != ".." || part == "__MACOSX";
    name.is_empty() || name.ends_with('/') || name.split('/').any(is_hidden)
}

/// Walks the directory of the archive at `path`, which begins at byte `start`: of two entries of one name the library
/// keeps the last.
fn check_names(path: &Path, start: u64) -> Result<(), PixelError> {
    let io = |e| PixelError::io(path, e);
    let mut directory = BufReader::new(File::open(path).map_err(io)?);
    directory.seek(SeekFrom::Start(start)).map_err(io)?;
    let mut seen = BTreeSet::new();
    loop {
        let mut head = Vec::with_capacity(ENTRY_BYTES);
        directory.by_ref().take(ENTRY_BYTES as u64).read_to_end(&mut head).map_err(io)?;
        // Behind the last entry another record begins.
        if head.len() < ENTRY_BYTES || !head.starts_with(ENTRY) {
            return Ok(());
        }
        let [n_name, n_extra, n_comment] =
            [28, 30, 32].map(|at| u16::from_le_bytes([head[at], head[at + 1]]));
        let mut name = vec![0; usize::from(n_name)];
        directory.read_exact(&mut name).map_err(io)?;
        directory.seek_relative(i64::from(n_extra) + i64::from(n_comment)).map_err(io)?;
        let parts = name.split(|&byte| byte == b'/').filter(|part| *part != b".");
        let name = parts.collect::<Vec<_>>().join(&b'/');
        let text = String::from_utf8_lossy(&name).into_owned();
        if !is_skipped(&text) && is_image(Path::new(&text)) && !seen.insert(name) {
            let key = text.escape_debug().to_string();
            return Err(PixelError::Duplicate { path: path.to_path_buf(), key });
        }
    }
}

fn explain(path: &Path, error: ZipError) -> PixelError {
    match error {
        ZipError::Io(source) => PixelError::io(path, source),
        other => {
            PixelError::malformed(path, "a zip archive with stored or deflated files", other.to_string())
        }
    }
}
