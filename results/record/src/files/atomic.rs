//! Whole files: written under another name in the same folder, synced, then renamed. Who reads the final
//! name sees the old file or the new one, never half of one.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::ser::PrettyFormatter;
use specimen_foundation::{
    failure,
    whole_file::{UNFINISHED, write_whole_with},
};

use crate::files::regular::{open_in_place, open_to_read};
use crate::run::run_dir::{create_folder, entries};
use crate::{Document, RecordError, check_finite};

/// Whether a file is one under way.
pub(crate) fn is_unfinished(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(UNFINISHED))
}

/// The files below `folder` that a dead process left under way, sorted. A writer holds a lock on its file,
/// which ends with its process; a file whose lock is held, or cannot be tried, is not among them.
pub fn unfinished_files(folder: &Path) -> Result<Vec<PathBuf>, RecordError> {
    let mut found = Vec::new();
    for entry in entries(folder)? {
        if entry.is_symlink() {
            continue;
        } else if entry.is_dir() {
            found.extend(unfinished_files(&entry)?);
        } else if is_unfinished(&entry) && is_orphan(&entry) {
            found.push(entry);
        }
    }
    found.sort();
    Ok(found)
}

/// Whether no process holds the lock of the file.
fn is_orphan(path: &Path) -> bool {
    // Over a network an exclusive lock needs the right to write.
    let opened = open_in_place(path, File::options().write(true)).or_else(|_| open_to_read(path));
    opened.is_ok_and(|file| file.try_lock().is_ok())
}

/// Removes the files below `folder` that a dead process left under way; says how many.
pub fn sweep_unfinished(folder: &Path) -> Result<u64, RecordError> {
    let mut n_removed = 0;
    for path in unfinished_files(folder)? {
        match std::fs::remove_file(&path) {
            Ok(()) => n_removed += 1,
            // Another was faster.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(RecordError::io(&path, "remove")(error)),
        }
    }
    Ok(n_removed)
}

/// Writes bytes to `path`, replacing what was there; makes missing folders.
pub fn write_atomic(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    write_atomic_with(path, |file| file.write_all(bytes).map_err(RecordError::io(path, "write")))
}

/// Like [`write_atomic`], for content that is produced piece by piece.
pub(crate) fn write_atomic_with(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), RecordError>,
) -> Result<(), RecordError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        create_folder(folder)?;
    }
    write_whole_with(path, fill, |error| RecordError::io(path, "write")(error))
}

/// Writes a document as indented JSON with a final newline.
pub fn write_document<T: Document>(path: &Path, document: &T) -> Result<(), RecordError> {
    check_writable(path, document)?;
    let mut bytes = Vec::new();
    let mut json = serde_json::Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b"  "));
    document.serialize(&mut json).map_err(|e| crate::error::refused(path, T::KIND, e))?;
    bytes.push(b'\n');
    write_atomic(path, &bytes)
}

/// What must hold before anything is written.
pub(crate) fn check_writable<T: Document>(path: &Path, document: &T) -> Result<(), RecordError> {
    let path = || path.to_owned();
    let [_, written] = T::SCHEMAS;
    if document.schema() != written {
        let reason = format!("its schema is {}, this program writes {written}", document.schema());
        return Err(crate::error::refused(path(), T::KIND, reason));
    }
    check_finite(document)
        .map_err(|source| failure!(Bug: "{}: refusing to write a {}: {source}", path().display(), T::KIND))?;
    document.check().map_err(|reason| crate::error::refused(path(), T::KIND, reason))
}
