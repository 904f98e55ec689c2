//! Reads a `.npy` matrix of features some rows at a time, so that memory does not grow with the file.
//!
//! The format is that of [`crate::npy`]. Numbers that f32 does not hold exactly (f64, large whole numbers) are rounded to
//! the nearest f32 and counted. A matrix in Fortran order has its rows scattered over the file: it is read whole, as f32,
//! before its first row.

use std::io::{ErrorKind, Read};

use crate::error::StatsError;
use crate::npy::{Element, Header, fault, parse_header};

/// Bytes that a header may have; NumPy's own fit into a few hundred.
const MAX_HEADER_BYTES: usize = 1 << 16;
/// Bytes that are read at a time, a multiple of every element's width.
const PIECE: usize = 1 << 16;

/// An opened matrix, some of its rows read.
#[derive(Debug)]
pub struct NpyRows<R> {
    reader: R,
    header: Header,
    n_left: usize,
    n_rounded: u64,
    /// `[n_columns, n_rows]` by columns: all of a matrix in Fortran order, once its first row was asked for.
    columns: Option<Vec<f32>>,
}

/// Returns the element type that a `.npy` file declares, as NumPy spells it (`|u1`, `<f4`), whether or not it is
/// read here.
///
/// # Errors
/// A file that is no `.npy`.
pub fn element_type(reader: &mut impl Read) -> Result<String, StatsError> {
    let header = read_header(reader)?.text;
    let value = header.split_once("'descr'").map(|(_, rest)| rest.trim_start_matches([' ', ':']));
    let value = value.and_then(|rest| rest.strip_prefix('\'')?.split_once('\''));
    value.map(|(name, _)| name.to_owned()).ok_or_else(|| fault("header", "a key 'descr'", header.trim_end()))
}

impl<R: Read> NpyRows<R> {
    /// Opens the matrix at the beginning of `reader`.
    ///
    /// # Errors
    /// A file that is no `.npy`, another element type, a vector, which may be a row or a column.
    pub fn open(mut reader: R) -> Result<Self, StatsError> {
        let header = parse_header(&read_header(&mut reader)?.text)?;
        Self::behind_header(reader, header)
    }

    /// As [`NpyRows::open`], where `reader` is behind the header, which is known.
    pub(crate) fn behind_header(reader: R, header: Header) -> Result<Self, StatsError> {
        if header.n_axes != 2 {
            let found =
                if header.n_axes == 0 { "one number".to_owned() } else { format!("({},)", header.n_columns) };
            return Err(fault("shape", "two axes, [rows, features] (reshape it)", &found));
        }
        n_bytes_of(&header)?;
        Ok(Self { reader, header, n_left: header.n_rows, n_rounded: 0, columns: None })
    }

    /// Rows of the matrix.
    pub fn n_rows(&self) -> usize {
        self.header.n_rows
    }

    /// Numbers in a row.
    pub fn n_columns(&self) -> usize {
        self.header.n_columns
    }

    /// Numbers read so far that f32 does not hold, and that were rounded.
    pub fn n_rounded(&self) -> u64 {
        self.n_rounded
    }

    /// Returns the next rows, at most `max_rows` of them and none behind the last, `[n, n_columns]` by rows.
    ///
    /// # Errors
    /// A file that ends early or continues behind the last row, numbers beyond the range of f32.
    pub fn next_rows(&mut self, max_rows: usize) -> Result<Vec<f32>, StatsError> {
        let Header { n_rows, n_columns, is_fortran, .. } = self.header;
        let n_taken = self.n_left.min(max_rows);
        let first = n_rows - self.n_left;
        let is_by_columns = is_fortran && n_rows > 1 && n_columns > 1;
        let rows = if !is_by_columns {
            let rows = self.numbers(n_taken * n_columns, &format!("at row {first}"))?;
            if n_taken == self.n_left {
                self.check_end()?;
            }
            rows
        } else {
            if self.columns.is_none() {
                self.columns = Some(self.numbers(n_rows * n_columns, "in Fortran order")?);
                self.check_end()?;
            }
            let columns = self.columns.as_ref().expect("they were read just now");
            let places = (first..first + n_taken).flat_map(|row| (0..n_columns).map(move |at| (at, row)));
            places.map(|(column, row)| columns[column * n_rows + row]).collect()
        };
        self.n_left -= n_taken;
        Ok(rows)
    }

    /// The next `n` numbers of the file as f32; `place` says where they are.
    fn numbers(&mut self, n: usize, place: &str) -> Result<Vec<f32>, StatsError> {
        let element = self.header.element;
        let what = format!("{} x {} numbers", self.header.n_rows, self.header.n_columns);
        let mut numbers = Vec::new();
        let mut n_rounded = 0;
        each_number(&mut self.reader, element, n, &what, place, |number| {
            let narrowed = narrow(number)?;
            n_rounded += u64::from(number.is_finite() && f64::from(narrowed) != number);
            numbers.push(narrowed);
            Ok(())
        })?;
        self.n_rounded += n_rounded;
        Ok(numbers)
    }

    /// Fails where there is more than the header says. Reading to the end also checks the checksum of an archive.
    fn check_end(&mut self) -> Result<(), StatsError> {
        check_end(&mut self.reader)
    }
}

/// Fails where there is more behind the last row, and where the end cannot be read.
pub(crate) fn check_end(reader: &mut impl Read) -> Result<(), StatsError> {
    match reader.read(&mut [0]) {
        Ok(0) => Ok(()),
        Ok(_) => Err(fault("data", "nothing behind the last row", "more bytes")),
        Err(error) => Err(fault("data", "a whole file", &error.to_string())),
    }
}

/// Gives `take` the next `n` numbers of `reader`. Memory does not grow with `n`. Fails where the file ends early; `what`
/// is what the header says, `place` where the numbers are.
pub(crate) fn each_number(
    reader: &mut impl Read,
    element: Element,
    n: usize,
    what: &str,
    place: &str,
    mut take: impl FnMut(f64) -> Result<(), StatsError>,
) -> Result<(), StatsError> {
    let (width, n_bytes) = (element.width(), n * element.width());
    let mut bytes = Vec::with_capacity(PIECE.min(n_bytes));
    let mut n_read = 0;
    while n_read < n_bytes {
        let n_wanted = PIECE.min(n_bytes - n_read);
        bytes.clear();
        let read = reader.by_ref().take(n_wanted as u64).read_to_end(&mut bytes);
        read.map_err(|error| fault("data", what, &format!("{place}: {error}")))?;
        n_read += bytes.len();
        if bytes.len() < n_wanted {
            let found = format!("{place}: the file ends after {n_read} bytes of {n_bytes}");
            return Err(fault("data", what, &found));
        }
        for number in bytes.chunks_exact(width).map(|bytes| element.number(bytes)) {
            element.check_whole(number)?;
            take(number)?;
        }
    }
    Ok(())
}

/// Bytes of the data behind `header`; fails where an address space cannot hold them.
pub(crate) fn n_bytes_of(header: &Header) -> Result<usize, StatsError> {
    let Header { element, n_rows, n_columns, .. } = *header;
    let n_bytes = n_rows.checked_mul(n_columns).and_then(|n| n.checked_mul(element.width()));
    n_bytes.ok_or_else(|| {
        let found = format!("({n_rows}, {n_columns})");
        fault("shape", "a matrix that an address space can hold", &found)
    })
}

/// The nearest f32; fails for a finite number beyond its range.
fn narrow(number: f64) -> Result<f32, StatsError> {
    let narrowed = number as f32;
    if number.is_finite() && narrowed.is_infinite() {
        return Err(fault("feature", "a number within the range of f32, 3.4e38", &format!("{number:e}")));
    }
    Ok(narrowed)
}

/// The header of a file.
pub(crate) struct HeaderText {
    /// Its dictionary.
    pub(crate) text: String,
    /// Bytes of the file before the data.
    pub(crate) n_bytes: u64,
}

/// Reads the header, so that `reader` is at the data.
pub(crate) fn read_header(reader: &mut impl Read) -> Result<HeaderText, StatsError> {
    let short = |error: std::io::Error| {
        let found = match error.kind() {
            ErrorKind::UnexpectedEof => "a file that ends before it".to_owned(),
            _ => error.to_string(),
        };
        fault("header", "a complete header", &found)
    };
    let mut exactly = |n_bytes: usize| {
        let mut bytes = vec![0; n_bytes];
        reader.read_exact(&mut bytes).map(|()| bytes).map_err(short)
    };
    let magic = exactly(8)?;
    let n_length = match magic.as_slice() {
        [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _] => 2,
        [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _] => 4,
        other => return Err(fault("magic", "\\x93NUMPY and a version of 1 to 3", &format!("{other:02x?}"))),
    };
    let length = exactly(n_length)?.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
    if length > MAX_HEADER_BYTES {
        return Err(fault("header", "at most 65,536 bytes", &length.to_string()));
    }
    let text = String::from_utf8(exactly(length)?).map_err(|_| fault("header", "text", "other bytes"))?;
    Ok(HeaderText { text, n_bytes: (magic.len() + n_length + length) as u64 })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed call is a failed test")]
    use super::*;
    use crate::npy_write::{Values, write_npy, write_npy_bytes};

    #[test]
    fn rows_come_in_groups_of_any_size_and_then_none() {
        let file = write_npy(&[5, 2], Values::F64(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0]));
        let mut rows = NpyRows::open(file.as_slice()).unwrap();
        assert_eq!((rows.n_rows(), rows.n_columns()), (5, 2));
        assert_eq!(rows.next_rows(2).unwrap(), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(rows.next_rows(9).unwrap(), [4.0, 5.0, 6.0, 7.0, 8.0, 9.0]);
        assert!(rows.next_rows(1).unwrap().is_empty());
    }

    #[test]
    fn a_short_file_a_long_one_and_what_is_beyond_f32_are_errors() {
        let file = write_npy(&[3, 1], Values::F32(&[1.0, 2.0, 3.0]));
        let message = |bytes: &[u8]| NpyRows::open(bytes).unwrap().next_rows(9).unwrap_err().to_string();
        assert!(message(&file[..file.len() - 1]).contains("3 x 1 numbers"));
        assert!(message(&[file.as_slice(), b"x"].concat()).contains("behind the last row"));
        let far = message(&write_npy(&[1, 1], Values::F64(&[1e39])));
        assert!(far.contains("range of f32") && far.contains("found 1e39"), "{far}");
        // As a double it is 2^53, which f32 holds.
        assert!(message(&write_npy(&[1, 1], Values::I64(&[(1 << 53) + 1]))).contains("below 2^53"));
        assert!(NpyRows::open(b"\x93NUMPY\x07\0".as_slice()).is_err());
    }

    #[test]
    fn numbers_of_every_type_that_f32_holds_are_read_exactly() {
        let rows = |bytes: &[u8]| NpyRows::open(bytes).unwrap().next_rows(9).unwrap();
        assert_eq!(rows(&write_npy(&[2, 1], Values::I64(&[-3, 1 << 24]))), [-3.0, 16_777_216.0]);
        let whole: Vec<u8> = [i32::MIN, 7].into_iter().flat_map(i32::to_le_bytes).collect();
        assert_eq!(rows(&write_npy_bytes(&[2, 1], "<i4", &whole)), [-2_147_483_648.0, 7.0]);
        // One, the largest, the smallest below normal ones, -2, infinity: by NumPy's float16.
        let halves: Vec<u8> =
            [0x3c00_u16, 0x7bff, 0x0001, 0xc000, 0x7c00, 0x3555].map(u16::to_le_bytes).concat();
        let expected = [1.0, 65504.0, 2.0_f32.powi(-24), -2.0, f32::INFINITY, 0.333_251_95];
        assert_eq!(rows(&write_npy_bytes(&[3, 2], "<f2", &halves)), expected);
        let not_a_number = rows(&write_npy_bytes(&[1, 1], "<f2", &0x7e00_u16.to_le_bytes()));
        assert!(not_a_number[0].is_nan());
    }

    #[test]
    fn pictures_as_floats_are_told_what_pictures_are() {
        let message = NpyRows::open(file_of_shape("(6, 40, 30, 3)").as_slice()).unwrap_err().to_string();
        assert!(message.contains("found (6, 40, 30, 3)") && !message.contains('}'), "{message}");
        assert!(message.contains("uint8, [n, h, w, 3]"), "{message}");
    }

    /// A version 1 file whose header says `shape`, with four bytes of data.
    fn file_of_shape(shape: &str) -> Vec<u8> {
        let mut file = b"\x93NUMPY\x01\0".to_vec();
        let header = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}\n");
        file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        file.extend(header.bytes());
        file.extend([0; 4]);
        file
    }

    #[test]
    fn a_vector_is_neither_a_row_nor_a_column() {
        let message = |shape: &str| NpyRows::open(file_of_shape(shape).as_slice()).unwrap_err().to_string();
        assert!(
            message("(3000,)").contains("expected two axes, [rows, features] (reshape it), found (3000,)")
        );
        assert!(message("()").contains("found one number"));
    }

    #[test]
    fn a_header_with_a_huge_shape_is_an_error_and_takes_no_memory() {
        let rows = |shape: &str| NpyRows::open(std::io::Cursor::new(file_of_shape(shape)));
        // 4e15 bytes, which no machine has.
        let message = rows("(4, 1000000000000000)").unwrap().next_rows(1).unwrap_err().to_string();
        assert!(message.contains("ends after 4 bytes of 4000000000000000"), "{message}");
        let message = rows("(4611686018427387904, 4611686018427387904)").unwrap_err().to_string();
        assert!(message.contains("shape") && message.contains("4611686018427387904"), "{message}");
    }

    #[test]
    fn the_element_type_is_told_of_arrays_that_are_not_read_here() {
        let mut file = b"\x93NUMPY\x01\0".to_vec();
        let header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2, 2, 3), }\n";
        file.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
        file.extend(header.bytes());
        assert_eq!(element_type(&mut file.as_slice()).unwrap(), "|u1");
        assert!(element_type(&mut b"PK\x03\x04abcdef".as_slice()).is_err());
    }

    #[test]
    fn doubles_and_large_whole_numbers_are_rounded_to_the_nearest_single_and_counted() {
        // numpy.float32 of the same numbers: 0.1, 1/3, and halfway between 2^24 and 2^24 + 2 to the even one.
        let file = write_npy(&[2, 2], Values::F64(&[0.1, 0.5, 1.0 / 3.0, f64::NAN]));
        let mut rows = NpyRows::open(file.as_slice()).unwrap();
        let read = rows.next_rows(1).unwrap();
        assert_eq!((read[0].to_bits(), read[1], rows.n_rounded()), (0x3dcc_cccd, 0.5, 1));
        let read = rows.next_rows(1).unwrap();
        assert_eq!((read[0].to_bits(), read[1].is_nan(), rows.n_rounded()), (0x3eaa_aaab, true, 2));
        let file = write_npy(&[1, 2], Values::I64(&[(1 << 24) + 1, -7]));
        let mut rows = NpyRows::open(file.as_slice()).unwrap();
        assert_eq!((rows.next_rows(9).unwrap(), rows.n_rounded()), (vec![16_777_216.0, -7.0], 1));
    }

    #[test]
    fn columns_first_read_as_the_same_rows_in_groups_of_any_size() {
        // numpy.save of numpy.asfortranarray(numpy.arange(6.).reshape(3, 2)) has the columns one after the other.
        let file = |shape: &str, numbers: &[f64]| {
            let header = format!("{{'descr': '<f8', 'fortran_order': True, 'shape': {shape}, }}");
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
            bytes.extend(header.bytes());
            bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
            bytes
        };
        let stored = [0.0, 2.0, 4.0, 1.0, 3.0, 5.0];
        for group in [1, 2, 9] {
            let bytes = file("(3, 2)", &stored);
            let mut rows = NpyRows::open(bytes.as_slice()).unwrap();
            let groups = (0..4).flat_map(|_| rows.next_rows(group).unwrap()).collect::<Vec<_>>();
            assert_eq!(groups, [0.0, 1.0, 2.0, 3.0, 4.0, 5.0], "{group}");
        }
        for shape in ["(1, 6)", "(6, 1)"] {
            let bytes = file(shape, &stored);
            let read = NpyRows::open(bytes.as_slice()).unwrap().next_rows(9).unwrap();
            assert_eq!(read, [0.0, 2.0, 4.0, 1.0, 3.0, 5.0], "{shape}");
        }
        let message = |bytes: &[u8]| NpyRows::open(bytes).unwrap().next_rows(1).unwrap_err().to_string();
        let cut = message(&file("(3, 2)", &stored[..5]));
        assert!(cut.contains("Fortran order: the file ends after 40 bytes of 48"), "{cut}");
        assert!(message(&file("(2, 2)", &stored)).contains("behind the last row"));
        // The header says 4e15 bytes, and memory grows with what is there.
        assert!(message(&file("(4, 1000000000000000)", &stored)).contains("ends after 48 bytes"));
    }

    #[test]
    fn a_file_that_ends_in_its_header_says_so() {
        for bytes in [&b"\x93NUM"[..], b"\x93NUMPY\x01\0\x76", b"\x93NUMPY\x01\0\x76\0{'descr'"] {
            let message = NpyRows::open(bytes).unwrap_err().to_string();
            let expected = "npy: header: expected a complete header, found a file that ends before it";
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn headers_up_to_the_limit_are_read_in_both_versions() {
        let file = |version: u8, length: usize| {
            let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }";
            let mut bytes = vec![0x93, b'N', b'U', b'M', b'P', b'Y', version, 0];
            match version {
                1 => bytes.extend(u16::try_from(length).unwrap().to_le_bytes()),
                _ => bytes.extend(u32::try_from(length).unwrap().to_le_bytes()),
            }
            bytes.extend(header.bytes());
            bytes.extend(std::iter::repeat_n(b' ', length - header.len()));
            bytes.extend(2.5_f64.to_le_bytes());
            bytes
        };
        for (version, length) in [(1, 300), (2, 300), (3, MAX_HEADER_BYTES)] {
            assert!(NpyRows::open(file(version, length).as_slice()).is_ok(), "{version} {length}");
            let read = crate::npy::read_npy(&file(version, length)).unwrap();
            assert_eq!(read.values, [2.5], "{version} {length}");
        }
        assert!(NpyRows::open(file(3, MAX_HEADER_BYTES + 1).as_slice()).is_err());
    }
}
