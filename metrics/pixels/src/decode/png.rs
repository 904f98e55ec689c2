//! PNG as Pillow reads it: checksums count up to the first data chunk, 16 bits a channel keep their high byte,
//! 16-bit grey is clipped at 255 instead of scaled, transparency is dropped.
//!
//! The chunks are walked here, so that the decoder behind sees only those that make pixels and is as indifferent
//! to the others as Pillow. Two kinds of files that Pillow accepts are refused: those that end inside their image
//! data, and those whose image data end before the last row (Pillow leaves the rest black).

use std::io::Cursor;

use png::{BitDepth, ColorType, DecodeOptions, Decoder, DecodingError, Limits, Transformations};

use super::{MAX_PIXELS, check_size, grey_to_rgb};
use crate::error::DecodeError;
use crate::image::Image;

const FORMAT: &str = "PNG";
const N_SIGNATURE: usize = 8;

/// The picture in a PNG file; of an animated one, the default image.
pub(super) fn decode(bytes: &[u8]) -> Result<Image, DecodeError> {
    let essential = essential_chunks(bytes)?;
    let mut options = DecodeOptions::default();
    // Checksums of chunks were looked at where Pillow looks at them; the one of the pixels always counts.
    options.set_ignore_crc(true);
    options.set_ignore_adler32(false);
    let mut decoder = Decoder::new_with_options(Cursor::new(essential), options);
    decoder.set_limits(Limits { bytes: MAX_PIXELS as usize * 8 });
    decoder.set_transformations(Transformations::IDENTITY);
    let mut reader = decoder.read_info().map_err(explain)?;
    let n_bytes = reader.output_buffer_size().ok_or_else(|| corrupt("its size overflows"))?;
    let mut samples = vec![0; n_bytes];
    let frame = reader.next_frame(&mut samples).map_err(explain)?;
    samples.truncate(frame.buffer_size());
    let (width, height) = (frame.width as usize, frame.height as usize);
    let palette = reader.info().palette.as_deref().unwrap_or_default();
    let rgb = to_rgb(&samples, width, frame.line_size, frame.color_type, frame.bit_depth, palette);
    Ok(Image::new(width, height, rgb))
}

fn to_rgb(
    samples: &[u8],
    width: usize,
    line_size: usize,
    color: ColorType,
    depth: BitDepth,
    palette: &[u8],
) -> Vec<u8> {
    let n_bits = depth as usize;
    match (color, depth) {
        (ColorType::Grayscale, BitDepth::Sixteen) => {
            grey_to_rgb(samples.chunks_exact(2).map(|pair| if pair[0] == 0 { pair[1] } else { 255 }))
        }
        (ColorType::Grayscale, BitDepth::Eight) => grey_to_rgb(samples.iter().copied()),
        (ColorType::Grayscale, _) => {
            let white = (1 << n_bits) - 1;
            grey_to_rgb(unpacked(samples, width, line_size, n_bits).map(|value| 255 / white * value))
        }
        (ColorType::Indexed, _) => {
            // Indices beyond the palette are black.
            let colour = |index: u8| {
                let at = usize::from(index) * 3;
                palette.get(at..at + 3).map_or([0; 3], |rgb| [rgb[0], rgb[1], rgb[2]])
            };
            unpacked(samples, width, line_size, n_bits).flat_map(colour).collect()
        }
        (ColorType::Rgb, BitDepth::Eight) => samples.to_vec(),
        (ColorType::Rgb, _) => samples.iter().step_by(2).copied().collect(),
        (ColorType::GrayscaleAlpha, BitDepth::Eight) => grey_to_rgb(samples.iter().step_by(2).copied()),
        (ColorType::GrayscaleAlpha, _) => grey_to_rgb(samples.iter().step_by(4).copied()),
        (ColorType::Rgba, BitDepth::Eight) => {
            samples.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect()
        }
        (ColorType::Rgba, _) => {
            samples.chunks_exact(8).flat_map(|pixel| [pixel[0], pixel[2], pixel[4]]).collect()
        }
    }
}

/// Values of `n_bits` (1 to 8) each, packed from the high bit on; every line begins at a byte.
fn unpacked(samples: &[u8], width: usize, line_size: usize, n_bits: usize) -> impl Iterator<Item = u8> {
    let mask = ((1_u16 << n_bits) - 1) as u8;
    let value = move |line: &[u8], x: usize| {
        let bit = x * n_bits;
        (line[bit / 8] >> (8 - n_bits - bit % 8)) & mask
    };
    samples.chunks_exact(line_size).flat_map(move |line| (0..width).map(move |x| value(line, x)))
}

/// One chunk: its type, its data, its checksum as stored.
struct Chunk<'a> {
    kind: [u8; 4],
    data: &'a [u8],
    crc: Option<u32>,
}

/// Signature, header, palette, the first run of image data and an end: all that makes pixels.
fn essential_chunks(bytes: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut essential = Vec::with_capacity(bytes.len());
    essential.extend_from_slice(&bytes[..N_SIGNATURE]);
    let mut rest = &bytes[N_SIGNATURE..];
    let (mut has_header, mut has_data) = (false, false);
    while let Some(chunk) = next_chunk(&mut rest, has_data)? {
        match &chunk.kind {
            b"IDAT" if has_header => has_data = true,
            _ if has_data => return after_data(chunk, rest, essential),
            kind => {
                check_crc(&chunk)?;
                match kind {
                    b"IHDR" if !has_header => {
                        check_header(chunk.data)?;
                        has_header = true;
                    }
                    b"PLTE" if has_header => {}
                    b"IEND" => break,
                    _ => continue,
                }
            }
        }
        push(&mut essential, &chunk);
    }
    if !has_data {
        return Err(corrupt("there are no image data"));
    }
    push(&mut essential, &Chunk { kind: *b"IEND", data: &[], crc: None });
    Ok(essential)
}

/// The chunks after the image data only have to be whole; what is no chunk ends them, as the end of the file does.
fn after_data(first: Chunk, mut rest: &[u8], mut essential: Vec<u8>) -> Result<Vec<u8>, DecodeError> {
    let mut chunk = Some(first);
    while chunk.is_some_and(|chunk| chunk.kind != *b"IEND") {
        chunk = next_chunk(&mut rest, true)?;
    }
    push(&mut essential, &Chunk { kind: *b"IEND", data: &[], crc: None });
    Ok(essential)
}

/// The next chunk, or `None` where the file ends or, `leniently`, where no chunk begins.
fn next_chunk<'a>(rest: &mut &'a [u8], leniently: bool) -> Result<Option<Chunk<'a>>, DecodeError> {
    let Some((head, body)) = rest.split_at_checked(8) else {
        return Ok(None);
    };
    let n_data = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let kind = [head[4], head[5], head[6], head[7]];
    if !kind.iter().all(u8::is_ascii_alphanumeric) {
        return if leniently { Ok(None) } else { Err(corrupt("a chunk has no proper name")) };
    }
    let Some((data, tail)) = body.split_at_checked(n_data) else {
        if kind == *b"IEND" {
            return Ok(None);
        }
        let name = String::from_utf8_lossy(&kind).into_owned();
        let why = format!("its chunk {name} has {} of {n_data} bytes", body.len());
        return Err(DecodeError::Truncated { format: FORMAT, why });
    };
    let crc = tail.first_chunk::<4>().map(|crc| u32::from_be_bytes(*crc));
    *rest = tail.get(4..).unwrap_or_default();
    Ok(Some(Chunk { kind, data, crc }))
}

fn check_header(data: &[u8]) -> Result<(), DecodeError> {
    let side = |at: usize| data.get(at..at + 4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]));
    let (Some(width), Some(height)) = (side(0), side(4)) else {
        return Err(corrupt("its header is too short"));
    };
    check_size(FORMAT, u64::from(width), u64::from(height))
}

fn check_crc(chunk: &Chunk) -> Result<(), DecodeError> {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&chunk.kind);
    hasher.update(chunk.data);
    if chunk.crc == Some(hasher.finalize()) {
        return Ok(());
    }
    Err(corrupt(&format!("the checksum of its chunk {} is wrong", String::from_utf8_lossy(&chunk.kind))))
}

fn push(essential: &mut Vec<u8>, chunk: &Chunk) {
    let n_data = u32::try_from(chunk.data.len()).expect("the length was read from 32 bits");
    essential.extend_from_slice(&n_data.to_be_bytes());
    essential.extend_from_slice(&chunk.kind);
    essential.extend_from_slice(chunk.data);
    essential.extend_from_slice(&[0; 4]);
}

fn corrupt(why: &str) -> DecodeError {
    DecodeError::Corrupt { format: FORMAT, why: why.to_owned() }
}

fn explain(error: DecodingError) -> DecodeError {
    match error {
        DecodingError::IoError(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            DecodeError::Truncated { format: FORMAT, why: "its image data end early".to_owned() }
        }
        other => corrupt(&other.to_string()),
    }
}
