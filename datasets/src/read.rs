//! Reading untrusted files whole: bounded in size, gzip recognised by its magic bytes or by `.gz`, text
//! checked for UTF-8. Every reader of this crate goes through here.
//!
//! Text: a UTF-8 byte-order mark is dropped, a zero byte means a binary file, lines end with LF or CRLF.

use crate::error::{DatasetError, Place, Result};
use flate2::read::MultiGzDecoder;
use serde::{Deserialize, Serialize};
use specimen_foundation::bounded_read;
use specimen_foundation::digest::Digest;
use std::io::Read;
use std::path::Path;

/// The largest file, and the largest uncompressed content, that a reader accepts: 1 GiB.
pub const MAX_CONTENT_BYTES: u64 = 1 << 30;

/// The most lines, records and fields of a file that a reader accepts, each.
pub(crate) const MAX_LINES: usize = 10_000_000;

/// A file that a dataset was read from, as results record it: without its folder, which differs by machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// File name without folders.
    pub name: String,
    /// Size on disk in bytes.
    pub n_bytes: u64,
    /// blake3 of the bytes on disk.
    pub blake3: Digest,
}

/// The uncompressed bytes of a file and what they came from.
pub(crate) struct Content {
    pub(crate) bytes: Vec<u8>,
    pub(crate) source: SourceFile,
}

/// Fails unless `path` is a regular file (through links).
pub(crate) fn expect_file(path: &Path) -> Result<()> {
    let metadata = std::fs::metadata(path).map_err(|e| DatasetError::io(path, e))?;
    if metadata.is_file() {
        return Ok(());
    }
    let found = if metadata.is_dir() { "a folder" } else { "a device, pipe or socket" };
    Err(crate::error::wrong_kind(path, "a regular file", found))
}

/// The whole content of a file, uncompressed when it is gzipped, at most [`MAX_CONTENT_BYTES`].
pub(crate) fn content(path: &Path) -> Result<Content> {
    content_within(path, MAX_CONTENT_BYTES)
}

/// The whole content of a file as text, without a byte-order mark.
pub(crate) fn text(path: &Path) -> Result<(String, SourceFile)> {
    let Content { bytes, source } = content(path)?;
    Ok((decode(path, bytes)?, source))
}

/// The lines of a text with their numbers from 1, without LF or CRLF; a final line end adds no empty line.
/// Fails on a carriage return that ends no line.
pub(crate) fn lines<'t>(path: &Path, text: &'t str) -> Result<Vec<(usize, &'t str)>> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    if text.is_empty() {
        return Ok(Vec::new());
    }
    if body.as_bytes().iter().filter(|&&byte| byte == b'\n').count() >= MAX_LINES {
        return Err(too_many(path, "lines"));
    }
    let strip = |(line_idx, line): (usize, &'t str)| {
        let line = line.strip_suffix('\r').unwrap_or(line);
        match line.find('\r') {
            None => Ok((line_idx + 1, line)),
            Some(at) => {
                let place = Place::At { line: line_idx + 1, column: line[..at].chars().count() + 1 };
                Err(DatasetError::malformed(path, place, "lines that end with LF or CRLF", "a lone CR"))
            }
        }
    };
    body.split('\n').enumerate().map(strip).collect()
}

/// The error for a file with more than [`MAX_LINES`] of something.
pub(crate) fn too_many(path: &Path, what: &str) -> DatasetError {
    let place = Place::Line(MAX_LINES);
    DatasetError::malformed(path, place, format!("at most {MAX_LINES} {what}"), format!("more {what}"))
}

/// A readable quotation of what is in a file: at most 40 characters, control characters escaped.
pub(crate) fn quote(found: &str) -> String {
    let mut shown = String::new();
    for c in found.chars().take(40) {
        if c.is_control() {
            shown.extend(c.escape_debug());
        } else {
            shown.push(c);
        }
    }
    if found.chars().nth(40).is_some() {
        shown.push('…');
    }
    format!("`{shown}`")
}

fn content_within(path: &Path, limit_bytes: u64) -> Result<Content> {
    expect_file(path)?;
    let too_large = |what| crate::error::too_large(path, what, limit_bytes);
    let raw = bounded_read::read(path, limit_bytes).map_err(|e| match bounded_read::too_large(&e) {
        Some(_) => too_large("the file"),
        None => DatasetError::io(path, e),
    })?;
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    let source = SourceFile { name, n_bytes: raw.len() as u64, blake3: Digest::of(&raw) };
    let named_gz = path.extension().is_some_and(|e| e.eq_ignore_ascii_case("gz"));
    if !named_gz && !raw.starts_with(&[0x1f, 0x8b]) {
        return Ok(Content { bytes: raw, source });
    }
    let mut bytes = Vec::new();
    let unpacked = MultiGzDecoder::new(raw.as_slice()).take(limit_bytes + 1).read_to_end(&mut bytes);
    if bytes.len() as u64 > limit_bytes {
        return Err(too_large("the uncompressed content"));
    }
    match unpacked {
        Ok(_) => Ok(Content { bytes, source }),
        Err(e) => {
            let place = Place::Item("gzip stream".into());
            let found = format!("{e} after {} uncompressed bytes", bytes.len());
            Err(DatasetError::malformed(path, place, "a whole gzip file", found))
        }
    }
}

fn decode(path: &Path, bytes: Vec<u8>) -> Result<String> {
    let expected = "UTF-8 text";
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        let found = "a UTF-16 byte-order mark; save the file as UTF-8";
        return Err(DatasetError::malformed(path, Place::Byte(0), expected, found));
    }
    if let Some(at) = bytes.iter().position(|b| *b == 0) {
        let found = "a zero byte; is this a binary file?";
        return Err(DatasetError::malformed(path, Place::Byte(at as u64), expected, found));
    }
    let text = String::from_utf8(bytes).map_err(|e| {
        let valid_up_to = e.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&e.as_bytes()[..valid_up_to]);
        let place = Place::At {
            line: before.matches('\n').count() + 1,
            column: before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1,
        };
        DatasetError::malformed(
            path,
            place,
            expected,
            format!("the byte 0x{:02x}", e.as_bytes()[valid_up_to]),
        )
    })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use std::io::Write;

    fn written(name: &str, bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        (folder, path)
    }

    fn gzipped(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn check_refused(name: &str, bytes: &[u8], expected_in_message: &[&str]) {
        let (_folder, path) = written(name, bytes);
        let message = text(&path).unwrap_err().to_string();
        for part in expected_in_message {
            assert!(message.contains(part), "`{part}` is not in `{message}`");
        }
    }

    #[test]
    fn files_that_are_not_utf8_text_are_refused_with_their_place() {
        check_refused("a.txt", b"ok\nab\xffc\n", &["a.txt", "line 2, column 3", "UTF-8 text", "0xff"]);
        check_refused("a.txt", b"\xff\xfea\0", &["UTF-16", "save the file as UTF-8"]);
        check_refused("a.txt", b"abc\0def", &["byte 3", "binary"]);
        check_refused("a.txt.gz", b"plain text", &["a whole gzip file"]);
        let whole = gzipped(b"some text that was cut off");
        check_refused("a.txt", &whole[..whole.len() - 6], &["a whole gzip file"]);
        let trailing = [whole.as_slice(), b"trailing"].concat();
        check_refused("a.txt", &trailing, &["a whole gzip file"]);
    }

    #[test]
    fn a_byte_order_mark_is_dropped_and_gzip_needs_no_extension() {
        let (_folder, path) = written("a.txt", "\u{feff}ä".as_bytes());
        assert_eq!(text(&path).unwrap().0, "ä");
        let (_folder, path) = written("packed", &gzipped(b"inside"));
        assert_eq!(text(&path).unwrap().0, "inside");
    }

    #[test]
    fn a_gzip_bomb_stops_at_the_limit() {
        let bomb = gzipped(&vec![b'a'; 3_000_000]);
        assert!(bomb.len() < 10_000);
        let (_folder, path) = written("bomb.gz", &bomb);
        let error = content_within(&path, 1_000_000).map(|c| c.bytes.len()).unwrap_err();
        assert!(error.to_string().contains(": the uncompressed content exceeds the limit"), "{error}");
        assert_eq!(content_within(&path, 3_000_000).unwrap().bytes.len(), 3_000_000);
    }

    #[test]
    fn a_file_above_the_limit_and_a_folder_are_refused() {
        let (folder, path) = written("a.txt", &[b'a'; 11]);
        let message = content_within(&path, 10).map(|_| ()).unwrap_err().to_string();
        assert!(message.contains(": the file exceeds the limit of 10 bytes"), "{message}");
        let message = text(folder.path()).unwrap_err().to_string();
        assert!(message.contains("expected a regular file, found a folder"), "{message}");
    }

    #[test]
    fn lines_end_with_lf_or_crlf_and_blank_ones_are_kept() {
        let path = Path::new("a.txt");
        assert_eq!(lines(path, "a\r\nb\n\nc").unwrap(), [(1, "a"), (2, "b"), (3, ""), (4, "c")]);
        assert_eq!(lines(path, "a\n").unwrap(), [(1, "a")]);
        assert_eq!(lines(path, "").unwrap(), []);
        assert_eq!(lines(path, "\n").unwrap(), [(1, "")]);
        let message = lines(path, "ok\nold\rmac\n").unwrap_err().to_string();
        assert!(message.contains("line 2, column 4") && message.contains("lone CR"), "{message}");
    }
}
