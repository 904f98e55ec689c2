//! Reads a `.npy` matrix of features some rows at a time, so that memory does not grow with the file.
//!
//! The format is that of [`crate::npy`]; f32, or numbers of another type that f32 holds exactly, in C order. A matrix in
//! Fortran order has its rows scattered over the file and is refused by name.

use std::io::Read;

use crate::error::StatsError;
use crate::npy::{Header, fault, parse_header};

/// Bytes that a header may have; NumPy's own fit into a few hundred.
const MAX_HEADER_BYTES: usize = 1 << 16;

/// An opened matrix, some of its rows read.
#[derive(Debug)]
pub struct NpyRows<R> {
    reader: R,
    header: Header,
    n_left: usize,
}

/// Returns the element type that a `.npy` file declares, as NumPy spells it (`|u1`, `<f4`), whether or not it is read
/// here. Fails on what is no such file.
pub fn element_type(reader: &mut impl Read) -> Result<String, StatsError> {
    let header = read_header(reader)?;
    let value = header.split_once("'descr'").map(|(_, rest)| rest.trim_start_matches([' ', ':']));
    let value = value.and_then(|rest| rest.strip_prefix('\'')?.split_once('\''));
    value.map(|(name, _)| name.to_owned()).ok_or_else(|| fault("header", "a key 'descr'", header.trim_end()))
}

impl<R: Read> NpyRows<R> {
    /// Opens the matrix at the beginning of `reader`. Fails on what is no `.npy` file, on other element types, on Fortran
    /// order, and on a vector, of which nobody can say whether it is a row or a column.
    pub fn open(mut reader: R) -> Result<Self, StatsError> {
        let header = parse_header(&read_header(&mut reader)?)?;
        if header.n_axes != 2 {
            let found =
                if header.n_axes == 0 { "one number".to_owned() } else { format!("({},)", header.n_columns) };
            return Err(fault("shape", "two axes, [rows, features] (reshape it)", &found));
        }
        if header.is_fortran && header.n_rows > 1 && header.n_columns > 1 {
            let found = "Fortran order; save numpy.ascontiguousarray of it";
            return Err(fault("order of elements", "C order", found));
        }
        let n_bytes =
            header.n_rows.checked_mul(header.n_columns).and_then(|n| n.checked_mul(header.element.width()));
        if n_bytes.is_none() {
            let found = format!("({}, {})", header.n_rows, header.n_columns);
            return Err(fault("shape", "a matrix that an address space can hold", &found));
        }
        Ok(Self { reader, header, n_left: header.n_rows })
    }

    /// Rows of the matrix.
    pub fn n_rows(&self) -> usize {
        self.header.n_rows
    }

    /// Numbers in a row.
    pub fn n_columns(&self) -> usize {
        self.header.n_columns
    }

    /// Returns the next rows, at most `max_rows` of them and none behind the last, `[n, n_columns]` by rows. Fails
    /// when the file ends early or goes on behind the last row, and on values that f32 cannot hold.
    pub fn next_rows(&mut self, max_rows: usize) -> Result<Vec<f32>, StatsError> {
        let Header { element, n_columns, .. } = self.header;
        let n_rows = self.n_left.min(max_rows);
        let n_bytes = n_rows * n_columns * element.width();
        let fault_at = |reason: &str| {
            let expected = format!("{} rows of {n_columns} elements", self.header.n_rows);
            fault("data", &expected, &format!("at row {}: {reason}", self.header.n_rows - self.n_left))
        };
        // Memory grows with what is there, not with what the header says.
        let mut bytes = Vec::new();
        let read = self.reader.by_ref().take(n_bytes as u64).read_to_end(&mut bytes);
        read.map_err(|error| fault_at(&error.to_string()))?;
        if bytes.len() < n_bytes {
            return Err(fault_at(&format!("the file ends after {} bytes of {n_bytes}", bytes.len())));
        }
        self.n_left -= n_rows;
        if self.n_left == 0 && self.reader.read(&mut [0]).is_ok_and(|n_more| n_more > 0) {
            return Err(fault("data", "nothing behind the last row", "more bytes"));
        }
        let numbers = bytes.chunks_exact(element.width()).map(|bytes| element.number(bytes));
        numbers.map(|number| element.check_whole(number).and_then(|()| narrow(number))).collect()
    }
}

fn narrow(number: f64) -> Result<f32, StatsError> {
    let narrowed = number as f32;
    if number.is_finite() && f64::from(narrowed) != number {
        let expected = "features that are f32, whatever type they are kept in (save them as numpy.float32)";
        return Err(fault("feature", expected, &number.to_string()));
    }
    Ok(narrowed)
}

fn read_header(reader: &mut impl Read) -> Result<String, StatsError> {
    let short = |error: std::io::Error| fault("header", "a complete header", &error.to_string());
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
    String::from_utf8(exactly(length)?).map_err(|_| fault("header", "text", "other bytes"))
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
    fn a_short_file_a_long_one_and_what_f32_cannot_hold_are_errors() {
        let file = write_npy(&[3, 1], Values::F32(&[1.0, 2.0, 3.0]));
        let message = |bytes: &[u8]| NpyRows::open(bytes).unwrap().next_rows(9).unwrap_err().to_string();
        assert!(message(&file[..file.len() - 1]).contains("3 rows of 1 elements"));
        assert!(message(&[file.as_slice(), b"x"].concat()).contains("behind the last row"));
        assert!(message(&write_npy(&[1, 1], Values::F64(&[0.1]))).contains("numpy.float32"));
        let odd = (1 << 24) + 1;
        assert!(message(&write_npy(&[1, 1], Values::I64(&[odd]))).contains("numpy.float32"));
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
    fn columns_first_are_refused_where_it_makes_a_difference() {
        let file = |shape: &str, n: usize| {
            let header = format!("{{'descr': '<f4', 'fortran_order': True, 'shape': {shape}, }}");
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend(u16::try_from(header.len()).unwrap().to_le_bytes());
            bytes.extend(header.bytes());
            bytes.extend((0..n).flat_map(|i| (i as f32).to_le_bytes()));
            bytes
        };
        for (shape, n, is_fine) in
            [("(1, 2)", 2, true), ("(2, 1)", 2, true), ("(2, 2)", 4, false), ("(3, 2)", 6, false)]
        {
            let bytes = file(shape, n);
            let opened = NpyRows::open(bytes.as_slice());
            assert_eq!(opened.is_ok(), is_fine, "{shape}");
            let told = opened.err().map(|error| error.to_string()).unwrap_or_default();
            assert!(is_fine || told.contains("Fortran order"), "{told}");
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
