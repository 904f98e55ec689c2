//! `torch.nn.functional.interpolate(mode="bilinear")` of a picture of bytes on a CPU without `antialias`, bit by bit.
//!
//! torch takes no floats on the way: weights are 16-bit fixed point with as many bits behind the point as the largest
//! weight of an axis leaves room for, rows are resized before columns, and 8 bits remain in between. SJD's evaluation
//! squashes its pictures like this before it scores them.

use super::coefficients::Coefficients;
use super::fixed_point::FixedPoint;
use super::taps::{horizontal, vertical};
use crate::image::Image;

/// `image` resized to `width` x `height` pixels. A side that keeps its length is not filtered.
#[must_use]
pub fn bilinear(image: &Image, width: usize, height: usize) -> Image {
    let wide = match image.width() == width {
        true => image.rgb().to_vec(),
        false => match Fixed::of(image.width(), width) {
            Fixed::Whole(axis) => horizontal::<FixedPoint<14>>(image.rgb(), image.width(), &axis),
            Fixed::Parts(axis) => horizontal::<FixedPoint<15>>(image.rgb(), image.width(), &axis),
        },
    };
    let rgb = match image.height() == height {
        true => wide,
        false => match Fixed::of(image.height(), height) {
            Fixed::Whole(axis) => vertical::<FixedPoint<14>>(&wide, width, &axis),
            Fixed::Parts(axis) => vertical::<FixedPoint<15>>(&wide, width, &axis),
        },
    };
    Image::new(width, height, rgb)
}

/// The weights of an axis with the bits they leave for the fraction: the largest must stay below 2^15. It is at least a
/// half, as there are two, so the bits are 14 or 15.
enum Fixed {
    /// Some weight rounds to 1: 14 bits.
    Whole(Coefficients<i32>),
    /// All weights are less: 15 bits.
    Parts(Coefficients<i32>),
}

impl Fixed {
    fn of(n_in: usize, n_out: usize) -> Self {
        let axis = Coefficients::of_neighbours(n_in, n_out);
        let largest = axis.weights().iter().fold(0.0, |largest: f64, weight| largest.max(*weight));
        let fits = to_fixed(largest, 15) < 1 << 15;
        match fits {
            true => Self::Parts(axis.map(|weight| to_fixed(weight, 15))),
            false => Self::Whole(axis.map(|weight| to_fixed(weight, 14))),
        }
    }
}

/// The nearest fixed-point number, halves upwards; weights are not negative.
fn to_fixed(weight: f64, n_fraction_bits: u32) -> i32 {
    (weight * f64::from(1 << n_fraction_bits) + 0.5) as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(width: usize, height: usize) -> Image {
        let rgb = (0..width * height * 3).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
        Image::new(width, height, rgb)
    }

    #[test]
    fn the_own_size_changes_nothing() {
        assert_eq!(bilinear(&noise(13, 9), 13, 9), noise(13, 9));
    }

    #[test]
    fn one_colour_stays_that_colour_at_any_size() {
        for (width, height) in [(1, 1), (3, 50), (97, 2), (29, 31), (299, 299)] {
            let plain = Image::new(17, 23, [255, 0, 77].repeat(17 * 23));
            assert!(bilinear(&plain, width, height).rgb().chunks(3).all(|pixel| pixel == [255, 0, 77]));
        }
    }

    #[test]
    fn a_weight_of_one_costs_a_bit() {
        // Shrinking by an even number meets pixels half way, by an odd one it meets them.
        assert!(matches!(Fixed::of(8, 4), Fixed::Parts(_)));
        assert!(matches!(Fixed::of(9, 3), Fixed::Whole(_)));
    }
}
