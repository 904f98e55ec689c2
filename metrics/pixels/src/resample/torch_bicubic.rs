//! `torch.nn.functional.interpolate(mode="bicubic", align_corners=False)` of a float picture on a CPU, with and without
//! `antialias`. Nothing is limited behind it: values overshoot at edges, as in torch.
//!
//! torchvision's `resize` of a float tensor is this function; from its version 0.17 on with `antialias` where nothing is
//! said, before without. The two are different kernels: `a = -0.75` over four neighbours, however much the picture shrinks,
//! and `a = -0.5` stretched by the scale.
//!
//! Weights are computed in `f32` in torch's order; its sums are contracted by its vector units, so results agree to a few
//! units in the last place.

use super::coefficients::Coefficients;
use super::taps::{horizontal, vertical};
use super::torch::SinglePrecision;
use crate::image::FloatImage;

/// `antialias=False`.
#[must_use]
pub fn plain(image: &FloatImage, width: usize, height: usize) -> FloatImage {
    resize(image, width, height, four_neighbours)
}

/// `antialias=True`.
#[must_use]
pub fn antialiased(image: &FloatImage, width: usize, height: usize) -> FloatImage {
    resize(image, width, height, stretched)
}

fn resize(
    image: &FloatImage,
    width: usize,
    height: usize,
    axis: fn(usize, usize) -> Coefficients<f32>,
) -> FloatImage {
    let rows = horizontal::<SinglePrecision>(image.values(), image.width(), &axis(image.width(), width));
    let values = vertical::<SinglePrecision>(&rows, width, &axis(image.height(), height));
    FloatImage::new(width, height, values)
}

/// Keys' cubic kernel with this `a`, at a distance of at most 1.
fn near(x: f32, a: f32) -> f32 {
    ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
}

/// The same at a distance of 1 to 2.
fn far(x: f32, a: f32) -> f32 {
    ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
}

/// Four pixels around each position; those beyond the border are the pixel at the border.
fn four_neighbours(n_in: usize, n_out: usize) -> Coefficients<f32> {
    const A: f32 = -0.75;
    let scale = n_in as f32 / n_out as f32;
    let tap = |out_idx: usize| {
        // Rounded once, as torch's compilers contract it: at a position of 600 pixels another rounding moves the weights by
        // more than all that follows.
        let position = scale.mul_add(out_idx as f32 + 0.5, -0.5);
        let floor = position.floor();
        let t = (position - floor).clamp(0.0, 1.0);
        let weights = [far(t + 1.0, A), near(t, A), near(1.0 - t, A), far(2.0 - t, A)];
        let inside = |at: i64| at.clamp(0, n_in as i64 - 1) as usize;
        let begin = floor as i64 - 1;
        let (first, last) = (inside(begin), inside(begin + 3));
        let mut merged = vec![0.0; last - first + 1];
        for (at, weight) in (begin..).zip(weights) {
            merged[inside(at) - first] += weight;
        }
        (first, merged)
    };
    Coefficients::of_taps((0..n_out).map(tap))
}

/// The kernel stretched by the scale where the picture shrinks, cut off at the border and normalised to a sum of 1.
fn stretched(n_in: usize, n_out: usize) -> Coefficients<f32> {
    const A: f32 = -0.5;
    let scale = n_in as f32 / n_out as f32;
    let stretch = scale.max(1.0);
    let (support, inverse) = (2.0 * stretch, 1.0 / stretch);
    let weight = |x: f32| match x.abs() {
        x if x < 1.0 => near(x, A),
        x if x < 2.0 => far(x, A),
        _ => 0.0,
    };
    let tap = |out_idx: usize| {
        let centre = scale * (out_idx as f32 + 0.5);
        // Conversions to an integer cut towards 0; negative values become 0, as they are clamped to.
        let first = (centre - support + 0.5) as usize;
        let end = ((centre + support + 0.5) as usize).min(n_in);
        let at = |in_idx: usize| weight((in_idx as f32 - centre + 0.5) * inverse);
        let mut weights: Vec<f32> = (first..end).map(at).collect();
        let sum = weights.iter().fold(0.0, |sum, weight| sum + weight);
        if sum != 0.0 {
            weights.iter_mut().for_each(|weight| *weight /= sum);
        }
        (first, weights)
    };
    Coefficients::of_taps((0..n_out).map(tap))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramp(width: usize, height: usize) -> FloatImage {
        FloatImage::new(width, height, (0..width * height * 3).map(|i| i as f32).collect())
    }

    #[test]
    fn the_own_size_changes_nothing() {
        assert_eq!(plain(&ramp(5, 4), 5, 4), ramp(5, 4));
        assert_eq!(antialiased(&ramp(5, 4), 5, 4), ramp(5, 4));
    }

    #[test]
    fn weights_sum_to_one_and_reach_existing_pixels_only() {
        for (n_in, n_out) in [(1, 1), (1, 7), (7, 1), (33, 224), (640, 224), (1000, 3)] {
            for axis in [four_neighbours(n_in, n_out), stretched(n_in, n_out)] {
                assert_eq!(axis.n_out(), n_out);
                for (first, weights) in axis.iter() {
                    assert!(!weights.is_empty() && first + weights.len() <= n_in, "{n_in} {n_out}");
                    assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{n_in} {n_out}");
                }
            }
        }
    }
}
