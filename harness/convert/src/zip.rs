//! The directory of a zip archive whose entries are stored, not compressed: PyTorch writes tensors so, which is why they
//! can be mapped. Names are never used as paths; nothing is extracted.

use std::{collections::BTreeMap, ops::Range};

use crate::{
    Limits,
    error::{ConvertError, FETCH_AGAIN},
    mapping::Mapping,
};

/// An archive's entries by name.
pub(crate) struct Archive {
    entries: BTreeMap<String, Entry>,
}

/// One entry.
struct Entry {
    /// Where its local header stands.
    header: u64,
    method: u16,
    packed: u64,
    size: u64,
}

const END: &[u8] = b"PK\x05\x06";
const END64: &[u8] = b"PK\x06\x06";
const LOCATOR64: &[u8] = b"PK\x06\x07";
const CENTRAL: &[u8] = b"PK\x01\x02";
const LOCAL: &[u8] = b"PK\x03\x04";
/// The longest comment an archive can have, and the record it stands behind.
const END_BYTES: usize = 22;

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

/// `n` bytes at `at`, or a complaint that the file ends there.
fn slice<'a>(file: &'a Mapping, at: u64, n: u64, what: &str) -> Result<&'a [u8], ConvertError> {
    let range = usize::try_from(at).ok().zip(at.checked_add(n).and_then(|end| usize::try_from(end).ok()));
    range.and_then(|(from, to)| file.bytes().get(from..to)).ok_or_else(|| {
        complaint(
            file,
            at,
            format!("{n} bytes of {what}"),
            format!("the end at byte {}", file.bytes().len()),
            FETCH_AGAIN,
        )
    })
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([bytes[at], bytes[at + 1]])
}

fn u32_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

impl Archive {
    /// Reads the directory at the end of `file`.
    pub(crate) fn open(file: &Mapping, limits: &Limits) -> Result<Self, ConvertError> {
        let bytes = file.bytes();
        let tail = bytes.len().saturating_sub(END_BYTES + usize::from(u16::MAX));
        let end = bytes[tail..]
            .windows(END_BYTES)
            .rposition(|window| {
                window.starts_with(END) && tail + END_BYTES + usize::from(u16_at(window, 20)) <= bytes.len()
            })
            .map(|at| tail + at);
        let Some(end) = end else {
            let n = bytes.len() as u64;
            return Err(complaint(file, n, "the directory of the archive at its end", "none", FETCH_AGAIN));
        };
        let record = &bytes[end..];
        let (mut n, mut size, mut at) =
            (u64::from(u16_at(record, 10)), u32_at(record, 12), u32_at(record, 16));
        let locator = end.checked_sub(20).map(|from| &bytes[from..end]).filter(|b| b.starts_with(LOCATOR64));
        if let Some(locator) = locator {
            let place = u64_at(locator, 8);
            let record = slice(file, place, 56, "the directory's 64-bit record")?;
            if !record.starts_with(END64) {
                return Err(complaint(
                    file,
                    place,
                    "the directory's 64-bit record",
                    "something else",
                    FETCH_AGAIN,
                ));
            }
            (n, size, at) = (u64_at(record, 32), u64_at(record, 40), u64_at(record, 48));
        }
        if n > limits.entries as u64 {
            let expected = format!("at most {} entries", limits.entries);
            return Err(complaint(
                file,
                end as u64,
                expected,
                n.to_string(),
                "no published file has so many",
            ));
        }
        Self::directory(file, n, at, slice(file, at, size, "the directory")?)
    }

    fn directory(file: &Mapping, n: u64, start: u64, directory: &[u8]) -> Result<Self, ConvertError> {
        let mut entries = BTreeMap::new();
        let mut at = 0;
        for _ in 0..n {
            let place = start + at as u64;
            let cut = || complaint(file, place, "an entry of the directory", "something else", FETCH_AGAIN);
            let fixed = directory.get(at..at + 46).filter(|b| b.starts_with(CENTRAL)).ok_or_else(cut)?;
            let [name, extra, comment] = [28, 30, 32].map(|field| usize::from(u16_at(fixed, field)));
            let behind = directory.get(at + 46..at + 46 + name + extra + comment).ok_or_else(cut)?;
            at += 46 + name + extra + comment;
            let named = String::from_utf8_lossy(&behind[..name]).into_owned();
            let mut entry = Entry {
                header: u32_at(fixed, 42),
                method: u16_at(fixed, 10),
                packed: u32_at(fixed, 20),
                size: u32_at(fixed, 24),
            };
            entry.widen(&behind[name..name + extra]).ok_or_else(cut)?;
            if u16_at(fixed, 8) & 1 != 0 {
                return Err(complaint(
                    file,
                    place,
                    "entries that are not encrypted",
                    format!("`{named}`"),
                    "save it again without",
                ));
            }
            let is_path = |part: &str| part == ".." || part.contains(['\\', ':', '\0']);
            if named.starts_with('/') || named.split('/').any(is_path) {
                let found = format!("`{}`", named.escape_debug());
                return Err(complaint(
                    file,
                    place,
                    "names of entries below one folder",
                    found,
                    "the file is not what PyTorch writes: do not trust it",
                ));
            }
            if entries.insert(named.clone(), entry).is_some() {
                return Err(complaint(
                    file,
                    place,
                    "every name once",
                    format!("`{named}` twice"),
                    "the file is not what PyTorch writes: do not trust it",
                ));
            }
        }
        Ok(Self { entries })
    }

    /// Names of all entries, sorted.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// Where the bytes of the entry `name` lie in the file; `None` where there is no such entry.
    pub(crate) fn range(&self, file: &Mapping, name: &str) -> Result<Option<Range<u64>>, ConvertError> {
        let Some(entry) = self.entries.get(name) else { return Ok(None) };
        let Entry { header, method, packed, size } = *entry;
        if method != 0 || packed != size {
            let found = format!("`{name}` compressed from {size} to {packed} bytes");
            let remedy = "save it again with torch.save, which stores them as they are";
            return Err(complaint(file, header, "entries that are stored as they are", found, remedy));
        }
        let local = slice(file, header, 30, "an entry's header")?;
        if !local.starts_with(LOCAL) {
            return Err(complaint(
                file,
                header,
                format!("the header of `{name}`"),
                "something else",
                FETCH_AGAIN,
            ));
        }
        let start = header + 30 + u64::from(u16_at(local, 26)) + u64::from(u16_at(local, 28));
        slice(file, start, size, &format!("`{name}`"))?;
        Ok(Some(start..start + size))
    }
}

impl Entry {
    /// Takes the 64-bit sizes of the extra fields where the 32-bit ones are full. `None` if they are cut off.
    fn widen(&mut self, mut extra: &[u8]) -> Option<()> {
        const FULL: u64 = u32::MAX as u64;
        let needed = [&mut self.size, &mut self.packed, &mut self.header];
        if needed.iter().all(|field| **field != FULL) {
            return Some(());
        }
        while extra.len() >= 4 {
            let n = usize::from(u16_at(extra, 2));
            let mut field = extra.get(4..4 + n)?;
            if u16_at(extra, 0) == 1 {
                for narrow in needed {
                    if *narrow == FULL {
                        *narrow = u64_at(field.get(..8)?, 0);
                        field = &field[8..];
                    }
                }
                return Some(());
            }
            extra = &extra[4 + n..];
        }
        None
    }
}
