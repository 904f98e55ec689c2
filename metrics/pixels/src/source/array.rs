//! Pictures in a NumPy file: one array `[n, h, w, 3]` of bytes, C order, read a picture at a time.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::MAX_ENTRIES;
use crate::decode::MAX_PIXELS;
use crate::error::PixelError;
use crate::image::{Image, N_CHANNELS};

/// Bytes that a header may have; NumPy's own fit into a few hundred.
const MAX_HEADER_BYTES: usize = 1 << 16;

/// An opened array.
#[derive(Debug)]
pub(super) struct Array {
    // Invariant: the file holds `n` pictures of this size from `start` on, as far as its length was true.
    path: PathBuf,
    file: Mutex<File>,
    start: u64,
    n: usize,
    height: usize,
    width: usize,
}

impl Array {
    /// The array at `path`; fails unless its type, shape and length are those of pictures.
    pub(super) fn open(path: &Path) -> Result<Self, PixelError> {
        let io = |e| PixelError::io(path, e);
        let mut file = File::open(path).map_err(io)?;
        let n_file = file.metadata().map_err(io)?.len();
        let header = read_header(path, &mut file)?;
        let start = file.stream_position().map_err(io)?;
        let wrong = |expected: &str, found: &str| Err(PixelError::malformed(path, expected, found));
        match value_of(&header, "descr") {
            Some("'|u1'" | "'<u1'" | "'u1'") => {}
            other => return wrong("an array of bytes (|u1)", other.unwrap_or("no type")),
        }
        if value_of(&header, "fortran_order") != Some("False") {
            return wrong("C order", "Fortran order; save numpy.ascontiguousarray of it");
        }
        let shape = value_of(&header, "shape").unwrap_or_default();
        let sides: Option<Vec<usize>> = shape
            .trim_matches(['(', ')'])
            .split(',')
            .map(str::trim)
            .filter(|side| !side.is_empty())
            .map(|side| side.parse().ok())
            .collect();
        let Some(&[n, height, width, N_CHANNELS]) = sides.as_deref() else {
            return wrong("the shape (n, h, w, 3)", shape);
        };
        let n_pixels = (height as u64).saturating_mul(width as u64);
        if n_pixels == 0 || n_pixels > MAX_PIXELS {
            return wrong(&format!("pictures of 1 to {MAX_PIXELS} pixels"), shape);
        }
        if n > MAX_ENTRIES {
            return wrong(&format!("at most {MAX_ENTRIES} pictures"), shape);
        }
        let n_expected = n_pixels.saturating_mul(N_CHANNELS as u64).saturating_mul(n as u64);
        if n_file.saturating_sub(start) != n_expected {
            let found = format!("{} bytes", n_file.saturating_sub(start));
            return wrong(&format!("{n_expected} bytes behind the header for {shape}"), &found);
        }
        Ok(Self { path: path.to_path_buf(), file: Mutex::new(file), start, n, height, width })
    }

    /// The places of the pictures, with as many digits as the last one has: sorted by name they are in order.
    pub(super) fn keys(&self) -> Vec<String> {
        let n_digits = self.n.saturating_sub(1).to_string().len();
        (0..self.n).map(|idx| format!("{idx:0n_digits$}")).collect()
    }

    /// Picture `idx`.
    pub(super) fn read(&self, idx: usize) -> Result<Image, PixelError> {
        let n_bytes = self.height * self.width * N_CHANNELS;
        let mut rgb = vec![0; n_bytes];
        // A panic under the lock leaves no half-read state behind: every read begins with a seek.
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(self.start + idx as u64 * n_bytes as u64))
            .and_then(|_| file.read_exact(&mut rgb))
            .map_err(|e| PixelError::io(&self.path, e))?;
        Ok(Image::new(self.width, self.height, rgb))
    }
}

fn read_header(path: &Path, file: &mut File) -> Result<String, PixelError> {
    let no_array = || PixelError::malformed(path, "a .npy file of version 1 to 3", "something else");
    let mut exactly = |n_bytes: usize| {
        let mut bytes = vec![0; n_bytes];
        file.read_exact(&mut bytes).map(|()| bytes).map_err(|e| PixelError::io(path, e))
    };
    let magic = exactly(8)?;
    let n_length = match magic.as_slice() {
        [0x93, b'N', b'U', b'M', b'P', b'Y', 1, _] => 2,
        [0x93, b'N', b'U', b'M', b'P', b'Y', 2 | 3, _] => 4,
        _ => return Err(no_array()),
    };
    let length = exactly(n_length)?.iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
    if length > MAX_HEADER_BYTES {
        return Err(no_array());
    }
    String::from_utf8(exactly(length)?).map_err(|_| no_array())
}

/// The text of the value under `key` in the Python dictionary `header`.
fn value_of<'a>(header: &'a str, key: &str) -> Option<&'a str> {
    let rest = header.split_once(&format!("'{key}'"))?.1.trim_start().strip_prefix(':')?.trim_start();
    let end = if rest.starts_with('(') { rest.find(')')? + 1 } else { rest.find([',', '}'])? };
    Some(rest[..end].trim())
}
