//! `torch.nn.functional.interpolate(mode="bilinear")` of a float picture on a CPU, with and without `antialias`.
//!
//! Weights and sums are `f32` as there; torch contracts products and sums as its vector units like, so results
//! agree to a few units in the last place, not to the bit. Nothing here uses libtorch.

use super::coefficients::Coefficients;
use super::filter::Filter;
use super::taps::{Arithmetic, horizontal, vertical};
use crate::image::{FloatImage, N_CHANNELS};

/// `antialias=False`: four neighbours, however much the picture shrinks.
///
/// With `align_corners` the corner pixels' centres stay where they are, otherwise the picture's edges do.
#[must_use]
pub fn bilinear(image: &FloatImage, width: usize, height: usize, align_corners: bool) -> FloatImage {
    let columns = neighbours(image.width(), width, align_corners);
    let rows = neighbours(image.height(), height, align_corners);
    let n_row = image.width() * N_CHANNELS;
    let mut values = Vec::with_capacity(width * height * N_CHANNELS);
    for y in &rows {
        let upper = &image.values()[y.first * n_row..(y.first + 1) * n_row];
        let lower = &image.values()[y.second * n_row..(y.second + 1) * n_row];
        for x in &columns {
            for channel in 0..N_CHANNELS {
                let (left, right) = (x.first * N_CHANNELS + channel, x.second * N_CHANNELS + channel);
                let above = x.weight_first * upper[left] + x.weight_second * upper[right];
                let below = x.weight_first * lower[left] + x.weight_second * lower[right];
                values.push(y.weight_first * above + y.weight_second * below);
            }
        }
    }
    FloatImage::new(width, height, values)
}

/// `antialias=True` (`align_corners=False`): the triangle stretched by the scale, as Pillow's bilinear filter.
#[must_use]
pub fn bilinear_antialias(image: &FloatImage, width: usize, height: usize) -> FloatImage {
    let axis = |n_in, n_out| {
        let axis = Coefficients::of_pil(Filter::Bilinear, n_in, n_out).expect("the triangle is a kernel");
        axis.map(|weight| weight as f32)
    };
    let rows = horizontal::<SinglePrecision>(image.values(), image.width(), &axis(image.width(), width));
    let values = vertical::<SinglePrecision>(&rows, width, &axis(image.height(), height));
    FloatImage::new(width, height, values)
}

/// The two input pixels of an output pixel along one axis.
struct Neighbours {
    first: usize,
    second: usize,
    weight_first: f32,
    weight_second: f32,
}

fn neighbours(n_in: usize, n_out: usize, align_corners: bool) -> Vec<Neighbours> {
    let position = |out_idx: usize| {
        if align_corners {
            let scale = if n_out > 1 { (n_in - 1) as f32 / (n_out - 1) as f32 } else { 0.0 };
            scale * out_idx as f32
        } else {
            let scale = n_in as f32 / n_out as f32;
            (scale * (out_idx as f32 + 0.5) - 0.5).max(0.0)
        }
    };
    let around = |out_idx: usize| {
        let at = position(out_idx);
        let first = (at as usize).min(n_in - 1);
        let weight_second = (at - first as f32).clamp(0.0, 1.0);
        let second = (first + 1).min(n_in - 1);
        Neighbours { first, second, weight_first: 1.0 - weight_second, weight_second }
    };
    (0..n_out).map(around).collect()
}

/// Sums in `f32`.
pub(super) struct SinglePrecision;

impl Arithmetic for SinglePrecision {
    type In = f32;
    type Wide = f32;
    type Weight = f32;
    type Sum = f32;
    type Out = f32;

    const START: f32 = 0.0;

    fn widen(sample: f32) -> f32 {
        sample
    }

    fn add(sum: f32, sample: f32, weight: f32) -> f32 {
        sum + sample * weight
    }

    fn finish(sum: f32) -> f32 {
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(width: usize, height: usize) -> FloatImage {
        FloatImage::new(width, height, (0..width * height * 3).map(|i| i as f32).collect())
    }

    #[test]
    fn the_own_size_changes_nothing() {
        assert_eq!(bilinear(&ramp(5, 4), 5, 4, false), ramp(5, 4));
        assert_eq!(bilinear(&ramp(5, 4), 5, 4, true), ramp(5, 4));
        assert_eq!(bilinear_antialias(&ramp(5, 4), 5, 4), ramp(5, 4));
    }

    #[test]
    fn aligned_corners_keep_the_corner_pixels() {
        let (image, resized) = (ramp(5, 4), bilinear(&ramp(5, 4), 9, 11, true));
        assert_eq!(resized.values()[..3], image.values()[..3]);
        assert_eq!(resized.values()[9 * 11 * 3 - 3..], image.values()[5 * 4 * 3 - 3..]);
    }
}
