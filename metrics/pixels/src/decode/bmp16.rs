//! BMP of 16 bits a pixel. Pillow cuts off what a channel of 5 or 6 bits has behind the point on a scale to 255, where
//! other decoders round it.

use super::check_size;
use crate::error::DecodeError;
use crate::image::{Image, N_CHANNELS};

const FORMAT: &str = "BMP";
/// Size of the oldest header, whose sides have 16 bits.
const CORE_HEADER: u32 = 12;
/// Size of the header that masks follow; larger ones have them inside, at the same place.
const INFO_HEADER: u32 = 40;
const HEADERS: [u32; 7] = [CORE_HEADER, INFO_HEADER, 52, 56, 64, 108, 124];
/// The kind of compression that is none.
const PLAIN: u32 = 0;
/// The kind of compression that is masks.
const BIT_FIELDS: u32 = 3;
/// Where the first header ends.
const FILE_HEADER: usize = 14;

/// Bits of a channel: how far they are shifted, and the largest value of what is there.
type Channel = (u32, u32);

/// The picture, if `bytes` are a BMP of 16 bits a pixel. Fails on masks that Pillow does not read.
pub(super) fn decode(bytes: &[u8]) -> Result<Option<Image>, DecodeError> {
    let half = |at: usize| bytes.get(at..at + 2).map(|b| u32::from(u16::from_le_bytes([b[0], b[1]])));
    let word = |at: usize| bytes.get(at..at + 4).map(|b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    let Some(header) = word(FILE_HEADER).filter(|header| HEADERS.contains(header)) else { return Ok(None) };
    let is_core = header == CORE_HEADER;
    if half(if is_core { 24 } else { 28 }) != Some(16) {
        return Ok(None);
    }
    let cut = || truncated("its header is not whole".to_owned());
    let (width, height) = if is_core {
        (half(18).ok_or_else(cut)?, half(20).ok_or_else(cut)?)
    } else {
        (word(18).ok_or_else(cut)?, word(22).ok_or_else(cut)?)
    };
    // A negative height: the first row is the upper one.
    let from_top = !is_core && height >> 24 == 0xff;
    let height = if from_top { height.wrapping_neg() } else { height };
    check_size(FORMAT, width.into(), height.into())?;
    let compression = if is_core { PLAIN } else { word(30).ok_or_else(cut)? };
    let channels = channels(compression, [54, 58, 62].map(word))?;
    let n_masks = if header == INFO_HEADER && compression == BIT_FIELDS { 12 } else { 0 };
    let start = match word(10).ok_or_else(cut)? as usize {
        0 => FILE_HEADER + header as usize + n_masks,
        start => start,
    };
    let (width, height) = (width as usize, height as usize);
    let n_row = (2 * width).next_multiple_of(4);
    let data = bytes.get(start..).unwrap_or_default();
    // The last row may go without what fills it up.
    if data.len() < n_row * (height - 1) + 2 * width {
        return Err(truncated(format!("{} bytes for {width}x{height} pixels", data.len())));
    }
    let mut rgb = Vec::with_capacity(width * height * N_CHANNELS);
    for y in 0..height {
        let row = &data[n_row * if from_top { y } else { height - 1 - y }..][..2 * width];
        for pixel in row.chunks_exact(2) {
            let pixel = u32::from(u16::from_le_bytes([pixel[0], pixel[1]]));
            rgb.extend(channels.map(|(shift, largest)| ((pixel >> shift & largest) * 255 / largest) as u8));
        }
    }
    Ok(Some(Image::new(width, height, rgb)))
}

/// Red, green and blue.
fn channels(compression: u32, masks: [Option<u32>; 3]) -> Result<[Channel; N_CHANNELS], DecodeError> {
    let unsupported = |why| Err(DecodeError::Unsupported { format: FORMAT, why });
    match (compression, masks) {
        (PLAIN, _) | (BIT_FIELDS, [Some(0x7c00), Some(0x3e0), Some(0x1f)]) => {
            Ok([(10, 31), (5, 31), (0, 31)])
        }
        (BIT_FIELDS, [Some(0xf800), Some(0x7e0), Some(0x1f)]) => Ok([(11, 31), (5, 63), (0, 31)]),
        (BIT_FIELDS, masks) => {
            let shown = masks.map(|mask| mask.map_or("none".to_owned(), |mask| format!("{mask:#x}")));
            unsupported(format!("16 bits a pixel under the masks {}", shown.join(", ")))
        }
        _ => unsupported(format!("16 bits a pixel with compression {compression}")),
    }
}

fn truncated(why: String) -> DecodeError {
    DecodeError::Truncated { format: FORMAT, why }
}
