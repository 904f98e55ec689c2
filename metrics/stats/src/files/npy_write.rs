//! Writes arrays in NumPy's `.npy` format, version 1, C order, byte for byte as `numpy.save` does.

/// The values of an array, by rows.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// `<f4`
    F32(&'a [f32]),
    /// `<f8`
    F64(&'a [f64]),
    /// `<i8`
    I64(&'a [i64]),
}

/// Bytes of a character of a text, which NumPy keeps in UTF-32.
const TEXT_UNIT: usize = 4;
/// Length of the file's beginning, header included, is a multiple of this.
const ALIGNMENT: usize = 64;

/// Returns the file of an array of `shape`; an empty shape is a single number. Panics when the shape does not hold as
/// many values as there are, and for a shape of so many axes that its header passes 64 KiB.
#[must_use]
pub fn write_npy(shape: &[usize], values: Values<'_>) -> Vec<u8> {
    let (descr, n_values, data): (&str, usize, Vec<u8>) = match values {
        Values::F32(values) => ("<f4", values.len(), values.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Values::F64(values) => ("<f8", values.len(), values.iter().flat_map(|x| x.to_le_bytes()).collect()),
        Values::I64(values) => ("<i8", values.len(), values.iter().flat_map(|x| x.to_le_bytes()).collect()),
    };
    assert_eq!(shape.iter().product::<usize>(), n_values, "the shape holds the values");
    file(descr, &axes_of(shape), &data)
}

/// Returns the file of an array of `shape` whose numbers are given as bytes: `data`, little-endian and by rows, of the type
/// that NumPy calls `descr` (`<f2`). Panics for a shape of so many axes that its header passes 64 KiB.
#[must_use]
pub fn write_npy_bytes(shape: &[usize], descr: &str, data: &[u8]) -> Vec<u8> {
    file(descr, &axes_of(shape), data)
}

/// Returns the file of one text as `numpy.save` writes `numpy.array(text)`; an empty one has one NUL, as NumPy has it.
#[must_use]
pub fn write_npy_text(text: &str) -> Vec<u8> {
    let mut data: Vec<u8> = text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect();
    if data.is_empty() {
        data = vec![0; TEXT_UNIT];
    }
    file(&format!("<U{}", data.len() / TEXT_UNIT), "", &data)
}

/// The inside of a tuple; one of one axis has a comma in Python.
fn axes_of(shape: &[usize]) -> String {
    let axes: Vec<String> = shape.iter().map(usize::to_string).collect();
    if let [axis] = &axes[..] { format!("{axis},") } else { axes.join(", ") }
}

/// A header that says type and axes, and `data`.
fn file(descr: &str, axes: &str, data: &[u8]) -> Vec<u8> {
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({axes}), }}");
    let n_before = b"\x93NUMPY\x01\x00".len() + size_of::<u16>();
    let n_header = (n_before + header.len() + 1).next_multiple_of(ALIGNMENT) - n_before;
    header.push_str(&" ".repeat(n_header - header.len() - 1));
    header.push('\n');
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend(u16::try_from(n_header).expect("a header of few axes is short").to_le_bytes());
    file.extend(header.into_bytes());
    file.extend_from_slice(data);
    file
}
