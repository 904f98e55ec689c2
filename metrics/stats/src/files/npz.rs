//! NumPy's `.npz`: a zip archive of `.npy` files, stored (`numpy.savez`) or deflated (`numpy.savez_compressed`).
//!
//! Only the array that is asked for is unpacked. Its header is read first and compared with the size that its entry
//! declares, so that memory is taken for what was asked for and for nothing else, and an archive with pickled objects
//! beside its arrays is safe to open. The CRC of each entry is checked.

use std::io::{Cursor, Read, Seek, Write};

use zip::read::ZipFile;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, DateTime, ZipArchive, ZipWriter};

use crate::error::StatsError;
use crate::npy::{Element, Header, Matrix, in_rows, parse_header, read_npy_text};
use crate::npy_rows::{HeaderText, NpyRows, check_end, each_number, n_bytes_of, read_header};

/// The largest array that is unpacked, in bytes: a set of 260,000 rows of 2048 features.
const MAX_ARRAY_BYTES: u64 = 2 << 30;
/// Bytes of a text, at most: 16,000 characters.
const MAX_TEXT_BYTES: u64 = 1 << 16;

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
pub struct Npz<R> {
    archive: ZipArchive<R>,
}

impl<'a> Npz<Cursor<&'a [u8]>> {
    /// Opens the archive held in `bytes`.
    ///
    /// # Errors
    /// A file that is no zip archive.
    pub fn open(bytes: &'a [u8]) -> Result<Self, StatsError> {
        Self::over(Cursor::new(bytes))
    }
}

impl<R: Read + Seek> Npz<R> {
    /// Opens the archive in a file, of which no more is read than is asked for.
    ///
    /// # Errors
    /// A file that is no zip archive.
    pub fn over(file: R) -> Result<Self, StatsError> {
        let archive = ZipArchive::new(file)
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

    /// Whether there is an array `name`.
    pub fn has(&self, name: &str) -> bool {
        self.names().iter().any(|found| found == name)
    }

    /// Returns rows and columns of the array `name` by its header; a vector has one row. Unpacks nothing else.
    ///
    /// # Errors
    /// An array that is absent, above 2 GiB, of a kind that is not read here, or of another size than its entry.
    pub fn shape(&mut self, name: &str) -> Result<[usize; 2], StatsError> {
        let (header, _) = self.array_entry(name)?;
        Ok([header.n_rows, header.n_columns])
    }

    /// Returns the array `name`.
    ///
    /// # Errors
    /// As [`Npz::shape`], and a damaged array.
    pub fn array(&mut self, name: &str) -> Result<Matrix, StatsError> {
        let (header, mut entry) = self.array_entry(name)?;
        let Header { element, n_rows, n_columns, .. } = header;
        // Memory grows with what is there, not with what an entry declares.
        let mut values = Vec::new();
        let what = format!("{n_rows} x {n_columns} numbers");
        let n = n_rows * n_columns;
        each_number(&mut entry, element, n, &what, &format!("in `{name}`"), |number| {
            values.push(number);
            Ok(())
        })
        .and_then(|()| check_end(&mut entry))
        .map_err(|error| fault("entry", &format!("a whole `{name}`"), error))?;
        Ok(Matrix { n_rows, n_columns, values: in_rows(&header, values), is_f32: element == Element::F32 })
    }

    /// Returns the rows of the array `name`, not unpacked yet.
    ///
    /// # Errors
    /// As [`Npz::shape`], and a vector.
    pub fn rows(&mut self, name: &str) -> Result<NpyRows<impl Read>, StatsError> {
        let (header, entry) = self.array_entry(name)?;
        NpyRows::behind_header(entry, header)
    }

    /// Returns the text `name`.
    ///
    /// # Errors
    /// A text that is absent, damaged, longer than 64 KiB, or no single text.
    pub fn text(&mut self, name: &str) -> Result<String, StatsError> {
        let entry = self.entry(name, MAX_TEXT_BYTES)?;
        let n_declared = entry.size();
        let mut bytes = Vec::new();
        entry
            .take(n_declared + 1)
            .read_to_end(&mut bytes)
            .map_err(|error| fault("entry", &format!("a whole `{name}`"), error))?;
        read_npy_text(&bytes)
    }

    /// The header of an array and its entry behind it, which has as many bytes as the header says.
    fn array_entry(&mut self, name: &str) -> Result<(Header, ZipFile<'_, R>), StatsError> {
        let mut entry = self.entry(name, MAX_ARRAY_BYTES)?;
        let n_declared = entry.size();
        let HeaderText { text, n_bytes } = read_header(&mut entry)?;
        let header = parse_header(&text)?;
        let n_data = n_bytes_of(&header)? as u64;
        if n_data.checked_add(n_bytes) != Some(n_declared) {
            let Header { n_rows, n_columns, element, .. } = header;
            let expected = format!("{n_rows} x {n_columns} numbers of {} bytes in `{name}`", element.width());
            let found = format!("{} bytes", n_declared.saturating_sub(n_bytes));
            return Err(fault("array size", &expected, found));
        }
        Ok((header, entry))
    }

    /// The entry of `name`, which declares at most `most` bytes.
    fn entry(&mut self, name: &str, most: u64) -> Result<ZipFile<'_, R>, StatsError> {
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
        if entry.size() > most {
            let found = format!("{} bytes in `{name}`", entry.size());
            return Err(fault("array size", &format!("at most {most} bytes"), found));
        }
        Ok(entry)
    }
}

/// Returns an archive of `arrays`, each a name and the bytes of its `.npy` file, in this order and without the time
/// of day, so that equal arrays give equal bytes.
///
/// # Errors
/// Arrays that do not fit an archive.
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
