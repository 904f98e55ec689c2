//! Files that are whole under their name or not there: written aside in the same folder, forced to the disk, renamed. A
//! writer that fails, for want of room say, leaves nothing behind.

use std::{
    fs::{File, Permissions},
    io::{self, Write},
    os::unix::fs::PermissionsExt,
    path::Path,
};

/// Writes `bytes` to `path`, in a folder that is there, replacing what was there.
///
/// # Errors
/// A folder that cannot be written; what was there is whole then.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::Builder::new()
        .prefix(".unfinished-")
        // Temporary files are private by default; these are for everyone the umask allows.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|unnamed| unnamed.error)?;
    // The name too is to last through a power cut.
    File::open(folder)?.sync_all()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_written_leaves_what_was_there_and_nothing_beside_it() {
        let folder = tempfile::tempdir().unwrap();
        let names = || {
            let entries = std::fs::read_dir(folder.path()).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<Vec<_>>()
        };
        let path = folder.path().join("a");
        write_whole(&path, b"one").unwrap();
        write_whole(&path, b"two").unwrap();
        assert_eq!((std::fs::read(&path).unwrap(), names()), (b"two".to_vec(), vec!["a".to_owned()]));
        // A folder in its place takes no file.
        let taken = folder.path().join("b");
        std::fs::create_dir_all(taken.join("inner")).unwrap();
        assert!(write_whole(&taken, b"three").is_err());
        let mut left = names();
        left.sort();
        assert_eq!(left, ["a", "b"]);
    }
}
