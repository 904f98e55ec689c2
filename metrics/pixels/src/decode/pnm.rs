//! PBM, PGM and PPM, plain and binary, with up to 16 bits a sample, as Pillow's `PpmImagePlugin` reads them.
//!
//! Samples of a colour picture are scaled to 255. Those of a grey picture of more than 8 bits are scaled to 65,535 and
//! what is above 255 becomes 255, which is what Pillow's `convert("RGB")` makes of its 32-bit grey.

use super::{check_size, grey_to_rgb};
use crate::error::DecodeError;
use crate::image::{Image, N_CHANNELS};

const FORMAT: &str = "PNM";
/// Digits that a number may have, in the header and among the samples.
const MAX_DIGITS: usize = 10;
/// The largest sample that a file may declare.
const MAX_SAMPLE: u32 = 65_535;

/// The picture in a PBM, PGM or PPM file, plain or binary; bytes behind it do not count.
pub(super) fn decode(bytes: &[u8]) -> Result<Image, DecodeError> {
    let mut reader = Reader { rest: &bytes[2..] };
    if !reader.rest.first().is_none_or(|&byte| is_blank(byte)) {
        return Err(corrupt("blanks are missing behind its first two bytes"));
    }
    reader.rest = reader.rest.get(1..).unwrap_or_default();
    let kind = bytes[1];
    let (width, height) = (reader.header("width")?, reader.header("height")?);
    check_size(FORMAT, width.into(), height.into())?;
    let (width, height) = (width as usize, height as usize);
    let n_pixels = width * height;
    let rgb = match kind {
        b'1' => grey_to_rgb(reader.plain_bits(n_pixels)?),
        b'4' => grey_to_rgb(reader.bits(width, height)?),
        _ => {
            let largest = reader.header("largest sample")?;
            if !(1..=MAX_SAMPLE).contains(&largest) {
                return Err(corrupt(&format!("its largest sample is {largest}, expected 1 to {MAX_SAMPLE}")));
            }
            let is_grey = matches!(kind, b'2' | b'5');
            let scale = Scale { largest, is_wide: is_grey && largest > 255 };
            let n_samples = if is_grey { n_pixels } else { n_pixels * N_CHANNELS };
            let samples = match kind {
                b'2' | b'3' => reader.plain_samples(n_samples, scale)?,
                _ => reader.samples(n_samples, scale)?,
            };
            if is_grey { grey_to_rgb(samples) } else { samples }
        }
    };
    Ok(Image::new(width, height, rgb))
}

/// How a sample becomes a byte.
#[derive(Clone, Copy)]
struct Scale {
    largest: u32,
    /// Whether bytes are what is left of 16 bits, cut off at 255.
    is_wide: bool,
}

impl Scale {
    fn byte(self, sample: u32) -> u8 {
        let top = if self.is_wide { f64::from(MAX_SAMPLE) } else { 255.0 };
        // A cast saturates at 255.
        (f64::from(sample) / f64::from(self.largest) * top).round_ties_even() as u8
    }
}

struct Reader<'a> {
    rest: &'a [u8],
}

impl Reader<'_> {
    fn next(&mut self) -> Option<u8> {
        let (&first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(first)
    }

    fn skip_comment(&mut self) {
        while self.next().is_some_and(|byte| !matches!(byte, b'\r' | b'\n')) {}
    }

    /// A number of the header, and the blank behind it.
    fn header(&mut self, what: &str) -> Result<u32, DecodeError> {
        let mut digits = Vec::new();
        while let Some(byte) = self.next() {
            match byte {
                b'#' => self.skip_comment(),
                _ if is_blank(byte) && digits.is_empty() => {}
                _ if is_blank(byte) => break,
                _ if digits.len() == MAX_DIGITS => return Err(corrupt(&format!("its {what} is too long"))),
                _ => digits.push(byte),
            }
        }
        if digits.is_empty() {
            return Err(truncated(&format!("its {what} is missing")));
        }
        number(&digits).ok_or_else(|| corrupt(&format!("its {what} is `{}`", digits.escape_ascii())))
    }

    /// The next number among plain samples; `None` at the end of the file.
    fn sample(&mut self) -> Result<Option<u32>, DecodeError> {
        let mut digits = Vec::new();
        while let Some(byte) = self.next() {
            match byte {
                b'#' => self.skip_comment(),
                _ if is_blank(byte) && digits.is_empty() => {}
                _ if is_blank(byte) => break,
                _ if digits.len() == MAX_DIGITS => return Err(corrupt("a sample is too long")),
                _ => digits.push(byte),
            }
        }
        if digits.is_empty() {
            return Ok(None);
        }
        let sample = number(&digits);
        sample.map(Some).ok_or_else(|| corrupt(&format!("a sample is `{}`", digits.escape_ascii())))
    }

    fn plain_samples(&mut self, n: usize, scale: Scale) -> Result<Vec<u8>, DecodeError> {
        // A sample takes two bytes, the last one of a file one.
        self.check_length(n, n.saturating_mul(2).saturating_sub(1))?;
        let mut samples = Vec::with_capacity(n);
        while samples.len() < n {
            match self.sample()? {
                Some(sample) if sample > scale.largest => {
                    let what = format!("a sample is {sample}, the largest is declared as {}", scale.largest);
                    return Err(corrupt(&what));
                }
                Some(sample) => samples.push(scale.byte(sample)),
                None => return Err(truncated(&format!("{} of {n} samples", samples.len()))),
            }
        }
        Ok(samples)
    }

    fn samples(&mut self, n: usize, scale: Scale) -> Result<Vec<u8>, DecodeError> {
        let n_bytes = if scale.largest > 255 { 2 } else { 1 };
        self.check_length(n, n.saturating_mul(n_bytes))?;
        let data = &self.rest[..n * n_bytes];
        if scale.largest == 255 {
            return Ok(data.to_vec());
        }
        let sample = |bytes: &[u8]| bytes.iter().fold(0, |sum, &byte| sum << 8 | u32::from(byte));
        Ok(data.chunks_exact(n_bytes).map(|bytes| scale.byte(sample(bytes))).collect())
    }

    /// One bit a pixel, rows of whole bytes; 1 is black.
    fn bits(&mut self, width: usize, height: usize) -> Result<Vec<u8>, DecodeError> {
        let n_row = width.div_ceil(8);
        self.check_length(width * height, n_row.saturating_mul(height))?;
        let rows = self.rest.chunks_exact(n_row).take(height);
        let bit = |row: &[u8], x: usize| row[x / 8] >> (7 - x % 8) & 1;
        Ok(rows.flat_map(|row| (0..width).map(move |x| shade(bit(row, x)))).collect())
    }

    /// One character a pixel, with or without blanks between.
    fn plain_bits(&mut self, n: usize) -> Result<Vec<u8>, DecodeError> {
        self.check_length(n, n)?;
        let mut samples = Vec::with_capacity(n);
        while samples.len() < n {
            match self.next() {
                Some(b'#') => self.skip_comment(),
                Some(byte @ (b'0' | b'1')) => samples.push(shade(byte - b'0')),
                Some(byte) if is_blank(byte) => {}
                Some(byte) => return Err(corrupt(&format!("a pixel is `{}`", byte.escape_ascii()))),
                None => return Err(truncated(&format!("{} of {n} pixels", samples.len()))),
            }
        }
        Ok(samples)
    }

    /// Refuses a file that cannot hold `n` samples before memory is taken for them.
    fn check_length(&self, n: usize, n_bytes: usize) -> Result<(), DecodeError> {
        if self.rest.len() < n_bytes {
            return Err(truncated(&format!("{} bytes for {n} samples", self.rest.len())));
        }
        Ok(())
    }
}

fn shade(bit: u8) -> u8 {
    if bit == 0 { 255 } else { 0 }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

fn number(digits: &[u8]) -> Option<u32> {
    let digits = std::str::from_utf8(digits).ok()?;
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

fn corrupt(why: &str) -> DecodeError {
    DecodeError::Corrupt { format: FORMAT, why: why.to_owned() }
}

fn truncated(why: &str) -> DecodeError {
    DecodeError::Truncated { format: FORMAT, why: why.to_owned() }
}
