//! Reading documents and JSON lines. Errors name the file, the line and the column; a row of a newer
//! schema is refused with that reason rather than with whatever field came first.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use specimen_foundation::{bounded_read, digest::Digest, plain_words::plain_words};

use crate::files::regular::open_to_read;
use crate::{Document, RecordError};

/// Bytes of a document, at most: a plan of a million images has a third of that.
const MAX_DOCUMENT_BYTES: u64 = 1 << 30;
/// Bytes of a file that is digested, at most: the rows of 16 million images have a fourth of that.
const MAX_FILE_BYTES: u64 = 1 << 38;
/// Bytes of a row, at most: an image of a million tokens has a fifth of that.
const MAX_ROW_BYTES: u64 = 64 << 20;

/// The content of the file at `path`, read whole.
pub fn read_bounded(path: &Path, most: u64) -> Result<Vec<u8>, RecordError> {
    bounded(path, most, open_to_read(path))
}

/// The same of a file that a user names, which may be a pipe and is waited for.
pub fn read_given(path: &Path, most: u64) -> Result<Vec<u8>, RecordError> {
    bounded(path, most, File::open(path))
}

fn bounded(path: &Path, most: u64, file: io::Result<File>) -> Result<Vec<u8>, RecordError> {
    file.and_then(|file| bounded_read::read_open(file, most)).map_err(|error| {
        match bounded_read::too_large(&error) {
            Some(_) => crate::error::too_large(path, "file", most),
            None => RecordError::io(path, "read")(error),
        }
    })
}

/// blake3 of the file at `path`, read as a stream.
pub fn file_digest(path: &Path) -> Result<Digest, RecordError> {
    let file = open_to_read(path).map_err(RecordError::io(path, "open"))?;
    let n_bytes = file.metadata().map_err(RecordError::io(path, "look at"))?.len();
    if n_bytes > MAX_FILE_BYTES {
        return Err(crate::error::too_large(path, "file", MAX_FILE_BYTES));
    }
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(file).map_err(RecordError::io(path, "read"))?;
    Ok(Digest::from(hasher.finalize()))
}

/// The rows of a JSON-lines file.
#[derive(Clone, Debug, PartialEq)]
pub struct Rows<T> {
    /// Whole rows in file order.
    pub rows: Vec<T>,
    /// The end of the file, when it was torn.
    pub torn: Option<TornTail>,
}

/// A last line without its newline: the writer died while it wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TornTail {
    /// Path of the file.
    pub path: PathBuf,
    /// The line's number, from 1.
    pub line: usize,
    /// Bytes of it that were there.
    pub n_bytes: usize,
}

impl std::fmt::Display for TornTail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (path, line, n) = (self.path.display(), self.line, self.n_bytes);
        write!(f, "{path}:{line}: dropped {n} bytes of a row that was never finished")
    }
}

/// Reads a document from its own file.
pub fn read_document<T: Document>(path: &Path) -> Result<T, RecordError> {
    parse(&read_bounded(path, MAX_DOCUMENT_BYTES)?, path, 1)
}

/// Reads all rows of a JSON-lines file into memory.
pub fn read_rows<T: Document>(path: &Path) -> Result<Rows<T>, RecordError> {
    let mut rows = Vec::new();
    let torn = visit_rows(path, |row| rows.push(row))?;
    Ok(Rows { rows, torn })
}

/// Hands over the rows of a JSON-lines file one by one, for files too large to hold; returns the torn
/// end, if there is one.
pub fn visit_rows<T: Document>(
    path: &Path,
    mut take: impl FnMut(T),
) -> Result<Option<TornTail>, RecordError> {
    for_each_row(path, |row, _| {
        take(row);
        Ok(())
    })
}

/// Where a row is in its file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// From 1.
    pub(crate) line: usize,
    /// Byte offset of the line.
    pub(crate) offset: u64,
    /// Bytes of the line without its newline.
    pub(crate) len: usize,
}

/// Hands over row after row; returns the torn end, if there is one.
pub(crate) fn for_each_row<T: Document>(
    path: &Path,
    mut take: impl FnMut(T, Place) -> Result<(), RecordError>,
) -> Result<Option<TornTail>, RecordError> {
    for_each_line(path, |bytes, place| take(parse(bytes, path, place.line)?, place))
}

/// Hands over the bytes of line after line, without their newlines; returns the torn end, if there is
/// one.
pub(crate) fn for_each_line(
    path: &Path,
    mut take: impl FnMut(&[u8], Place) -> Result<(), RecordError>,
) -> Result<Option<TornTail>, RecordError> {
    let file = open_to_read(path).map_err(RecordError::io(path, "open"))?;
    let mut reader = BufReader::with_capacity(1 << 16, file);
    let mut bytes = Vec::new();
    let (mut line, mut offset) = (0, 0);
    loop {
        bytes.clear();
        let mut bounded = reader.by_ref().take(MAX_ROW_BYTES + 1);
        let n = bounded.read_until(b'\n', &mut bytes).map_err(RecordError::io(path, "read"))?;
        line += 1;
        if n as u64 > MAX_ROW_BYTES {
            return Err(crate::error::too_large(path, "row", MAX_ROW_BYTES));
        }
        match bytes.pop() {
            None => return Ok(None),
            Some(b'\n') => {}
            Some(_) => return Ok(Some(TornTail { path: path.to_owned(), line, n_bytes: n })),
        }
        take(&bytes, Place { line, offset, len: n - 1 })?;
        offset += n as u64;
    }
}

/// Parses and checks one document whose text starts at `first_line` of `path`.
pub(crate) fn parse<T: Document>(bytes: &[u8], path: &Path, first_line: usize) -> Result<T, RecordError> {
    let parsed: T = match serde_json::from_slice(bytes) {
        Ok(parsed) => parsed,
        Err(error) => {
            refuse_other_schema::<T>(bytes, path, first_line)?;
            return Err(RecordError::Syntax {
                path: path.to_owned(),
                line: first_line + error.line().saturating_sub(1),
                column: error.column(),
                kind: T::KIND,
                reason: reason_without_place(&error),
            });
        }
    };
    refuse_other_number::<T>(u64::from(parsed.schema()), path, first_line)?;
    let inconsistent =
        |reason| RecordError::Inconsistent { path: path.to_owned(), line: first_line, kind: T::KIND, reason };
    if parsed.schema() == 0 {
        return Err(inconsistent("schema 0 was never written".to_owned()));
    }
    parsed.check().map_err(inconsistent)?;
    Ok(parsed)
}

/// Another schema explains every other complaint about a row.
fn refuse_other_schema<T: Document>(bytes: &[u8], path: &Path, line: usize) -> Result<(), RecordError> {
    #[derive(Deserialize)]
    struct Peek {
        schema: u64,
    }
    match serde_json::from_slice::<Peek>(bytes) {
        Ok(peek) => refuse_other_number::<T>(peek.schema, path, line),
        Err(_) => Ok(()),
    }
}

fn refuse_other_number<T: Document>(found: u64, path: &Path, line: usize) -> Result<(), RecordError> {
    let [oldest, newest] = T::SCHEMAS;
    match found {
        found if found > u64::from(newest) => Err(RecordError::NewerSchema {
            path: path.to_owned(),
            line,
            kind: T::KIND,
            found,
            supported: newest,
        }),
        1.. if found < u64::from(oldest) => Err(RecordError::OlderSchema {
            path: path.to_owned(),
            line,
            kind: T::KIND,
            found,
            renewed_by: T::RENEWED_BY,
        }),
        _ => Ok(()),
    }
}

/// serde_json appends " at line 1 column 2", which is wrong for a line inside a file.
fn reason_without_place(error: &serde_json::Error) -> String {
    let text = plain_words(&error.to_string());
    match text.rfind(" at line ") {
        Some(at) => text[..at].to_owned(),
        None => text,
    }
}
