//! The log of a worker, which other processes may have written to as well.

use std::{
    io::{Read, Seek, SeekFrom},
    path::Path,
};

use specimen_record::open_to_read;

/// Bytes of a log in which its last line is looked for.
const LAST_BYTES: u64 = 1 << 16;

/// The last line of a worker's log; only the end of the file is read.
pub(super) fn last_line(log: &Path) -> String {
    let end = || -> std::io::Result<Vec<u8>> {
        let mut file = open_to_read(log)?;
        file.seek(SeekFrom::Start(file.metadata()?.len().saturating_sub(LAST_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(LAST_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = end().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("it wrote nothing").to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn the_last_line_of_a_log_is_found_behind_much_of_it_and_in_any_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("worker.log");
        assert_eq!(last_line(&log), "it wrote nothing");
        let mut bytes = b"word \xff\n".repeat(50_000);
        bytes.extend(b"the end \xfe of it\n \n");
        std::fs::write(&log, bytes).unwrap();
        assert_eq!(last_line(&log), "the end \u{fffd} of it");
    }
}
