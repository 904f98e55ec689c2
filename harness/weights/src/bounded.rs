//! Files that lie beside weights and are read whole: bounded in size, so that neither a mistake nor a trap (a device,
//! a file of zeros) fills the memory.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

/// Bytes of an index, a configuration or a tokenizer, at most; those of published models stay below 40 million.
pub const MAX_SIDE_FILE_BYTES: u64 = 256 << 20;

/// The content of `path`.
///
/// # Errors
/// What the system says, or more than [`MAX_SIDE_FILE_BYTES`].
pub fn read_side_file(path: &Path) -> io::Result<Vec<u8>> {
    read_at_most(path, MAX_SIDE_FILE_BYTES)
}

/// The content of `path` as text.
///
/// # Errors
/// As [`read_side_file`], or bytes that are no UTF-8.
pub fn read_side_text(path: &Path) -> io::Result<String> {
    read_text_at_most(path, MAX_SIDE_FILE_BYTES)
}

/// The content of `path` as text of at most `most` bytes.
///
/// # Errors
/// What the system says, more than `most` bytes, or bytes that are no UTF-8.
pub fn read_text_at_most(path: &Path, most: u64) -> io::Result<String> {
    let bytes = read_at_most(path, most)?;
    String::from_utf8(bytes).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

fn read_at_most(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("more than {most} bytes, which no such file has; is it the right one?");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn a_file_beyond_the_limit_is_refused_and_a_device_without_end_too() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_at_most(&path, 5).unwrap(), b"12345");
        let message = read_at_most(&path, 4).unwrap_err().to_string();
        assert!(message.contains("more than 4 bytes"), "{message}");
        assert!(read_at_most(Path::new("/dev/zero"), 1 << 16).is_err());
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(read_side_text(&path).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
