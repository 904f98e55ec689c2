//! Arrays of NumPy as pickles hold them: shape, element type and bytes, each checked against the others. Only plain
//! numbers are read: no objects, no records, no other byte order.

use crate::{
    Element,
    tensor::{Misfit, Storage, TensorView},
};

use super::{Heap, Id, Node, rebuild::wholes};

/// Element types by NumPy's names.
const NAMES: [(&str, Element); 11] = [
    ("f2", Element::F16),
    ("f4", Element::F32),
    ("f8", Element::F64),
    ("i1", Element::I8),
    ("i2", Element::I16),
    ("i4", Element::I32),
    ("i8", Element::I64),
    ("u1", Element::U8),
    ("u2", Element::U16),
    ("u4", Element::U32),
    ("u8", Element::U64),
];

/// An array, its bytes by rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    /// Type of its elements.
    pub element: Element,
    /// Sizes.
    pub shape: Vec<u64>,
    /// Little-endian, by rows (C order), as many as shape and element say.
    pub bytes: Vec<u8>,
}

/// The bytes of an array, as they are in the pickle.
#[derive(Clone, Copy)]
enum Raw<'a> {
    Bytes(&'a [u8]),
    /// One character a byte.
    Latin1(&'a str),
}

impl Raw<'_> {
    fn n_bytes(self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::Latin1(text) => text.chars().count() as u64,
        }
    }

    /// `None` where a character is no byte.
    fn bytes(self) -> Option<Vec<u8>> {
        match self {
            Self::Bytes(bytes) => Some(bytes.to_vec()),
            Self::Latin1(text) => text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect(),
        }
    }
}

/// The array at `id`. What it takes is at most as long as the pickle.
///
/// # Errors
/// What is no array, one of objects, records or another byte order, and one whose bytes are not as many as it says.
pub fn read(heap: &Heap<'_>, id: Id) -> Result<Array, Misfit> {
    let misfit = |expected: &str, found: String| Misfit { expected: expected.to_owned(), found };
    let Node::Array(Some(state)) = *heap.get(id) else {
        return Err(misfit("an array of NumPy with its state", heap.get(id).kind()));
    };
    let Node::Tuple(state) = heap.get(state) else {
        return Err(misfit("the state of an array", heap.get(state).kind()));
    };
    let &[version, shape, dtype, is_fortran, data] = state.as_slice() else {
        return Err(misfit(
            "version, shape, type, order and bytes of an array",
            format!("{} items", state.len()),
        ));
    };
    if heap.get(version) != &Node::Int(1) {
        return Err(misfit("an array of version 1", heap.get(version).kind()));
    }
    let shape =
        wholes(heap, shape).map_err(|wrong| Misfit { expected: wrong.expected, found: wrong.found })?;
    let element = element(heap, dtype)?;
    let Node::Bool(is_fortran) = *heap.get(is_fortran) else {
        return Err(misfit("True or False for columns first", heap.get(is_fortran).kind()));
    };
    let raw = match *heap.get(data) {
        Node::Bytes(bytes) => Raw::Bytes(bytes),
        // Bytes that happen to be text.
        Node::Text(text) => Raw::Bytes(text.as_bytes()),
        Node::Latin1(text) => Raw::Latin1(text),
        ref other => return Err(misfit("the bytes of an array", other.kind())),
    };
    let n_bytes = shape.iter().try_fold(element.n_bytes(), |n, &size| n.checked_mul(size));
    if n_bytes != Some(raw.n_bytes()) {
        let expected = format!("an array of shape {shape:?} and {} bytes an element", element.n_bytes());
        return Err(misfit(&expected, format!("{} bytes", raw.n_bytes())));
    }
    let bytes = raw.bytes().ok_or_else(|| misfit("bytes as characters up to U+00FF", "others".to_owned()))?;
    let bytes = if is_fortran { by_rows(&bytes, element, &shape)? } else { bytes };
    Ok(Array { element, shape, bytes })
}

/// The element type at `id`.
fn element(heap: &Heap<'_>, id: Id) -> Result<Element, Misfit> {
    let misfit = |found: String| Misfit {
        expected: "an array of plain little-endian numbers (f2, f4, f8, i1 to i8, u1 to u8)".to_owned(),
        found,
    };
    let Node::ArrayDtype { name, state } = *heap.get(id) else {
        return Err(misfit(heap.get(id).kind()));
    };
    let known = NAMES.iter().find(|known| known.0 == name).map(|known| known.1);
    let element = known.ok_or_else(|| misfit(format!("the type `{}`", name.escape_debug())))?;
    let state = state.map(|state| heap.get(state));
    let Some(Node::Tuple(state)) = state else {
        return Err(misfit(format!("the type `{name}` without its byte order")));
    };
    let [_version, order, parts, names, fields, ..] = state.as_slice() else {
        return Err(misfit(format!("the type `{name}` of {} items", state.len())));
    };
    let is_plain = [parts, names, fields].into_iter().all(|&part| heap.get(part) == &Node::None);
    match heap.get(*order) {
        Node::Text("<") if is_plain => Ok(element),
        Node::Text("|") if is_plain && element.n_bytes() == 1 => Ok(element),
        other => Err(misfit(format!("the type `{name}` with parts, or of byte order {}", other.kind()))),
    }
}

/// The bytes of an array that is stored columns first, by rows.
fn by_rows(bytes: &[u8], element: Element, shape: &[u64]) -> Result<Vec<u8>, Misfit> {
    let mut strides = vec![1_u64; shape.len()];
    for axis in 1..shape.len() {
        strides[axis] = strides[axis - 1].saturating_mul(shape[axis - 1]);
    }
    let storage = Storage { file: 0, start: 0, n_bytes: bytes.len() as u64 };
    let view = TensorView::new(storage, element, 0, shape.to_vec(), &strides)?;
    let mut rows = Vec::with_capacity(bytes.len());
    let read = view.read(bytes, &mut |part| {
        rows.extend_from_slice(part);
        Ok(())
    });
    read.expect("memory takes what it is given");
    Ok(rows)
}
