//! Reads matrices in NumPy's `.npy` format: versions 1 to 3, f16, f32, f64, i32 or i64, up to two axes, C or Fortran order.
//!
//! Source: the format description in NumPy's documentation (`numpy.lib.format`). Only the header's literal form that
//! NumPy writes is understood; anything else is refused by name.

use crate::error::StatsError;

/// A dense matrix, `[n_rows, n_columns]` by rows. A vector reads as one row, a single number as one row of one.
#[derive(Clone, Debug, PartialEq)]
pub struct Matrix {
    /// Rows.
    pub n_rows: usize,
    /// Columns.
    pub n_columns: usize,
    /// `[n_rows * n_columns]`; f32 widens exactly, whole numbers must be below 2^53, where they do too.
    pub values: Vec<f64>,
    /// Whether the file held f32, so that narrowing loses nothing.
    pub is_f32: bool,
}

impl Matrix {
    /// Returns the values as f32.
    ///
    /// # Errors
    /// A file of another type, where that would round.
    pub fn to_f32(&self) -> Result<Vec<f32>, StatsError> {
        if !self.is_f32 {
            return Err(fault("element type", "f32 (<f4)", "another type"));
        }
        Ok(self.values.iter().map(|&x| x as f32).collect())
    }
}

/// What the header of a file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) element: Element,
    pub(crate) is_fortran: bool,
    pub(crate) n_axes: usize,
    pub(crate) n_rows: usize,
    pub(crate) n_columns: usize,
}

/// Type of the elements of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    F16,
    F32,
    F64,
    I32,
    I64,
}

impl Element {
    /// Bytes of one.
    pub(crate) fn width(self) -> usize {
        match self {
            Self::F16 => 2,
            Self::F32 | Self::I32 => 4,
            Self::F64 | Self::I64 => 8,
        }
    }

    /// The number that `bytes`, of this element's width, hold.
    pub(crate) fn number(self, bytes: &[u8]) -> f64 {
        match self {
            Self::F16 => from_f16(bytes),
            Self::F32 => from_f32(bytes),
            Self::F64 => from_f64(bytes),
            Self::I32 => from_i32(bytes),
            Self::I64 => from_i64(bytes),
        }
    }

    /// Fails where a whole number is so large that a double may have rounded it.
    pub(crate) fn check_whole(self, number: f64) -> Result<(), StatsError> {
        if self == Self::I64 && number.abs() >= (1_u64 << 53) as f64 {
            return Err(fault("whole number", "below 2^53", &number.to_string()));
        }
        Ok(())
    }
}

/// Reads the text of a header.
pub(crate) fn parse_header(header: &str) -> Result<Header, StatsError> {
    let element = match quoted(field(header, "descr")?)? {
        "<f2" => Element::F16,
        "<f4" => Element::F32,
        "<f8" => Element::F64,
        "<i4" => Element::I32,
        "<i8" => Element::I64,
        other => return Err(fault("element type", "'<f2', '<f4', '<f8', '<i4' or '<i8'", other)),
    };
    let is_fortran = match field(header, "fortran_order")?.get(..4) {
        Some("True") => true,
        Some("Fals") => false,
        _ => return Err(fault("fortran_order", "True or False", field(header, "fortran_order")?)),
    };
    let (n_axes, n_rows, n_columns) = shape(field(header, "shape")?)?;
    Ok(Header { element, is_fortran, n_axes, n_rows, n_columns })
}

/// Reads a whole `.npy` file held in `bytes`.
///
/// # Errors
/// A file that is damaged, or of an element type that is not read.
pub fn read_npy(bytes: &[u8]) -> Result<Matrix, StatsError> {
    let (header, data) = split_header(bytes)?;
    let header = parse_header(header)?;
    let Header { element, n_rows, n_columns, .. } = header;
    let width = element.width();
    let n_bytes = n_rows.checked_mul(n_columns).and_then(|n| n.checked_mul(width));
    if n_bytes != Some(data.len()) {
        let expected = format!("{n_rows} x {n_columns} elements of {width} bytes");
        return Err(fault("data length", &expected, &format!("{} bytes", data.len())));
    }
    let stored: Vec<f64> = data.chunks_exact(width).map(|bytes| element.number(bytes)).collect();
    stored.iter().try_for_each(|&number| element.check_whole(number))?;
    Ok(Matrix { n_rows, n_columns, values: in_rows(&header, stored), is_f32: element == Element::F32 })
}

/// The numbers of an array as they are stored, by rows.
pub(crate) fn in_rows(header: &Header, stored: Vec<f64>) -> Vec<f64> {
    let Header { is_fortran, n_rows, n_columns, .. } = *header;
    if !is_fortran || n_rows == 1 || n_columns == 1 {
        return stored;
    }
    (0..n_rows * n_columns).map(|at| stored[at % n_columns * n_rows + at / n_columns]).collect()
}

/// Reads a `.npy` file of one text (`<U`), as `numpy.save` writes `numpy.array(text)`.
///
/// # Errors
/// A file that is damaged, or holds anything else.
pub fn read_npy_text(bytes: &[u8]) -> Result<String, StatsError> {
    let (header, data) = split_header(bytes)?;
    let descr = quoted(field(header, "descr")?)?;
    let n_characters = descr.strip_prefix("<U").and_then(|n| n.parse::<usize>().ok());
    let n_characters = n_characters.ok_or_else(|| fault("element type", "a text ('<U...')", descr))?;
    if shape(field(header, "shape")?)? != (0, 1, 1) || n_characters.checked_mul(4) != Some(data.len()) {
        let expected = format!("one text of {n_characters} characters");
        return Err(fault("text", &expected, &format!("{} bytes", data.len())));
    }
    let characters = data.chunks_exact(4).map(|unit| {
        let unit = u32::from_le_bytes(unit.try_into().expect("units are cut to four bytes"));
        char::from_u32(unit).ok_or_else(|| fault("text", "Unicode", &format!("U+{unit:X}")))
    });
    let text = characters.collect::<Result<String, _>>()?;
    Ok(text.trim_end_matches('\0').to_owned())
}

/// Returns the header text and the data behind it.
fn split_header(bytes: &[u8]) -> Result<(&str, &[u8]), StatsError> {
    if bytes.get(..6) != Some(b"\x93NUMPY") {
        return Err(fault("magic", "\\x93NUMPY", &format!("{:02x?}", &bytes[..bytes.len().min(6)])));
    }
    let short = || fault("header", "a complete header", &format!("a file of {} bytes", bytes.len()));
    let (length, start) = match (bytes.get(6), bytes.get(8..12)) {
        (Some(1), Some(l)) => (usize::from(u16::from_le_bytes([l[0], l[1]])), 10),
        (Some(2 | 3), Some(l)) => (u32::from_le_bytes([l[0], l[1], l[2], l[3]]) as usize, 12),
        (Some(version), Some(_)) => return Err(fault("version", "1, 2 or 3", &version.to_string())),
        _ => return Err(short()),
    };
    let header = bytes.get(start..start + length).ok_or_else(short)?;
    let text = std::str::from_utf8(header).map_err(|_| fault("header", "text", "other bytes"))?;
    Ok((text, &bytes[start + length..]))
}

/// Returns the text after `'name':` in the header's dictionary.
fn field<'a>(header: &'a str, name: &str) -> Result<&'a str, StatsError> {
    let key = format!("'{name}':");
    match header.split_once(&key) {
        Some((_, after)) => Ok(after.trim_start()),
        None => Err(fault("header", &format!("a key '{name}'"), header.trim_end())),
    }
}

fn quoted(text: &str) -> Result<&str, StatsError> {
    text.strip_prefix('\'')
        .and_then(|rest| rest.split_once('\''))
        .map(|(inside, _)| inside)
        .ok_or_else(|| fault("header", "a quoted element type", text.trim_end()))
}

/// Parses `()` as one number, `(n,)` as one row, and `(n, d)` as it stands.
/// Axes, rows and columns.
fn shape(text: &str) -> Result<(usize, usize, usize), StatsError> {
    // The header goes on behind it.
    let shown = text.split_inclusive(')').next().unwrap_or(text).trim_end();
    let expected = "up to two axes, [n, d] of features (pictures are bytes, uint8, [n, h, w, 3])";
    let wrong = || fault("shape", expected, shown);
    let (inside, _) = text.strip_prefix('(').and_then(|rest| rest.split_once(')')).ok_or_else(wrong)?;
    let axes: Result<Vec<usize>, _> =
        inside.split(',').map(str::trim).filter(|axis| !axis.is_empty()).map(str::parse).collect();
    match axes.map_err(|_| wrong())?[..] {
        [] => Ok((0, 1, 1)),
        [n] => Ok((1, 1, n)),
        [n_rows, n_columns] => Ok((2, n_rows, n_columns)),
        _ => Err(wrong()),
    }
}

/// A half as a double, which holds it exactly: 10 bits of fraction, exponents from -14 to 15.
fn from_f16(element: &[u8]) -> f64 {
    let bits = u16::from_le_bytes(element.try_into().expect("elements are cut to two bytes"));
    let (exponent, fraction) = (i32::from(bits >> 10 & 0x1f), f64::from(bits & 0x3ff));
    let size = match exponent {
        0 => fraction * 2.0_f64.powi(-24),
        0x1f if fraction == 0.0 => f64::INFINITY,
        0x1f => f64::NAN,
        _ => (1024.0 + fraction) * 2.0_f64.powi(exponent - 25),
    };
    if bits >> 15 == 1 { -size } else { size }
}

fn from_i32(element: &[u8]) -> f64 {
    f64::from(i32::from_le_bytes(element.try_into().expect("elements are cut to four bytes")))
}

fn from_f32(element: &[u8]) -> f64 {
    f64::from(f32::from_le_bytes(element.try_into().expect("elements are cut to four bytes")))
}

fn from_f64(element: &[u8]) -> f64 {
    f64::from_le_bytes(element.try_into().expect("elements are cut to eight bytes"))
}

fn from_i64(element: &[u8]) -> f64 {
    i64::from_le_bytes(element.try_into().expect("elements are cut to eight bytes")) as f64
}

pub(crate) fn fault(what: &'static str, expected: &str, found: &str) -> StatsError {
    StatsError::Npy { what, expected: expected.to_owned(), found: found.to_owned() }
}
