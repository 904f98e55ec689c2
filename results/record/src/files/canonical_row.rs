//! Rows that are read twice: once to learn where they are and what they hold, later to copy them. Most
//! lines on disk are canonical already, to the byte; those are copied without being parsed again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use crate::files::append::{row_bytes, write_row};
use crate::files::read::{Place, for_each_line, parse};
use crate::files::regular::open_to_read;
use crate::{Digest, Document, RecordError, TornTail};

/// Files that are held open at once.
const MOST_OPEN: usize = 64;

/// Where a row is, and its digest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowPlace {
    place: Place,
    /// Of the canonical row, with its newline.
    pub(crate) digest: blake3::Hash,
    /// Whether the line on disk is the canonical row.
    is_canonical: bool,
}

impl RowPlace {
    /// The row of a line at a place of a file.
    pub(crate) fn of<T: Document>(
        line: &[u8],
        path: &Path,
        place: Place,
    ) -> Result<(T, RowPlace), RecordError> {
        let row: T = parse(line, path, place.line)?;
        let canonical = row_bytes(path, &row)?;
        let is_canonical = canonical.strip_suffix(b"\n") == Some(line);
        Ok((row, RowPlace { place, digest: blake3::hash(&canonical), is_canonical }))
    }

    /// From 1.
    pub(crate) fn line(&self) -> usize {
        self.place.line
    }
}

/// Hands over row after row with its place; returns the torn end, if there is one.
pub(crate) fn for_each_placed<T: Document>(
    path: &Path,
    mut take: impl FnMut(T, RowPlace) -> Result<(), RecordError>,
) -> Result<Option<TornTail>, RecordError> {
    for_each_line(path, |line, place| {
        let (row, place) = RowPlace::of(line, path, place)?;
        take(row, place)
    })
}

/// Files that rows are read from, opened once.
#[derive(Debug, Default)]
pub(crate) struct OpenFiles {
    files: BTreeMap<PathBuf, File>,
    line: Vec<u8>,
    canonical: Vec<u8>,
}

impl OpenFiles {
    /// The row at a place.
    pub(crate) fn row<T: Document>(&mut self, path: &Path, at: RowPlace) -> Result<T, RecordError> {
        self.read(path, at.place)?;
        parse(&self.line, path, at.place.line)
    }

    /// The canonical bytes of the row at a place, with its newline.
    ///
    /// Fails when they are no longer those that were read before.
    pub(crate) fn canonical<T: Document>(&mut self, path: &Path, at: RowPlace) -> Result<&[u8], RecordError> {
        self.read(path, at.place)?;
        if at.is_canonical {
            self.line.push(b'\n');
            std::mem::swap(&mut self.line, &mut self.canonical);
        } else {
            let row: T = parse(&self.line, path, at.place.line)?;
            write_row(path, &row, &mut self.canonical)?;
        }
        let found = blake3::hash(&self.canonical);
        if found != at.digest {
            return Err(RecordError::DigestMismatch {
                path: path.to_owned(),
                what: "a row that was read a moment ago",
                expected: Digest::from(at.digest),
                found: Digest::from(found),
            });
        }
        Ok(&self.canonical)
    }

    /// Fills `line` with the bytes at a place.
    fn read(&mut self, path: &Path, place: Place) -> Result<(), RecordError> {
        if !self.files.contains_key(path) {
            if self.files.len() == MOST_OPEN {
                self.files.clear();
            }
            let file = open_to_read(path).map_err(RecordError::io(path, "open"))?;
            self.files.insert(path.to_owned(), file);
        }
        let file = self.files.get_mut(path).expect("it was opened above");
        self.line.resize(place.len, 0);
        file.seek(SeekFrom::Start(place.offset))
            .and_then(|_| file.read_exact(&mut self.line))
            .map_err(RecordError::io(path, "read"))
    }
}
