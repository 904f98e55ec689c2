//! GIF: the first frame in the colours of its palette, also where a pixel is transparent, as Pillow converts it.

use gif::{ColorOutput, DecodeOptions, DecodingError, MemoryLimit};

use super::{MAX_PIXELS, check_size};
use crate::error::DecodeError;
use crate::image::Image;

const FORMAT: &str = "GIF";

/// The first frame of a GIF file on its canvas. Outside the frame the canvas has the colour of the transparent
/// index, or that of index 0.
pub(super) fn decode(bytes: &[u8]) -> Result<Image, DecodeError> {
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    options.set_memory_limit(MemoryLimit::Bytes(
        std::num::NonZeroU64::new(MAX_PIXELS).expect("the limit is above 0"),
    ));
    let mut decoder = options.read_info(bytes).map_err(explain)?;
    let (width, height) = (usize::from(decoder.width()), usize::from(decoder.height()));
    check_size(FORMAT, width as u64, height as u64)?;
    let global = decoder.global_palette().map(<[u8]>::to_vec);
    let frame = decoder.read_next_frame().map_err(explain)?;
    let frame = frame.ok_or_else(|| corrupt("there is no frame in it".to_owned()))?;
    let palette = frame.palette.as_deref().or(global.as_deref());
    let palette = palette.ok_or_else(|| corrupt("it has no palette".to_owned()))?;
    let colour = |index: u8| {
        let at = usize::from(index) * 3;
        palette.get(at..at + 3).map_or([0; 3], |rgb| [rgb[0], rgb[1], rgb[2]])
    };
    let (left, top) = (usize::from(frame.left), usize::from(frame.top));
    // A row at a time, and only what the frame covers: a canvas is declared in four bytes and may be large.
    let mut rgb = colour(frame.transparent.unwrap_or(0)).repeat(width * height);
    let rows = frame.buffer.chunks(usize::from(frame.width).max(1)).zip(top..height);
    for (row, y) in rows {
        let visible = row.iter().take(width.saturating_sub(left));
        let canvas = rgb[3 * (y * width + left.min(width))..].chunks_exact_mut(3);
        canvas.zip(visible).for_each(|(pixel, &index)| pixel.copy_from_slice(&colour(index)));
    }
    Ok(Image::new(width, height, rgb))
}

fn corrupt(why: String) -> DecodeError {
    DecodeError::Corrupt { format: FORMAT, why }
}

fn explain(error: DecodingError) -> DecodeError {
    match error {
        DecodingError::Io(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => {
            DecodeError::Truncated { format: FORMAT, why: "a frame has too few bytes".to_owned() }
        }
        other => corrupt(other.to_string()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use std::borrow::Cow;

    use super::*;

    /// A canvas of 5 x 3 with a frame of 3 x 2; the colour of index `i` is `[i, i, i]`.
    fn picture(left: u16, top: u16, transparent: Option<u8>) -> Vec<u8> {
        let palette: Vec<u8> = (0..4).flat_map(|i| [i; 3]).collect();
        let mut bytes = Vec::new();
        let mut encoder = gif::Encoder::new(&mut bytes, 5, 3, &palette).unwrap();
        let buffer = Cow::Owned(vec![1, 2, 3, 3, 2, 1]);
        encoder
            .write_frame(&gif::Frame {
                width: 3,
                height: 2,
                left,
                top,
                transparent,
                buffer,
                ..gif::Frame::default()
            })
            .unwrap();
        drop(encoder);
        let image = decode(&bytes).unwrap();
        image.rgb().chunks(3).map(|rgb| rgb[0]).collect()
    }

    #[test]
    fn a_frame_lies_on_its_canvas_and_what_sticks_out_is_cut_off() {
        assert_eq!(picture(1, 1, None), [0, 0, 0, 0, 0, 0, 1, 2, 3, 0, 0, 3, 2, 1, 0]);
        assert_eq!(picture(0, 0, Some(3)), [1, 2, 3, 3, 3, 3, 2, 1, 3, 3, 3, 3, 3, 3, 3]);
        assert_eq!(picture(3, 2, None), [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(picture(6, 4, None), [0; 15]);
    }
}
