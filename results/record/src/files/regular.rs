//! Files below a run folder, which may come from somebody else. A folder with links or special files in it is refused
//! before anything in it is read or written, and a file is opened without waiting for another process.

use std::fs::{File, FileType, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use specimen_foundation::{fail, whole_file::SCRATCH};

use crate::RecordError;
use crate::run::run_dir::listed;

/// Opens a file to read it.
pub fn open_to_read(path: &Path) -> io::Result<File> {
    open(path, OpenOptions::new().read(true), OFlags::empty())
}

/// Opens a file that is changed where it is, as a lock or a log; a link is not followed.
pub fn open_in_place(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    open(path, options, OFlags::NOFOLLOW)
}

fn open(path: &Path, options: &mut OpenOptions, flags: OFlags) -> io::Result<File> {
    let flags = (flags | OFlags::NONBLOCK).bits().cast_signed();
    let irregular = |kind: &str| {
        let words = format!("it is {kind}, and a regular file is expected");
        io::Error::new(ErrorKind::InvalidInput, words)
    };
    match options.custom_flags(flags).open(path) {
        Ok(file) => match kind_of(file.metadata()?.file_type()) {
            None => Ok(file),
            Some(kind) => Err(irregular(kind)),
        },
        Err(error) if error.kind() == ErrorKind::NotFound => Err(error),
        Err(error) => match path.symlink_metadata().ok().and_then(|found| kind_of(found.file_type())) {
            None => Err(error),
            Some(kind) => Err(irregular(kind)),
        },
    }
}

/// What an entry is that is no regular file.
fn kind_of(entry: FileType) -> Option<&'static str> {
    Some(match entry {
        entry if entry.is_file() => return None,
        entry if entry.is_symlink() => "a symbolic link",
        entry if entry.is_dir() => "a folder",
        entry if entry.is_fifo() => "a named pipe",
        entry if entry.is_socket() => "a socket",
        _ => "a device",
    })
}

/// Refuses a run folder with anything below it that is neither a regular file nor a folder. The folder itself may be
/// reached by a link, and what external programs leave in their own folders is not looked at.
pub(crate) fn check_regular(root: &Path) -> Result<(), RecordError> {
    let mut found: Vec<(PathBuf, &'static str)> = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in listed(&folder)? {
            let path = entry.path();
            let kind = match entry.file_type() {
                Ok(kind) => kind,
                // A worker removed it meanwhile.
                Err(gone) if gone.kind() == ErrorKind::NotFound => continue,
                Err(source) => return Err(RecordError::io(path, "look at")(source)),
            };
            match kind_of(kind) {
                None => {}
                Some(_) if kind.is_dir() && is_scratch(root, &path) => {}
                Some(_) if kind.is_dir() => folders.push(path),
                Some(kind) => found.push((path, kind)),
            }
        }
    }
    found.sort();
    let n_more = found.len().saturating_sub(1);
    match found.into_iter().next() {
        None => Ok(()),
        Some((path, kind)) => fail!(Missing: "{}: this is {kind}{}; below the folder of a run, only regular \
            files and folders are read or written: remove it, or put a copy of what it stands for in its \
            place", path.display(), more(n_more)),
    }
}

/// Whether a folder is one of a shard in which an external program writes its pictures. Such a folder is removed and
/// never read.
fn is_scratch(root: &Path, folder: &Path) -> bool {
    let inside = folder.strip_prefix(root).unwrap_or(folder);
    let parts: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    parts.len() == 3 && parts[0] == "shards" && parts[2].starts_with(SCRATCH)
}

/// How many more of a kind there are, in words; nothing for none.
fn more(n: usize) -> String {
    if n == 0 { String::new() } else { format!(", and {n} more links or special files are in the run") }
}
