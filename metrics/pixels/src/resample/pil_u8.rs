//! `PIL.Image.resize` of an RGB picture, bit by bit: weights in 22-bit fixed point, 8 bits between the two passes.

use super::coefficients::Coefficients;
use super::filter::Filter;
use super::fixed_point::FixedPoint;
use super::pass_order::PassOrder;
use super::taps::{horizontal, vertical};
use crate::image::{Image, N_CHANNELS};

/// Bits behind the point: 32, less 8 of a sample, less 2 for the overshoot of the sharper kernels.
const N_FRACTION_BITS: u32 = 22;

/// `image` resized to `width` x `height` pixels, its passes in the order of `order`. A side that keeps its length is not
/// filtered.
#[must_use]
pub fn resize(image: &Image, width: usize, height: usize, filter: Filter, order: PassOrder) -> Image {
    type Fixed = FixedPoint<N_FRACTION_BITS>;
    let (from, to) = ((image.width(), image.height()), (width, height));
    if from == to {
        return image.clone();
    }
    let axis = |n_in, n_out| Coefficients::of_pil(filter, n_in, n_out).map(|axis| axis.map(to_fixed));
    let (Some(across), Some(down)) = (axis(from.0, width), axis(from.1, height)) else {
        return nearest(image, width, height);
    };
    let rgb = match (from.0 == width, from.1 == height) {
        (true, _) => vertical::<Fixed>(image.rgb(), width, &down),
        (_, true) => horizontal::<Fixed>(image.rgb(), from.0, &across),
        _ if order.is_vertical_first(from, to) => {
            let columns = vertical::<Fixed>(image.rgb(), from.0, &down);
            horizontal::<Fixed>(&columns, from.0, &across)
        }
        _ => {
            let rows = horizontal::<Fixed>(image.rgb(), from.0, &across);
            vertical::<Fixed>(&rows, width, &down)
        }
    };
    Image::new(width, height, rgb)
}

/// Pillow adds up the positions of the pixels, so its rounding errors are part of the result.
fn nearest(image: &Image, width: usize, height: usize) -> Image {
    let positions = |n_in: usize, n_out: usize| {
        let scale = n_in as f64 / n_out as f64;
        let positions = std::iter::successors(Some(scale * 0.5), move |at| Some(at + scale));
        positions.take(n_out).map(|at| (at as usize).min(n_in - 1)).collect::<Vec<_>>()
    };
    let (columns, rows) = (positions(image.width(), width), positions(image.height(), height));
    let n_row = image.width() * N_CHANNELS;
    let mut rgb = Vec::with_capacity(width * height * N_CHANNELS);
    for y in rows {
        let row = &image.rgb()[y * n_row..(y + 1) * n_row];
        for &x in &columns {
            rgb.extend_from_slice(&row[x * N_CHANNELS..(x + 1) * N_CHANNELS]);
        }
    }
    Image::new(width, height, rgb)
}

/// Half away from zero, as adding or subtracting a half and cutting does.
fn to_fixed(weight: f64) -> i32 {
    let scaled = weight * f64::from(1 << N_FRACTION_BITS);
    (scaled + 0.5_f64.copysign(weight)) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [Filter; 6] =
        [Filter::Nearest, Filter::Box, Filter::Bilinear, Filter::Hamming, Filter::Bicubic, Filter::Lanczos];

    fn noise(width: usize, height: usize) -> Image {
        let rgb = (0..width * height * 3).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        Image::new(width, height, rgb)
    }

    #[test]
    fn the_own_size_changes_nothing() {
        for filter in ALL {
            assert_eq!(resize(&noise(13, 9), 13, 9, filter, PassOrder::Pillow12), noise(13, 9));
        }
    }

    #[test]
    fn one_colour_stays_that_colour_at_any_size() {
        for filter in ALL {
            for (width, height) in [(1, 1), (3, 50), (97, 2), (29, 31)] {
                let plain = Image::new(17, 23, [255, 0, 77].repeat(17 * 23));
                let resized = resize(&plain, width, height, filter, PassOrder::Pillow13);
                assert!(resized.rgb().chunks(3).all(|pixel| pixel == [255, 0, 77]), "{filter:?}");
            }
        }
    }

    #[test]
    fn channels_do_not_mix() {
        for filter in ALL {
            let image = noise(21, 14);
            let swapped = image.rgb().chunks(3).flat_map(|p| [p[2], p[1], p[0]]).collect();
            let resized = resize(&image, 8, 33, filter, PassOrder::Pillow12);
            let resized_swapped = resize(&Image::new(21, 14, swapped), 8, 33, filter, PassOrder::Pillow12);
            let back: Vec<u8> = resized_swapped.rgb().chunks(3).flat_map(|p| [p[2], p[1], p[0]]).collect();
            assert_eq!(resized.rgb(), back, "{filter:?}");
        }
    }
}
