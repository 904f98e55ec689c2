//! NumPy's `.npz`: a zip archive of `.npy` files, stored (`numpy.savez`) or deflated (`numpy.savez_compressed`).
//!
//! Only the array that is asked for is unpacked, and no further than the size its entry declares, so an archive with
//! pickled objects beside its arrays is safe to open. The CRC of each entry is checked.

use std::io::{Cursor, Read, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use crate::error::StatsError;
use crate::npy::{Matrix, read_npy, read_npy_text};

/// The largest array that is unpacked, in bytes: a set of 260,000 rows of 2048 features.
const MAX_ARRAY_BYTES: u64 = 2 << 30;

/// How arrays are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// As they are, like `numpy.savez`.
    Stored,
    /// Deflated, like `numpy.savez_compressed`.
    Deflated,
}

/// An opened archive.
#[derive(Debug)]
pub struct Npz<'a> {
    archive: ZipArchive<Cursor<&'a [u8]>>,
}

impl<'a> Npz<'a> {
    /// Opens the archive held in `bytes`; fails on anything that is not a zip archive.
    pub fn open(bytes: &'a [u8]) -> Result<Self, StatsError> {
        let archive = ZipArchive::new(Cursor::new(bytes))
            .map_err(|error| fault("archive", "a zip archive such as numpy.savez writes", error))?;
        Ok(Self { archive })
    }

    /// Returns the names of the arrays, ascending.
    pub fn names(&self) -> Vec<String> {
        // An entry whose name is no text is none that is asked for.
        let names =
            self.archive.file_names().filter_map(|name| Some(name.ok()?.strip_suffix(".npy")?.to_owned()));
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        names
    }

    /// Returns the array `name`; fails when it is absent, damaged, above 2 GiB, or of a kind that
    /// [`read_npy`] does not read.
    pub fn array(&mut self, name: &str) -> Result<Matrix, StatsError> {
        read_npy(&self.bytes(name)?)
    }

    /// Returns the text `name`; fails when it is absent, damaged, or no single text.
    pub fn text(&mut self, name: &str) -> Result<String, StatsError> {
        read_npy_text(&self.bytes(name)?)
    }

    fn bytes(&mut self, name: &str) -> Result<Vec<u8>, StatsError> {
        let names = self.names();
        if !names.iter().any(|found| found == name) {
            let found =
                if names.is_empty() { "none".to_owned() } else { format!("`{}`", names.join("`, `")) };
            return Err(fault("arrays", &format!("an array `{name}`"), found));
        }
        let entry = self
            .archive
            .by_name(&format!("{name}.npy"))
            .map_err(|error| fault("entry", &format!("a readable `{name}`"), error))?;
        let n_declared = entry.size();
        if n_declared > MAX_ARRAY_BYTES {
            let found = format!("{n_declared} bytes in `{name}`");
            return Err(fault("array size", &format!("at most {MAX_ARRAY_BYTES} bytes"), found));
        }
        let mut bytes = Vec::new();
        entry
            .take(n_declared + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| fault("entry", &format!("a whole `{name}`"), error))?;
        if bytes.len() as u64 != n_declared {
            let found = format!("another size in `{name}`");
            return Err(fault("entry", &format!("{n_declared} bytes"), found));
        }
        Ok(bytes)
    }
}

/// Returns an archive of `arrays`, each a name and the bytes of its `.npy` file, in this order and without the time of
/// day, so that equal arrays give equal bytes.
pub fn write_npz(arrays: &[(&str, Vec<u8>)], packing: Packing) -> Result<Vec<u8>, StatsError> {
    let method = match packing {
        Packing::Stored => CompressionMethod::Stored,
        Packing::Deflated => CompressionMethod::Deflated,
    };
    let options =
        SimpleFileOptions::default().compression_method(method).last_modified_time(DateTime::default());
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, npy) in arrays {
        let refused = |error: String| fault("writing", &format!("`{name}` to fit a zip archive"), error);
        writer.start_file(format!("{name}.npy"), options).map_err(|error| refused(error.to_string()))?;
        writer.write_all(npy).map_err(|error| refused(error.to_string()))?;
    }
    let cursor = writer.finish().map_err(|error| fault("writing", "a whole zip archive", error))?;
    Ok(cursor.into_inner())
}

fn fault(what: &'static str, expected: &str, found: impl ToString) -> StatsError {
    StatsError::Npz { what, expected: expected.to_owned(), found: found.to_string() }
}
