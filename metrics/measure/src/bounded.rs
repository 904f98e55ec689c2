//! Files that are read whole: bounded in size, so that neither a mistake nor a trap (a device, a file of zeros) fills the
//! memory.

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::Path;

use crate::error::MeasureError;

/// The content of `path`, at most `most` bytes.
pub(crate) fn read(path: &Path, most: u64) -> Result<Vec<u8>, MeasureError> {
    let io = |error| MeasureError::io(path, "read", error);
    let mut bytes = Vec::new();
    File::open(path).map_err(io)?.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > most {
        let why = format!("it has more than {most} bytes; is it the right file?");
        return Err(io(Error::new(ErrorKind::InvalidData, why)));
    }
    Ok(bytes)
}

/// The content of `path` as text.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<String, MeasureError> {
    let text = String::from_utf8(read(path, most)?);
    text.map_err(|error| MeasureError::io(path, "read", Error::new(ErrorKind::InvalidData, error)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
mod tests {
    use super::*;

    #[test]
    fn a_file_beyond_the_limit_and_a_device_without_end_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("p.toml");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_text(&path, 5).unwrap(), "12345");
        assert!(read(&path, 4).unwrap_err().to_string().contains("more than 4 bytes"));
        assert!(read(Path::new("/dev/zero"), 1 << 16).is_err());
        std::fs::write(&path, b"\xff").unwrap();
        assert!(read_text(&path, 5).unwrap_err().to_string().contains("p.toml"));
    }
}
