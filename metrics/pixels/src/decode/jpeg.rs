//! JPEG by libjpeg-turbo's arithmetic (accurate integer DCT, fancy upsampling), as Pillow decodes it.
//!
//! libjpeg fills what is missing with grey and only warns. Here its reader refuses to go past the end of the file,
//! so data that end before the end marker are an error, as in Pillow. Stricter than Pillow, a sequential file whose
//! end marker comes while rows are still to be decoded is an error too. Data that are damaged in another way decode
//! as libjpeg decodes them, also as in Pillow.

use std::any::Any;
use std::cell::Cell;
use std::io::{self, BufRead, Read};
use std::panic::{AssertUnwindSafe, catch_unwind};

use mozjpeg::{ColorSpace, Decompress};

use super::{check_size, grey_to_rgb};
use crate::error::DecodeError;
use crate::image::Image;

const FORMAT: &str = "JPEG";

/// Whether the JPEG decoder was built with SIMD. On x86 it needs `nasm` when the program is built; without it
/// decoding gives the same pixels in about 1.8 times the time.
#[must_use]
pub fn simd_jpeg() -> bool {
    cfg!(jpeg_simd)
}

/// The picture in a JPEG file.
pub(super) fn decode(bytes: &[u8]) -> Result<Image, DecodeError> {
    let reached = Cell::new(Reached::Data);
    // libjpeg's fatal errors unwind out of its C frames; nothing of ours is half-changed by that.
    let decoded = catch_unwind(AssertUnwindSafe(|| decompress(bytes, &reached)));
    let failure = match decoded {
        Ok(Ok(image)) => return Ok(image),
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::Library(message(panic)),
    };
    Err(match failure {
        Failure::Known(error) => error,
        Failure::Library(_) if reached.get() == Reached::Beyond => {
            DecodeError::Truncated { format: FORMAT, why: "there is no end marker".to_owned() }
        }
        Failure::Library(why) => classify(why),
    })
}

enum Failure {
    Known(DecodeError),
    Library(String),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Library(error.to_string())
    }
}

fn decompress(bytes: &[u8], reached: &Cell<Reached>) -> Result<Image, Failure> {
    let header = Decompress::new_reader(Input::new(bytes, reached))?;
    let (width, height) = header.size();
    check_size(FORMAT, width as u64, height as u64).map_err(Failure::Known)?;
    let n_components = header.components().len();
    let space = match n_components {
        1 => ColorSpace::JCS_GRAYSCALE,
        3 => ColorSpace::JCS_RGB,
        4 => ColorSpace::JCS_CMYK,
        n => {
            let why = format!("{n} colour components");
            return Err(Failure::Known(DecodeError::Unsupported { format: FORMAT, why }));
        }
    };
    let mcu_height = 8 * header.components().iter().map(|c| c.v_samp_factor as usize).max().unwrap_or(1);
    let mut started = header.to_colorspace(space)?;
    // A file of several scans has been read to its end by now, and says nothing about rows.
    let is_sequential = reached.get() == Reached::Data && !is_arithmetic(bytes);
    let mut samples = vec![0; width * height * n_components];
    for (row_idx, row) in samples.chunks_exact_mut(width * n_components).enumerate() {
        started.read_scanlines_into(row)?;
        if is_sequential
            && reached.get() == Reached::EndMarker
            && is_early(row_idx, width, height, mcu_height)
        {
            let why = format!("the end marker comes at row {row_idx} of {height}");
            return Err(Failure::Known(DecodeError::Corrupt { format: FORMAT, why }));
        }
    }
    // Reads on to the end marker.
    started.finish()?;
    let rgb = match n_components {
        1 => grey_to_rgb(samples),
        3 => samples,
        _ => inverted_cmyk_to_rgb(&samples),
    };
    Ok(Image::new(width, height, rgb))
}

/// Pillow takes the inks of every four-component JPEG as inverted, the Adobe way, and multiplies them in 8 bits:
/// with `k` the stored black, a channel is `k - ink * k / 255`, the quotient rounded.
fn inverted_cmyk_to_rgb(samples: &[u8]) -> Vec<u8> {
    let pixel = |inks: &[u8]| {
        let black = u32::from(inks[3]);
        let channel = move |stored: u8| {
            let scaled = u32::from(255 - stored) * black + 128;
            (black - (((scaled >> 8) + scaled) >> 8).min(black)) as u8
        };
        [channel(inks[0]), channel(inks[1]), channel(inks[2])]
    };
    samples.chunks_exact(4).flat_map(pixel).collect()
}

/// Whether more is missing behind output row `row_idx` than the decoder can have in store.
///
/// When it asks for the end marker it has at most 64 bits in hand, and a block takes at least 2 of them; it decodes
/// up to two rows of MCUs ahead of its output. A file that is whole never answers yes.
fn is_early(row_idx: usize, width: usize, height: usize, mcu_height: usize) -> bool {
    let n_rows = height.saturating_sub(row_idx + 2 * mcu_height);
    (width / 8) * (n_rows / 8) > 32
}

/// Whether the frame is arithmetic-coded: such data may leave out their last bytes, so their end says nothing.
fn is_arithmetic(bytes: &[u8]) -> bool {
    let mut rest = bytes.get(2..).unwrap_or_default();
    while let [0xff, marker, high, low, ..] = *rest {
        match marker {
            0xc9..=0xcb | 0xcd..=0xcf => return true,
            0xda => return false,
            0xff => rest = &rest[1..],
            _ => rest = rest.get(2 + usize::from(u16::from_be_bytes([high, low]))..).unwrap_or_default(),
        }
    }
    // Bytes between segments are rare enough to do without the check.
    true
}

/// How far the decoder has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reached {
    /// Not beyond what precedes the last end marker.
    Data,
    /// It has asked for the end marker.
    EndMarker,
    /// It has asked for more bytes than there are.
    Beyond,
}

/// The bytes of the file in two portions, the second of which begins with the last end marker.
struct Input<'a> {
    portion: &'a [u8],
    next: &'a [u8],
    reached: &'a Cell<Reached>,
}

impl<'a> Input<'a> {
    fn new(bytes: &'a [u8], reached: &'a Cell<Reached>) -> Self {
        // No data of a picture contain these two bytes; behind the picture they may stand again.
        let end = bytes.windows(2).rposition(|pair| pair == [0xff, 0xd9]).unwrap_or(bytes.len());
        let (portion, next) = bytes.split_at(end);
        Self { portion, next, reached }
    }
}

impl BufRead for Input<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.portion.is_empty() {
            if self.next.is_empty() {
                self.reached.set(Reached::Beyond);
                // Any other kind than `UnexpectedEof`, to which the wrapper answers with an end marker of its own.
                return Err(io::ErrorKind::InvalidData.into());
            }
            self.reached.set(Reached::EndMarker);
            self.portion = std::mem::take(&mut self.next);
        }
        Ok(self.portion)
    }

    fn consume(&mut self, n_bytes: usize) {
        self.portion = &self.portion[n_bytes..];
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n_bytes = self.fill_buf()?.read(buffer)?;
        self.consume(n_bytes);
        Ok(n_bytes)
    }
}

fn message(panic: Box<dyn Any + Send>) -> String {
    let text = panic.downcast::<String>().map_or_else(|_| "the decoder failed".to_owned(), |text| *text);
    text.trim_start_matches("libjpeg fatal error: ").to_owned()
}

fn classify(why: String) -> DecodeError {
    let rare = ["precision", "Unsupported JPEG process", "SOF type"];
    if rare.iter().any(|part| why.contains(part)) {
        return DecodeError::Unsupported { format: FORMAT, why };
    }
    DecodeError::Corrupt { format: FORMAT, why }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_ink_is_white_and_full_black_is_black() {
        // Stored inverted: 255 is no ink.
        assert_eq!(inverted_cmyk_to_rgb(&[255, 255, 255, 255]), [255, 255, 255]);
        assert_eq!(inverted_cmyk_to_rgb(&[255, 255, 255, 0]), [0, 0, 0]);
        assert_eq!(inverted_cmyk_to_rgb(&[0, 255, 128, 255]), [0, 255, 128]);
        assert_eq!(inverted_cmyk_to_rgb(&[128, 64, 200, 100]), [50, 25, 78]);
    }
}
