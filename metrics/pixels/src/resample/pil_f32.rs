//! `PIL.Image.resize` channel by channel in its float mode `F`: sums in `f64`, `f32` between the two passes, no
//! rounding to 8 bits. clean-fid's `clean` is this with [`Filter::Bicubic`], clipped to 0 to 255 afterwards.

use super::coefficients::Coefficients;
use super::filter::Filter;
use super::pass_order::PassOrder;
use super::taps::{Arithmetic, horizontal, vertical};
use crate::image::{FloatImage, Image};

/// `image` resized to `width` x `height` pixels, its passes in the order of `order`; values may leave 0 to 255 by the
/// overshoot of the filter. A side that keeps its length is not filtered.
#[must_use]
pub fn resize(image: &Image, width: usize, height: usize, filter: Filter, order: PassOrder) -> FloatImage {
    let (from, to) = ((image.width(), image.height()), (width, height));
    if from == to {
        return image.to_float();
    }
    let axes = (Coefficients::of_pil(filter, from.0, width), Coefficients::of_pil(filter, from.1, height));
    let (Some(across), Some(down)) = axes else {
        return super::pil_u8::resize(image, width, height, filter, order).to_float();
    };
    let values = match (from.0 == width, from.1 == height) {
        // The bytes themselves are as good as the floats that Pillow would make of them.
        (true, _) => vertical::<Sums<u8>>(image.rgb(), width, &down),
        (_, true) => horizontal::<Sums<u8>>(image.rgb(), from.0, &across),
        _ if order.is_vertical_first(from, to) => {
            let columns = vertical::<Sums<u8>>(image.rgb(), from.0, &down);
            horizontal::<Sums<f32>>(&columns, from.0, &across)
        }
        _ => {
            let rows = horizontal::<Sums<u8>>(image.rgb(), from.0, &across);
            vertical::<Sums<f32>>(&rows, width, &down)
        }
    };
    FloatImage::new(width, height, values)
}

/// Sums in `f64` over samples of type `T`.
struct Sums<T>(std::marker::PhantomData<T>);

impl<T: Copy + Into<f64>> Arithmetic for Sums<T> {
    type In = T;
    type Wide = f64;
    type Weight = f64;
    type Sum = f64;
    type Out = f32;

    const START: f64 = 0.0;

    fn widen(sample: T) -> f64 {
        sample.into()
    }

    fn add(sum: f64, sample: f64, weight: f64) -> f64 {
        sum + sample * weight
    }

    fn finish(sum: f64) -> f32 {
        sum as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_size_changes_nothing() {
        let image = Image::new(2, 2, (0..12).collect());
        assert_eq!(resize(&image, 2, 2, Filter::Bicubic, PassOrder::Pillow12), image.to_float());
    }

    #[test]
    fn a_sharp_edge_overshoots_and_is_not_clipped_here() {
        let image = Image::new(4, 1, vec![0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255]);
        let resized = resize(&image, 16, 1, Filter::Bicubic, PassOrder::Pillow12);
        let (low, high) =
            resized.values().iter().fold((0.0_f32, 0.0_f32), |(low, high), v| (low.min(*v), high.max(*v)));
        assert!(low < 0.0 && high > 255.0, "{low} {high}");
    }
}
