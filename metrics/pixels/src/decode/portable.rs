//! WebP and BMP by the `image` crate: formats in which decoders do not differ, but for BMP of 16 bits ([`bmp16`]).

use std::io::Cursor;

use image::codecs::{bmp::BmpDecoder, webp::WebPDecoder};
use image::error::{ImageError, ImageResult};
use image::{DynamicImage, ImageDecoder};

use super::{bmp16, check_size, grey_to_rgb};
use crate::error::DecodeError;
use crate::image::Image;

/// The picture in a WebP file; of an animation, the first frame.
pub(super) fn webp(bytes: &[u8]) -> Result<Image, DecodeError> {
    read("WebP", WebPDecoder::new(Cursor::new(bytes)))
}

/// The picture in a BMP file.
pub(super) fn bmp(bytes: &[u8]) -> Result<Image, DecodeError> {
    match bmp16::decode(bytes)? {
        Some(picture) => Ok(picture),
        None => read("BMP", BmpDecoder::new(Cursor::new(bytes))),
    }
}

fn read(format: &'static str, decoder: ImageResult<impl ImageDecoder>) -> Result<Image, DecodeError> {
    let decoder = decoder.map_err(|e| explain(format, &e))?;
    let (width, height) = decoder.dimensions();
    check_size(format, u64::from(width), u64::from(height))?;
    let picture = DynamicImage::from_decoder(decoder).map_err(|e| explain(format, &e))?;
    let rgb = match picture {
        DynamicImage::ImageRgb8(picture) => picture.into_raw(),
        DynamicImage::ImageRgba8(picture) => {
            picture.pixels().flat_map(|p| [p.0[0], p.0[1], p.0[2]]).collect()
        }
        DynamicImage::ImageLuma8(picture) => grey_to_rgb(picture.into_raw()),
        DynamicImage::ImageLumaA8(picture) => grey_to_rgb(picture.pixels().map(|p| p.0[0])),
        other => {
            let why = format!("{:?} pixels", other.color());
            return Err(DecodeError::Unsupported { format, why });
        }
    };
    Ok(Image::new(width as usize, height as usize, rgb))
}

fn explain(format: &'static str, error: &ImageError) -> DecodeError {
    let why = error.to_string();
    match error {
        ImageError::IoError(io) if io.kind() == std::io::ErrorKind::UnexpectedEof => {
            DecodeError::Truncated { format, why }
        }
        ImageError::Unsupported(_) => DecodeError::Unsupported { format, why },
        _ => DecodeError::Corrupt { format, why },
    }
}
