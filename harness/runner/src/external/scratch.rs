//! The folder that a process writes its pictures to. It goes with the process that made it; where that
//! process was killed, the next one that makes a folder in the same place removes it.
//!
//! A file next to each folder is locked while its process runs: the system releases the lock however the
//! process ends, so that no number of a process, which another machine or container may have too, decides
//! what is removed.

use std::{
    fs::{DirBuilder, File, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

use specimen_foundation::whole_file::SCRATCH;

use crate::external::error::ExternalError;

/// What the name of a folder and a number are followed by in the name of the file next to it.
const LOCK: &str = ".lock";
/// Folders that may be in one place; more than processes are ever at work in one.
const MOST: u32 = 10_000;

/// A folder of this process, removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    lock_path: PathBuf,
    /// Locked as long as this is there.
    _lock: File,
}

impl Scratch {
    /// Makes one in the folder `parent`, after folders there whose processes are dead were removed.
    pub fn below(parent: &Path) -> Result<Self, ExternalError> {
        let io = |source| ExternalError::Io { path: parent.to_owned(), what: "make a folder in", source };
        let parent = std::path::absolute(parent).map_err(io)?;
        remove_dead(&parent);
        for number in 0..MOST {
            let path = parent.join(format!("{SCRATCH}{number}"));
            let lock_path = parent.join(format!("{SCRATCH}{number}{LOCK}"));
            let Some(lock) = take(&lock_path).map_err(io)? else { continue };
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path, lock_path, _lock: lock }),
                // A folder without its file is nobody's that is known; it stays.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    let _ = std::fs::remove_file(&lock_path);
                }
                Err(error) => {
                    let _ = std::fs::remove_file(&lock_path);
                    return Err(io(error));
                }
            }
        }
        Err(io(io::ErrorKind::AlreadyExists.into()))
    }

    /// Its path, absolute.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left here is removed by the next process.
        if std::fs::remove_dir_all(&self.path).is_ok() {
            let _ = std::fs::remove_file(&self.lock_path);
        }
    }
}

/// Removes the folders in `parent` whose processes are dead. What cannot be removed, because it is another
/// user's say, stays.
pub fn remove_dead(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let number = name.strip_prefix(SCRATCH).and_then(|rest| rest.strip_suffix(LOCK));
        if number.is_none_or(|number| number.parse::<u32>().is_err()) {
            continue;
        }
        let lock_path = parent.join(&name);
        let Ok(file) = File::open(&lock_path) else { continue };
        if file.try_lock().is_ok() && is_at(&file, &lock_path) {
            let folder = parent.join(name.trim_end_matches(LOCK));
            let is_gone = match std::fs::remove_dir_all(&folder) {
                Ok(()) => true,
                Err(error) => error.kind() == io::ErrorKind::NotFound,
            };
            if is_gone {
                let _ = std::fs::remove_file(&lock_path);
            }
        }
    }
}

/// The file at `path`, locked; `None` where another process has it. A file system without locks gives it
/// unlocked, and gives nobody a lock by which a folder could be removed.
fn take(path: &Path) -> io::Result<Option<File>> {
    let file = match File::options().create(true).truncate(false).write(true).open(path) {
        Ok(file) => file,
        // Another user's.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && path.exists() => return Ok(None),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Ok(None),
        Ok(()) if !is_at(&file, path) => Ok(None),
        Ok(()) | Err(TryLockError::Error(_)) => Ok(Some(file)),
    }
}

/// Whether `file` is the one at `path`: another process may have removed that name between opening and
/// locking.
fn is_at(file: &File, path: &Path) -> bool {
    let place = |data: std::fs::Metadata| (data.dev(), data.ino());
    file.metadata().ok().map(place) == std::fs::metadata(path).ok().map(place)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;

    fn names(parent: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(parent).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// As a killed process leaves it: the folder and the file, and no lock.
    fn left_behind(scratch: Scratch) -> PathBuf {
        let path = scratch.path.clone();
        std::fs::write(path.join("a.png"), "half").unwrap();
        scratch._lock.unlock().unwrap();
        std::mem::forget(scratch);
        path
    }

    #[test]
    fn a_folder_is_private_and_goes_with_all_that_is_in_it() {
        let parent = tempfile::tempdir().unwrap();
        let scratch = Scratch::below(parent.path()).unwrap();
        assert!(scratch.path().is_absolute() && scratch.path().starts_with(parent.path()));
        assert_eq!(std::fs::metadata(scratch.path()).unwrap().mode() & 0o777, 0o700);
        std::fs::write(scratch.path().join("a.png"), "x").unwrap();
        drop(scratch);
        assert_eq!(names(parent.path()), [""; 0]);
    }

    #[test]
    fn folders_of_dead_processes_are_removed_and_those_of_living_ones_stay() {
        let parent = tempfile::tempdir().unwrap();
        let living = Scratch::below(parent.path()).unwrap();
        let dead = left_behind(Scratch::below(parent.path()).unwrap());
        assert!(dead.join("a.png").exists());
        // What others made by such a name, without a lock, and what is no number, stays.
        for other in ["specimen-external-AbC123", "specimen-external-77"] {
            std::fs::create_dir(parent.path().join(other)).unwrap();
        }
        std::fs::write(parent.path().join("specimen-external-notes.lock"), "").unwrap();
        remove_dead(parent.path());
        assert!(!dead.exists() && living.path().exists());
        let next = Scratch::below(parent.path()).unwrap();
        assert_eq!(next.path(), dead);
        drop((living, next));
        let left = ["specimen-external-77", "specimen-external-AbC123", "specimen-external-notes.lock"];
        assert_eq!(names(parent.path()), left);
    }

    #[test]
    fn a_lock_without_its_folder_is_removed_too() {
        let parent = tempfile::tempdir().unwrap();
        std::fs::write(parent.path().join("specimen-external-3.lock"), "").unwrap();
        remove_dead(parent.path());
        assert_eq!(names(parent.path()), [""; 0]);
    }

    #[test]
    fn a_place_that_is_not_there_is_an_error_that_names_it() {
        let parent = tempfile::tempdir().unwrap();
        let message = Scratch::below(&parent.path().join("absent")).unwrap_err().to_string();
        assert!(message.contains("absent: cannot make a folder in"), "{message}");
    }
}
