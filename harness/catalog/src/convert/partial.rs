//! The file that a conversion writes before it has its name. It is locked while it is written, so that the next conversion
//! into the same folder can tell what a killed one left, and removes that.

use std::{
    fs::{File, Permissions, TryLockError},
    io::{self, ErrorKind},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::NamedTempFile;

const PREFIX: &str = ".convert-";
const SUFFIX: &str = ".partial";

/// A file of no name yet in `folder`, which is made where it is not there.
pub(crate) fn begin(folder: &Path) -> io::Result<NamedTempFile> {
    std::fs::create_dir_all(folder)?;
    loop {
        let file = tempfile::Builder::new()
            .prefix(PREFIX)
            .suffix(SUFFIX)
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)?;
        match file.as_file().lock() {
            Err(error) if error.kind() != ErrorKind::Unsupported => return Err(error),
            _ => {}
        }
        // Between its making and its lock another conversion may have taken it for one that was left.
        if file.path().exists() {
            return Ok(file);
        }
    }
}

/// Removes the files in `folder` that nobody writes any more, and says which, in order. Where files cannot be locked,
/// nothing is removed.
pub(crate) fn remove_left(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut left = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !(name.starts_with(PREFIX) && name.ends_with(SUFFIX)) {
            continue;
        }
        // Whoever was faster has removed it, or finished it under its name.
        let Ok(file) = File::open(&path) else { continue };
        match file.try_lock() {
            Ok(()) if std::fs::remove_file(&path).is_ok() => left.push(path),
            Ok(()) | Err(TryLockError::WouldBlock | TryLockError::Error(_)) => {}
        }
    }
    left.sort();
    Ok(left)
}
