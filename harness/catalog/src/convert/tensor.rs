//! A tensor as a strided view of a storage in a mapped file: checked once, then copied run by run.

use std::io;

use crate::convert::Element;

/// A storage: a range of bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Storage {
    /// Which of the source's files.
    pub file: usize,
    /// Place of its first byte in the file.
    pub start: u64,
    /// Length in bytes.
    pub n_bytes: u64,
}

/// A tensor: its elements are read from a storage with strides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorView {
    storage: Storage,
    element: Element,
    shape: Vec<u64>,
    // Invariant: the sizes multiply to those of `shape`, and every index they reach is in the storage.
    /// First element, counted in elements.
    offset: u64,
    /// Sizes and strides (in elements), outermost first; finer than `shape` after [`Self::unpair_rows`].
    axes: Vec<(u64, u64)>,
}

/// Why a view is not inside its storage: what it should be, what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misfit {
    /// What was expected.
    pub expected: String,
    /// What was found.
    pub found: String,
}

/// More axes than this no tensor has.
const MAX_AXES: usize = 64;
/// Bytes that are gathered before they are handed on.
const BLOCK_BYTES: usize = 1 << 20;

impl TensorView {
    /// A view of `storage`.
    pub fn new(
        storage: Storage,
        element: Element,
        offset: u64,
        shape: Vec<u64>,
        strides: &[u64],
    ) -> Result<Self, Misfit> {
        let misfit = |expected: String, found: String| Misfit { expected, found };
        if shape.len() != strides.len() || shape.len() > MAX_AXES {
            return Err(misfit(
                format!("as many strides as axes, and at most {MAX_AXES}"),
                format!("{} axes and {} strides", shape.len(), strides.len()),
            ));
        }
        let axes: Vec<(u64, u64)> = shape.iter().copied().zip(strides.iter().copied()).collect();
        let whole = storage.n_bytes / element.n_bytes();
        let is_empty = shape.contains(&0);
        // One past the last element, or nothing where the arithmetic overflows.
        let reached = || {
            let last = axes.iter().try_fold(offset, |at, &(size, stride)| {
                at.checked_add(size.checked_sub(1)?.checked_mul(stride)?)
            });
            last?.checked_add(1)
        };
        let n = shape.iter().try_fold(1_u64, |n, &size| n.checked_mul(size));
        let n_bytes = n.and_then(|n| n.checked_mul(element.n_bytes()));
        if !is_empty && (n_bytes.is_none() || reached().is_none_or(|reached| reached > whole)) {
            return Err(misfit(
                format!("elements within a storage of {whole} {element}"),
                format!("shape {shape:?}, strides {strides:?}, offset {offset}"),
            ));
        }
        Ok(Self { storage, element, shape, offset, axes })
    }

    /// The whole of `storage`, row-major.
    pub fn contiguous(storage: Storage, element: Element, shape: Vec<u64>) -> Result<Self, Misfit> {
        let mut strides = vec![1_u64; shape.len()];
        for axis in (1..shape.len()).rev() {
            strides[axis - 1] = strides[axis].saturating_mul(shape[axis]);
        }
        Self::new(storage, element, 0, shape, &strides)
    }

    /// The same in the `file`th file, where files of several sources come together.
    pub(crate) fn in_file(self, file: usize) -> Self {
        Self { storage: Storage { file, ..self.storage }, ..self }
    }

    /// Its element type.
    pub fn element(&self) -> Element {
        self.element
    }

    /// Its shape.
    pub fn shape(&self) -> &[u64] {
        &self.shape
    }

    /// Where its storage lies.
    pub fn storage(&self) -> Storage {
        self.storage
    }

    /// How many elements it has.
    pub fn n_elements(&self) -> u64 {
        self.shape.iter().product()
    }

    /// How many bytes its elements take.
    pub fn n_bytes(&self) -> u64 {
        self.n_elements() * self.element.n_bytes()
    }

    /// `n` equal parts along the first axis, or `None` where it cannot be cut so.
    pub fn split_rows(&self, n: u64) -> Option<Vec<Self>> {
        let rows = self.whole_first_axis().filter(|rows| n > 0 && rows % n == 0)? / n;
        let part = |k: u64| {
            let mut part = self.clone();
            part.shape[0] = rows;
            part.axes[0].0 = rows;
            part.offset += if self.n_elements() == 0 { 0 } else { k * rows * self.axes[0].1 };
            part
        };
        Some((0..n).map(part).collect())
    }

    /// The same with the rows of each of `n_heads` heads put from pairs `(0, 1), (2, 3), ...` into halves: row `2i` of a
    /// head becomes its row `i`, row `2i + 1` its row `i + half`. `None` where the first axis cannot be cut so.
    pub fn unpair_rows(&self, n_heads: u64) -> Option<Self> {
        let rows = self.whole_first_axis().filter(|rows| n_heads > 0 && rows % (2 * n_heads) == 0)?;
        let (per_head, stride) = (rows / n_heads, self.axes[0].1);
        let head = (n_heads, per_head.saturating_mul(stride));
        let cut = [head, (2, stride), (per_head / 2, stride.saturating_mul(2))];
        let axes = cut.into_iter().chain(self.axes[1..].iter().copied()).collect();
        Some(Self { axes, ..self.clone() })
    }

    /// The length of the first axis while it is still one.
    fn whole_first_axis(&self) -> Option<u64> {
        let first = *self.shape.first()?;
        (self.axes.len() == self.shape.len()).then_some(first)
    }

    /// Hands the elements, row-major and as little-endian bytes, to `sink` in blocks of whole elements. `file` is the
    /// file that holds the storage.
    ///
    /// # Panics
    /// If `file` is not the file that the view was made for.
    pub fn read(&self, file: &[u8], sink: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        if self.n_elements() == 0 {
            return Ok(());
        }
        let Storage { start, n_bytes, .. } = self.storage;
        let index = |at: u64| usize::try_from(at).expect("what is mapped can be indexed");
        let storage = &file[index(start)..][..index(n_bytes)];
        let width = index(self.element.n_bytes());
        let (outer, run) = self.runs();
        let run = index(run) * width;
        let mut block: Vec<u8> = Vec::new();
        let mut counter = vec![0_u64; outer.len()];
        let mut at = self.offset;
        loop {
            let bytes = &storage[index(at) * width..][..run];
            if run >= BLOCK_BYTES || outer.is_empty() {
                bytes.chunks(BLOCK_BYTES).try_for_each(&mut *sink)?;
            } else {
                block.extend_from_slice(bytes);
                if block.len() >= BLOCK_BYTES {
                    sink(&block)?;
                    block.clear();
                }
            }
            // The next index, as an odometer.
            let mut axis = outer.len();
            loop {
                let Some(next) = axis.checked_sub(1) else {
                    return if block.is_empty() { Ok(()) } else { sink(&block) };
                };
                axis = next;
                let (size, stride) = outer[axis];
                counter[axis] += 1;
                at += stride;
                if counter[axis] < size {
                    break;
                }
                at -= stride * size;
                counter[axis] = 0;
            }
        }
    }

    /// The axes that are walked, and how many elements are in one piece at each step.
    fn runs(&self) -> (Vec<(u64, u64)>, u64) {
        let mut outer: Vec<(u64, u64)> = self.axes.iter().copied().filter(|axis| axis.0 != 1).collect();
        let mut run = 1;
        while let Some(&(size, stride)) = outer.last() {
            if stride != run {
                break;
            }
            run *= size;
            outer.pop();
        }
        (outer, run)
    }
}

/// Casts floats of one element to floats of another, little-endian, to the nearest and ties to even.
///
/// # Panics
/// If one of them is no float.
pub(crate) fn cast(from: Element, to: Element, bytes: &[u8], out: &mut Vec<u8>) {
    use half::{bf16, f16};
    assert!(from.is_float() && to.is_float(), "{from} is not cast to {to}");
    fn each<const N: usize>(bytes: &[u8], mut take: impl FnMut([u8; N])) {
        bytes.chunks_exact(N).for_each(|value| take(value.try_into().expect("chunks have N bytes")));
    }
    let mut put = |value: f64| match to {
        // As PyTorch does: a double goes through a float.
        Element::F16 => out.extend(f16::from_f32(value as f32).to_le_bytes()),
        Element::Bf16 => out.extend(bf16::from_f32(value as f32).to_le_bytes()),
        Element::F32 => out.extend((value as f32).to_le_bytes()),
        _ => out.extend(value.to_le_bytes()),
    };
    match from {
        Element::F16 => each(bytes, |value| put(f16::from_le_bytes(value).to_f64())),
        Element::Bf16 => each(bytes, |value| put(bf16::from_le_bytes(value).to_f64())),
        Element::F32 => each(bytes, |value| put(f64::from(f32::from_le_bytes(value)))),
        _ => each(bytes, |value| put(f64::from_le_bytes(value))),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    const STORAGE: Storage = Storage { file: 0, start: 2, n_bytes: 12 };
    const FILE: [u8; 14] = [99, 98, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11];

    fn bytes(view: &TensorView) -> Vec<u8> {
        let mut all = Vec::new();
        view.read(&FILE, &mut |block| {
            all.extend_from_slice(block);
            Ok(())
        })
        .unwrap();
        all
    }

    fn view(offset: u64, shape: &[u64], strides: &[u64]) -> Result<TensorView, Misfit> {
        TensorView::new(STORAGE, Element::U8, offset, shape.to_vec(), strides)
    }

    #[test]
    fn views_read_what_their_strides_say() {
        type Case<'c> = (u64, &'c [u64], &'c [u64], &'c [u8]);
        let cases: [Case<'_>; 7] = [
            (0, &[3, 4], &[4, 1], &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]),
            (0, &[4, 3], &[1, 4], &[0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11]),
            (5, &[2, 2], &[4, 1], &[5, 6, 9, 10]),
            (3, &[3], &[0], &[3, 3, 3]),
            (11, &[], &[], &[11]),
            (0, &[0, 5], &[5, 1], &[]),
            (1, &[2, 1, 3], &[6, 40, 2], &[1, 3, 5, 7, 9, 11]),
        ];
        for (offset, shape, strides, expected) in cases {
            assert_eq!(bytes(&view(offset, shape, strides).unwrap()), expected, "{shape:?} {strides:?}");
        }
    }

    #[test]
    fn what_leaves_the_storage_is_refused_also_where_the_sum_overflows() {
        let big = u64::MAX;
        let cases: [(u64, &[u64], &[u64]); 7] = [
            (0, &[13], &[1]),
            (12, &[1], &[1]),
            (1, &[3, 4], &[4, 1]),
            (0, &[big, 2], &[big, 1]),
            (big, &[1], &[1]),
            (0, &[big, big], &[0, 0]),
            (0, &[2], &[1, 1]),
        ];
        for (offset, shape, strides) in cases {
            assert!(view(offset, shape, strides).is_err(), "{shape:?} {strides:?}");
        }
        assert!(view(0, &[0, big, big], &[1, 1, 1]).is_ok());
        let wide = Storage { n_bytes: 7, ..STORAGE };
        assert!(TensorView::contiguous(wide, Element::I32, vec![2]).is_err());
        assert!(TensorView::contiguous(wide, Element::I32, vec![1]).is_ok());
    }

    #[test]
    fn rows_split_and_pairs_become_halves_without_a_copy() {
        let whole = view(0, &[6, 2], &[2, 1]).unwrap();
        let parts = whole.split_rows(3).unwrap();
        let found: Vec<_> = parts.iter().map(bytes).collect();
        assert_eq!(found, [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]);
        assert_eq!(whole.split_rows(4), None);
        let column = view(0, &[12], &[1]).unwrap();
        let halves = column.unpair_rows(2).unwrap();
        assert_eq!((halves.shape(), bytes(&halves)), (&[12][..], vec![0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]));
        assert_eq!(column.unpair_rows(5), None);
        assert_eq!(halves.split_rows(2), None);
        let rows = view(0, &[4, 3], &[3, 1]).unwrap().unpair_rows(1).unwrap();
        assert_eq!(bytes(&rows), [0, 1, 2, 6, 7, 8, 3, 4, 5, 9, 10, 11]);
    }

    #[test]
    fn floats_are_cast_to_the_nearest_with_ties_to_even() {
        let to = |element, value: f32| {
            let mut out = Vec::new();
            cast(Element::F32, element, &value.to_le_bytes(), &mut out);
            out
        };
        assert_eq!(to(Element::Bf16, 1.0 + 2.0_f32.powi(-8)), 0x3f80_u16.to_le_bytes());
        assert_eq!(to(Element::Bf16, 1.0 + 3.0 * 2.0_f32.powi(-8)), 0x3f82_u16.to_le_bytes());
        assert_eq!(to(Element::F16, 65520.0), 0x7c00_u16.to_le_bytes());
        assert_eq!(to(Element::F16, 2.0_f32.powi(-25)), 0_u16.to_le_bytes());
        assert_eq!(to(Element::F64, -0.1), f64::from(-0.1_f32).to_le_bytes());
    }
}
