//! From the bytes of a file to an RGB picture, with the outcome of Pillow's `Image.open(f).convert("RGB")`.
//!
//! The format is read off the first bytes, never off the name. EXIF rotation is not applied and alpha is dropped
//! without compositing, as there. Stricter than Pillow in one respect: data that end early are an error also
//! where Pillow would fill the rest with one colour (the modules `jpeg` and `png` say when).
//! JPEG decoding is based in part on the work of the Independent JPEG Group.

mod bmp16;
mod gif;
mod jpeg;
mod png;
mod pnm;
mod portable;

use crate::error::DecodeError;
use crate::image::Image;

pub use jpeg::simd_jpeg;

/// Pixels that a header may declare: beyond this number Pillow refuses a file as a decompression bomb (twice its
/// `MAX_IMAGE_PIXELS`).
pub(crate) const MAX_PIXELS: u64 = 178_956_970;

/// The picture in `bytes`, the whole content of a JPEG, PNG, WebP, GIF, BMP or PNM file; of an animation, the first
/// frame.
///
/// # Errors
/// An unknown or unsupported format, a damaged or truncated file, more pixels than the limit.
pub fn decode(bytes: &[u8]) -> Result<Image, DecodeError> {
    match bytes {
        [0xff, 0xd8, 0xff, ..] => jpeg::decode(bytes),
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => png::decode(bytes),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => gif::decode(bytes),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => portable::webp(bytes),
        [b'B', b'M', ..] => portable::bmp(bytes),
        [b'P', b'1'..=b'6', ..] => pnm::decode(bytes),
        _ => Err(DecodeError::UnknownFormat { found: beginning(bytes) }),
    }
}

/// Refuses a declared size of 0 or of more than [`MAX_PIXELS`].
fn check_size(format: &'static str, width: u64, height: u64) -> Result<(), DecodeError> {
    if width == 0 || height == 0 {
        return Err(DecodeError::Corrupt { format, why: format!("its size is {width}x{height}") });
    }
    if width.saturating_mul(height) > MAX_PIXELS {
        return Err(DecodeError::TooLarge { width, height, limit: MAX_PIXELS });
    }
    Ok(())
}

/// One value a pixel to three equal ones.
fn grey_to_rgb(grey: impl IntoIterator<Item = u8>) -> Vec<u8> {
    grey.into_iter().flat_map(|value| [value; 3]).collect()
}

fn beginning(bytes: &[u8]) -> String {
    match bytes {
        [] => "an empty file".to_owned(),
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => "a TIFF file".to_owned(),
        _ => {
            let first: Vec<String> = bytes.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
            format!("a file that begins with the bytes {}", first.join(" "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_format_begins_with_is_named() {
        let message = |bytes: &[u8]| decode(bytes).expect_err("these are no pictures").to_string();
        assert!(message(b"").contains("an empty file"));
        assert!(message(b"II*\0abc").contains("a TIFF file"));
        assert!(message(b"<html>").contains("3c 68 74 6d 6c 3e"));
        assert!(message(b"\xff\xd8").contains("ff d8"));
    }

    #[test]
    fn a_declared_size_decides_before_any_pixel_is_decoded() {
        assert!(check_size("PNG", 13_377, 13_377).is_ok());
        assert!(matches!(check_size("PNG", 13_378, 13_378), Err(DecodeError::TooLarge { .. })));
        assert!(matches!(check_size("PNG", u64::MAX, 2), Err(DecodeError::TooLarge { .. })));
        assert!(matches!(check_size("PNG", 0, 5), Err(DecodeError::Corrupt { .. })));
    }
}
