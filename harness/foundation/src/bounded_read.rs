//! Files that are read whole, with a bound on their size: neither a mistake nor a trap (a device, a file of zeros) fills
//! the memory.

use std::{
    fs::File,
    io::{self, ErrorKind, Read},
    path::Path,
};

/// Bytes of a configuration, an index or a tokenizer, at most. Those of published models stay below 40 million.
pub const MAX_SIDE_FILE_BYTES: u64 = 256 << 20;

/// The reason inside the [`io::Error`] of a file beyond its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("it has more than {most} bytes; is it the right file?")]
pub struct TooLarge {
    /// The bound in bytes.
    pub most: u64,
}

/// The content of `path`.
///
/// # Errors
/// What the system says; [`TooLarge`] inside an error of kind `InvalidData` when the file has more than `most` bytes.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    read_open(File::open(path)?, most)
}

/// The rest of a file that is open.
///
/// # Errors
/// As [`read`].
pub fn read_open(file: File, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::new(ErrorKind::InvalidData, TooLarge { most }));
    }
    Ok(bytes)
}

/// The content of `path` as text.
///
/// # Errors
/// As [`read`], and an error of kind `InvalidData` for bytes that are not UTF-8.
pub fn read_text(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read(path, most)?).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// The content of a file that belongs to weights, at most [`MAX_SIDE_FILE_BYTES`].
///
/// # Errors
/// As [`read`].
pub fn read_side_file(path: &Path) -> io::Result<Vec<u8>> {
    read(path, MAX_SIDE_FILE_BYTES)
}

/// The content of a file that belongs to weights as text, at most [`MAX_SIDE_FILE_BYTES`].
///
/// # Errors
/// As [`read_text`].
pub fn read_side_text(path: &Path) -> io::Result<String> {
    read_text(path, MAX_SIDE_FILE_BYTES)
}

/// The bound that a failed [`read`] hit, if that is why it failed.
#[must_use]
pub fn too_large(error: &io::Error) -> Option<TooLarge> {
    error.get_ref()?.downcast_ref().copied()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn a_file_beyond_the_bound_and_a_device_without_end_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        let error = read(&path, 4).unwrap_err();
        assert_eq!(too_large(&error), Some(TooLarge { most: 4 }));
        assert!(error.to_string().contains("more than 4 bytes"), "{error}");
        assert!(read(Path::new("/dev/zero"), 1 << 16).is_err());
    }

    #[test]
    fn an_absent_file_and_bytes_that_are_no_text_keep_their_kind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.json");
        assert_eq!(read_text(&path, 9).unwrap_err().kind(), ErrorKind::NotFound);
        std::fs::write(&path, b"\xff").unwrap();
        let error = read_text(&path, 9).unwrap_err();
        assert_eq!((error.kind(), too_large(&error)), (ErrorKind::InvalidData, None));
    }
}
