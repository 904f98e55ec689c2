//! The entries of a zip archive that are stored, not compressed: PyTorch writes tensors so, which is why they can be
//! mapped. The directory and the entries' headers are read by the `zip` crate; here is what it leaves to its users: that
//! entries share no bytes, that names are unique, and that contents have the checksums that the directory says. Names are
//! never used as paths; nothing is extracted.

use std::{
    collections::BTreeMap,
    io::{self, Cursor, Read, Seek, SeekFrom},
    ops::Range,
};

use zip::{
    CompressionMethod, ZipArchive, ZipReadOptions,
    read::{ArchiveOffset, Config, ZipFileEntry},
    result::ZipError,
};

use crate::convert::{
    Limits,
    error::{ConvertError, FETCH_AGAIN},
    mapping::Mapping,
};

const END: &[u8] = b"PK\x05\x06";
/// Bytes of the record at an archive's end without its comment.
const END_BYTES: usize = 22;
/// Bytes of the directory for each entry that an archive may have: 46, its name, and sizes of 64 bits.
const ENTRY_BYTES: u64 = 200;
const DISTRUST: &str = "the file is not what PyTorch writes: do not trust it";

/// An archive's entries by name.
pub(crate) struct Archive {
    entries: BTreeMap<String, Entry>,
    has_checksums: bool,
}

/// Where a file of the archive is, and its checksum.
struct Entry {
    /// From its local header to its last byte.
    whole: Range<u64>,
    /// Its contents as they are in the file.
    data: Range<u64>,
    /// How many bytes it has once it is unpacked.
    size: u64,
    is_stored: bool,
}

/// A complaint about the place `offset`.
fn complaint(
    file: &Mapping,
    offset: u64,
    expected: impl Into<String>,
    found: impl Into<String>,
    remedy: impl Into<String>,
) -> ConvertError {
    let (expected, found, remedy) = (expected.into(), found.into(), remedy.into());
    ConvertError::Format { path: file.path().to_owned(), offset, expected, found, remedy }
}

/// What the `zip` crate says of `what` at the place `offset`.
fn unread(file: &Mapping, offset: u64, what: &str, error: &ZipError) -> ConvertError {
    complaint(file, offset, what, error.to_string(), FETCH_AGAIN)
}

impl Archive {
    /// Reads the directory at the end of `file`, the headers of its entries, and the contents of those that are stored to
    /// check them.
    ///
    /// An archive in which every checksum is 0 has none: `torch.serialization.set_crc32_options(False)` writes such.
    pub(crate) fn open(file: &Mapping, limits: &Limits) -> Result<Self, ConvertError> {
        let n_file = file.bytes().len() as u64;
        if !ends_with_directory(file.bytes()) {
            let found = "none, or more bytes behind it";
            return Err(complaint(
                file,
                n_file,
                "the directory of the archive at its end",
                found,
                FETCH_AGAIN,
            ));
        }
        let directory = |error: ZipError| unread(file, n_file, "the directory of the archive", &error);
        let config = Config { archive_offset: ArchiveOffset::Known(0) };
        let bounded = Bounded {
            bytes: Cursor::new(file.bytes()),
            n_left: (limits.entries as u64).saturating_mul(ENTRY_BYTES),
        };
        let listed = ZipArchive::with_config(config, bounded).map_err(directory)?;
        if listed.len() > limits.entries {
            let expected = format!("at most {} entries", limits.entries);
            let remedy = "no published file has so many";
            return Err(complaint(file, n_file, expected, listed.len().to_string(), remedy));
        }
        if listed.has_duplicate_names() {
            return Err(complaint(file, n_file, "every name once", "one that is there twice", DISTRUST));
        }
        let start = listed.central_directory_start();
        let listed = listed.metadata();
        let entry = |at: usize| listed.entry(at).map_err(directory);
        let mut reader = Cursor::new(file.bytes());
        let (mut entries, mut has_checksums) = (BTreeMap::new(), false);
        for at in 0..listed.len() {
            has_checksums |= entry(at)?.crc32() != 0;
            let (name, made) = Entry::of(file, &mut reader, entry(at)?, start)?;
            if entries.insert(name, made).is_some() {
                let found = "two that are one in UTF-8";
                return Err(complaint(file, n_file, "every name once", found, DISTRUST));
            }
        }
        check_apart(file, &entries)?;
        if has_checksums {
            // Only now, so that no byte is looked at twice.
            for at in 0..listed.len() {
                check_contents(file, &mut reader, entry(at)?)?;
            }
        }
        Ok(Self { entries, has_checksums })
    }

    /// Whether the contents could be checked.
    pub(crate) fn has_checksums(&self) -> bool {
        self.has_checksums
    }

    /// Names of all entries, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Where the bytes of the entry `name` are in the file; `None` where there is no such entry.
    pub(crate) fn range(&self, file: &Mapping, name: &str) -> Result<Option<Range<u64>>, ConvertError> {
        let Some(entry) = self.entries.get(name) else { return Ok(None) };
        let Entry { whole, data, size, is_stored } = entry;
        let packed = data.end - data.start;
        if !is_stored || packed != *size {
            let found = format!("`{}` compressed from {size} to {packed} bytes", name.escape_debug());
            let remedy = "save it again with torch.save, which stores them as they are";
            return Err(complaint(file, whole.start, "entries that are stored as they are", found, remedy));
        }
        Ok(Some(data.clone()))
    }
}

impl Entry {
    /// The name of `listed` and where it is in `file`, whose directory begins at byte `end`.
    fn of(
        file: &Mapping,
        reader: &mut Cursor<&[u8]>,
        listed: ZipFileEntry<'_>,
        end: u64,
    ) -> Result<(String, Self), ConvertError> {
        let name = String::from_utf8_lossy(listed.name_raw()).into_owned();
        let shown = name.escape_debug();
        let place = listed.central_header_start();
        if listed.encrypted() {
            let found = format!("`{shown}`");
            return Err(complaint(
                file,
                place,
                "entries that are not encrypted",
                found,
                "save it again without",
            ));
        }
        let is_path = |part: &str| part == ".." || part.contains(['\\', ':', '\0']);
        if name.starts_with('/') || name.split('/').any(is_path) {
            let found = format!("`{shown}`");
            return Err(complaint(file, place, "names of entries below one folder", found, DISTRUST));
        }
        let (header, packed, size) = (listed.header_start(), listed.compressed_size(), listed.size());
        let is_stored = listed.compression() == CompressionMethod::Stored;
        let opened = listed.with_reader(reader, ZipReadOptions::new().ignore_crc32(true));
        let data = match opened {
            Ok(opened) => opened.data_start(),
            Err(error) => return Err(unread(file, header, &format!("the header of `{shown}`"), &error)),
        };
        let data = data.expect("the header in front of the contents was read");
        let last = data.checked_add(packed).filter(|&last| last <= end);
        let Some(last) = last else {
            let expected = format!("{packed} bytes of `{shown}`");
            let found = format!("the end at byte {end}, where the directory begins");
            return Err(complaint(file, data, expected, found, FETCH_AGAIN));
        };
        Ok((name, Self { whole: header..last, data: data..last, size, is_stored }))
    }
}

/// A file whose bytes may be read only so often: what a directory takes in memory is in proportion to that.
struct Bounded<'a> {
    bytes: Cursor<&'a [u8]>,
    n_left: u64,
}

impl Read for Bounded<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.bytes.read(into)?;
        let left = self.n_left.checked_sub(n as u64);
        self.n_left = left.ok_or_else(|| io::Error::other("it is longer than that of any published file"))?;
        Ok(n)
    }
}

impl Seek for Bounded<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.bytes.seek(to)
    }
}

/// Whether `bytes` end with the record that closes an archive, or with the comment that the record announces.
fn ends_with_directory(bytes: &[u8]) -> bool {
    let tail = &bytes[bytes.len().saturating_sub(END_BYTES + usize::from(u16::MAX))..];
    let is_last = |(at, window): (usize, &[u8])| {
        let comment = usize::from(u16::from_le_bytes([window[20], window[21]]));
        window.starts_with(END) && at + END_BYTES + comment == tail.len()
    };
    tail.windows(END_BYTES).enumerate().any(is_last)
}

/// That no byte belongs to two entries.
fn check_apart(file: &Mapping, entries: &BTreeMap<String, Entry>) -> Result<(), ConvertError> {
    let mut placed: Vec<(&String, &Entry)> = entries.iter().collect();
    placed.sort_by_key(|(_, entry)| entry.whole.start);
    for pair in placed.windows(2) {
        let [(first, before), (second, after)] = [pair[0], pair[1]];
        if before.whole.end > after.whole.start {
            let expected = format!("`{}` behind byte {}", second.escape_debug(), before.whole.end);
            let found = format!("it inside of `{}`", first.escape_debug());
            return Err(complaint(file, after.whole.start, expected, found, DISTRUST));
        }
    }
    Ok(())
}

/// That the contents of `entry` have the checksum that the directory says. What is compressed is never read.
fn check_contents(
    file: &Mapping,
    reader: &mut Cursor<&[u8]>,
    entry: ZipFileEntry<'_>,
) -> Result<(), ConvertError> {
    if entry.compression() != CompressionMethod::Stored {
        return Ok(());
    }
    let (header, crc32) = (entry.header_start(), entry.crc32());
    let name = String::from_utf8_lossy(entry.name_raw()).escape_debug().to_string();
    let read = entry.with_reader(reader, ZipReadOptions::new()).map_err(io::Error::other);
    let read = read.and_then(|mut contents| io::copy(&mut contents, &mut io::sink()));
    read.map(drop).map_err(|error| {
        let expected = format!("`{name}` with the checksum {crc32:08x}");
        complaint(file, header, expected, format!("another ({error})"), FETCH_AGAIN)
    })
}
