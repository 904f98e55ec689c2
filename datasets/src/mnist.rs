//! MNIST in its original IDX format (LeCun, Cortes and Burges), plain or gzipped: 28x28 grey images and
//! their digits. A real reference set for models small enough to run anywhere.

use crate::error::{DatasetError, Place, Result};
use crate::read;
use std::path::Path;

/// Side of an image in pixels.
pub const SIDE: usize = 28;

/// Images and labels of one split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mnist {
    // Invariant: `pixels` holds `SIDE * SIDE` bytes a label, and labels are below 10.
    pixels: Vec<u8>,
    labels: Vec<u8>,
}

impl Mnist {
    /// Reads an image file and the label file of the same split.
    pub fn read(images: &Path, labels: &Path) -> Result<Self> {
        let pixels = read_idx(images, [0x0803, SIDE as u32, SIDE as u32])?;
        let digits = read_idx(labels, [0x0801])?;
        let n_images = pixels.len() / (SIDE * SIDE);
        if digits.len() != n_images || n_images == 0 {
            let expected = format!("as many labels as there are images ({n_images}), at least 1");
            let found = format!("{} labels", digits.len());
            return Err(DatasetError::malformed(labels, Place::Byte(4), expected, found));
        }
        if let Some(idx) = digits.iter().position(|label| *label > 9) {
            let place = Place::Item(format!("label {idx}"));
            return Err(DatasetError::malformed(labels, place, "a digit 0 to 9", digits[idx].to_string()));
        }
        Ok(Self { pixels, labels: digits })
    }

    /// Number of images, at least 1.
    pub fn n_images(&self) -> usize {
        self.labels.len()
    }

    /// All pixels, `[n_images, 28, 28]` row by row, 0 (background) to 255.
    pub fn pixels(&self) -> &[u8] {
        &self.pixels
    }

    /// The digits 0 to 9, `[n_images]`.
    pub fn labels(&self) -> &[u8] {
        &self.labels
    }

    /// Image `idx`, `[28, 28]` row by row. Panics when `idx` is not below [`Mnist::n_images`].
    pub fn image(&self, idx: usize) -> &[u8] {
        &self.pixels[idx * SIDE * SIDE..][..SIDE * SIDE]
    }
}

/// The data of an IDX file whose header is `magic`, a count, and then the given further sizes, all as
/// big-endian u32. `shape[0]` is the magic number.
fn read_idx<const N: usize>(path: &Path, shape: [u32; N]) -> Result<Vec<u8>> {
    let bytes = read::content(path)?.bytes;
    let n_header = 4 * (N + 1);
    if bytes.len() < n_header {
        let place = Place::Byte(bytes.len() as u64);
        return Err(DatasetError::malformed(path, place, format!("a header of {n_header} bytes"), "the end"));
    }
    let word =
        |idx: usize| bytes[4 * idx..4 * idx + 4].iter().fold(0u32, |word, b| word << 8 | u32::from(*b));
    let mut n_expected = u64::from(word(1));
    for (idx, expected) in shape.iter().enumerate() {
        let at = if idx == 0 { 0 } else { idx + 1 };
        if word(at) != *expected {
            let (what, place) = if idx == 0 { ("magic number", 0) } else { ("image side", 4 * at as u64) };
            let expected = format!("the {what} {expected}");
            return Err(DatasetError::malformed(path, Place::Byte(place), expected, word(at).to_string()));
        }
        if idx > 0 {
            n_expected *= u64::from(*expected);
        }
    }
    let n_found = (bytes.len() - n_header) as u64;
    if n_found != n_expected {
        let expected = format!("{n_expected} bytes of data after the header");
        let place = Place::Byte(n_header as u64);
        return Err(DatasetError::malformed(path, place, expected, format!("{n_found} bytes")));
    }
    Ok(bytes[n_header..].to_vec())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn idx(words: &[u32], data: &[u8]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).chain(data.iter().copied()).collect()
    }

    fn read(images: &[u8], labels: &[u8]) -> Result<Mnist> {
        let folder = tempfile::tempdir().unwrap();
        let [images_path, labels_path] = ["images", "labels"].map(|name| folder.path().join(name));
        std::fs::write(&images_path, images).unwrap();
        std::fs::write(&labels_path, labels).unwrap();
        Mnist::read(&images_path, &labels_path)
    }

    fn two_images() -> Vec<u8> {
        let pixels: Vec<u8> = (0..2 * SIDE * SIDE).map(|i| (i / (SIDE * SIDE)) as u8 + 7).collect();
        idx(&[0x0803, 2, 28, 28], &pixels)
    }

    #[test]
    fn images_and_labels_are_read_in_order() {
        let mnist = read(&two_images(), &idx(&[0x0801, 2], &[3, 9])).unwrap();
        assert_eq!((mnist.n_images(), mnist.labels()), (2, &[3, 9][..]));
        assert_eq!(mnist.image(1), [8; SIDE * SIDE]);
    }

    fn check_refused(images: &[u8], labels: &[u8], expected_in_message: &[&str]) {
        let message = read(images, labels).unwrap_err().to_string();
        for part in expected_in_message {
            assert!(message.contains(part), "`{part}` is not in `{message}`");
        }
    }

    #[test]
    fn anything_that_is_not_mnist_is_refused() {
        let labels = idx(&[0x0801, 2], &[3, 9]);
        let images = two_images();
        check_refused(&images[..images.len() - 1], &labels, &["1568 bytes of data", "1567 bytes"]);
        check_refused(&[images.as_slice(), b"x"].concat(), &labels, &["1569 bytes"]);
        check_refused(&labels, &images, &["byte 10", "a header of 16 bytes", "the end"]);
        check_refused(&idx(&[0x0803, 1, 32, 28], &[0; 896]), &labels, &["byte 8", "image side 28", "32"]);
        check_refused(&idx(&[0x0801, 2, 28, 28], &[]), &labels, &["magic number 2051", "2049"]);
        check_refused(&images, &idx(&[0x0801, 1], &[3]), &["(2)", "1 labels"]);
        check_refused(&images, &idx(&[0x0801, 2], &[3, 10]), &["label 1", "digit 0 to 9", "10"]);
        check_refused(&idx(&[0x0803, 0, 28, 28], &[]), &idx(&[0x0801, 0], &[]), &["at least 1", "0 labels"]);
        check_refused(&idx(&[0x0803, u32::MAX, 28, 28], &[0; 9]), &labels, &["3367254359280 bytes"]);
    }
}
