//! Files that are whole under their name or not there: written under another name in the same folder, forced to the
//! disk, renamed. A writer that fails, because the disk is full for instance, leaves nothing behind.

use std::{
    fs::File,
    io::{self, BufWriter, ErrorKind, Write},
    path::Path,
};

use tempfile::NamedTempFile;

/// What the names of unfinished files begin with.
pub const UNFINISHED: &str = ".unfinished-";

/// What the names of folders begin with that external programs write their pictures to.
pub const SCRATCH: &str = "specimen-external-";

/// Writes `bytes` to `path`, in a folder that is there, and replaces what was there.
///
/// # Errors
/// A folder or a disk that cannot be written. The file that was there before is whole then.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write_whole_with(path, |file| file.write_all(bytes), |error| error)
}

/// As [`write_whole`], for content that `fill` produces piece by piece. `explain` turns what the system says into the
/// error of the caller.
///
/// # Errors
/// As [`write_whole`], and those of `fill`.
pub fn write_whole_with<E>(
    path: &Path,
    fill: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    explain: impl Fn(io::Error) -> E,
) -> Result<(), E> {
    let mut file = BufWriter::new(unfinished_beside(path).map_err(&explain)?);
    fill(&mut file)?;
    let file = file.into_inner().map_err(|error| explain(error.into_error()))?;
    file.as_file().sync_all().map_err(&explain)?;
    file.persist(path).map_err(|unnamed| explain(unnamed.error))?;
    sync_folder(folder_of(path)).map_err(explain)
}

/// Fails where [`write_whole`] could not write `path`, so that a user hears of it before the work. Leaves nothing behind.
///
/// # Errors
/// As [`write_whole`].
pub fn check_writable(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Err(ErrorKind::IsADirectory.into());
    }
    unfinished_beside(path).map(drop)
}

/// Forces the names in `folder` to the disk, so that a rename survives a power cut.
///
/// # Errors
/// A folder that cannot be opened or synced.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// The folder that `path` names a file in.
fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A file in the folder of `path` whose lock this process holds, so that it does not count as left behind.
fn unfinished_beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED);
    readable_by_all(&mut builder);
    loop {
        let file = builder.tempfile_in(folder_of(path)).map_err(without_name)?;
        // Whoever removes leftovers leaves a file whose lock is held. A file system without locks has no such remover.
        let _ = file.as_file().lock();
        // It may have been removed between its making and its lock.
        if file.path().exists() {
            return Ok(file);
        }
    }
}

/// What the system said, without the name of the unfinished file, which `tempfile` adds and which says nothing to a user.
fn without_name(error: io::Error) -> io::Error {
    match error.to_string().rsplit_once(" at path ") {
        Some((said, _)) => io::Error::new(error.kind(), said.to_owned()),
        None => error,
    }
}

/// Temporary files are private by default. These are for everyone the umask allows.
#[cfg(unix)]
fn readable_by_all(builder: &mut tempfile::Builder<'_, '_>) {
    use std::os::unix::fs::PermissionsExt;
    builder.permissions(std::fs::Permissions::from_mode(0o666));
}

#[cfg(not(unix))]
fn readable_by_all(_: &mut tempfile::Builder<'_, '_>) {}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_that_cannot_be_written_leaves_what_was_there_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!(
            (std::fs::read(&path).unwrap(), names(folder.path())),
            (b"two".to_vec(), vec!["a".to_owned()])
        );
        // A folder that is not empty cannot be replaced by a file.
        let taken = folder.path().join("b");
        std::fs::create_dir_all(taken.join("inner")).unwrap();
        assert!(write_whole(&taken, b"three").is_err());
        assert_eq!(names(folder.path()), ["a", "b"]);
    }

    #[test]
    fn a_writer_that_fails_halfway_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        write_whole(&path, b"old").unwrap();
        let stop = |file: &mut dyn Write| {
            file.write_all(b"ne")?;
            Err(io::Error::other("stopped"))
        };
        let failed = write_whole_with(&path, stop, |error| error);
        assert_eq!(failed.unwrap_err().to_string(), "stopped");
        assert_eq!(
            (std::fs::read(&path).unwrap(), names(folder.path())),
            (b"old".to_vec(), vec!["a".to_owned()])
        );
    }

    #[test]
    fn a_place_is_checked_without_a_trace() {
        let folder = tempfile::tempdir().unwrap();
        check_writable(&folder.path().join("a")).unwrap();
        assert_eq!(check_writable(folder.path()).unwrap_err().kind(), ErrorKind::IsADirectory);
        let absent = check_writable(&folder.path().join("no/a")).unwrap_err();
        assert_eq!(absent.kind(), ErrorKind::NotFound);
        assert!(!absent.to_string().contains(UNFINISHED), "{absent}");
        assert!(names(folder.path()).is_empty());
    }
}
