//! JPEG by libjpeg-turbo's arithmetic (accurate integer DCT, fancy upsampling), as Pillow decodes it.
//!
//! libjpeg fills what is missing at the end of a file with grey and only warns. Here its reader refuses to go
//! past the end of the file, so data that end before the end marker are an error, as in Pillow. Data that are
//! damaged in the middle decode as libjpeg decodes them, also as in Pillow.

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
pub fn simd_jpeg() -> bool {
    cfg!(jpeg_simd)
}

/// The picture in a JPEG file.
pub(super) fn decode(bytes: &[u8]) -> Result<Image, DecodeError> {
    let ran_out = Cell::new(false);
    // libjpeg's fatal errors unwind out of its C frames; nothing of ours is half-changed by that.
    let decoded = catch_unwind(AssertUnwindSafe(|| decompress(Input { rest: bytes, ran_out: &ran_out })));
    let failure = match decoded {
        Ok(Ok(image)) => return Ok(image),
        Ok(Err(failure)) => failure,
        Err(panic) => Failure::Library(message(panic)),
    };
    Err(match failure {
        Failure::Known(error) => error,
        Failure::Library(_) if ran_out.get() => {
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

fn decompress(input: Input) -> Result<Image, Failure> {
    let header = Decompress::new_reader(input)?;
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
    let mut started = header.to_colorspace(space)?;
    let samples = started.read_scanlines::<u8>()?;
    // Reads on to the end marker.
    started.finish()?;
    if samples.len() != width * height * n_components {
        return Err(Failure::Library(format!("{} samples of {width}x{height} pixels", samples.len())));
    }
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

/// The bytes of the file, and whether more of them were asked for than there are.
struct Input<'a> {
    rest: &'a [u8],
    ran_out: &'a Cell<bool>,
}

impl BufRead for Input<'_> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.rest.is_empty() {
            self.ran_out.set(true);
            // Any other kind than `UnexpectedEof`, to which the wrapper answers with an end marker of its own.
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(self.rest)
    }

    fn consume(&mut self, n_bytes: usize) {
        self.rest = &self.rest[n_bytes..];
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.rest.read(buffer)
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
