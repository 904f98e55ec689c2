//! Bilinear resizing as TensorFlow 1 did it and as torch-fidelity rebuilds it for the FID network: pixel `i` of
//! the output lies at `i * scale` of the input, without the half-pixel shift, and four neighbours count.

use crate::image::{FloatImage, N_CHANNELS};

/// `image` resized to `width` x `height` pixels, `align_corners=False`.
#[must_use]
pub fn bilinear(image: &FloatImage, width: usize, height: usize) -> FloatImage {
    let (columns, rows) = (positions(image.width(), width), positions(image.height(), height));
    let n_row = image.width() * N_CHANNELS;
    let mut values = Vec::with_capacity(width * height * N_CHANNELS);
    for y in &rows {
        let upper = &image.values()[y.lower * n_row..(y.lower + 1) * n_row];
        let lower = &image.values()[y.upper * n_row..(y.upper + 1) * n_row];
        for x in &columns {
            for channel in 0..N_CHANNELS {
                let (left, right) = (x.lower * N_CHANNELS + channel, x.upper * N_CHANNELS + channel);
                let above = upper[left] + (upper[right] - upper[left]) * x.fraction;
                let below = lower[left] + (lower[right] - lower[left]) * x.fraction;
                values.push(above + (below - above) * y.fraction);
            }
        }
    }
    FloatImage::new(width, height, values)
}

/// Where an output pixel lies between two input pixels along one axis.
struct Position {
    lower: usize,
    upper: usize,
    fraction: f32,
}

fn positions(n_in: usize, n_out: usize) -> Vec<Position> {
    let scale = (n_in as f64 / n_out as f64) as f32;
    let position = |out_idx: usize| {
        let at = out_idx as f32 * scale;
        let lower = (at as usize).min(n_in - 1);
        Position { lower, upper: (lower + 1).min(n_in - 1), fraction: at - at.floor() }
    };
    (0..n_out).map(position).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_size_changes_nothing() {
        let image = FloatImage::new(2, 2, (0..12).map(|i| i as f32).collect());
        assert_eq!(bilinear(&image, 2, 2), image);
    }

    #[test]
    fn doubling_repeats_the_last_pixel_instead_of_shifting_by_half_a_pixel() {
        let image = FloatImage::new(2, 1, vec![0.0, 0.0, 0.0, 10.0, 10.0, 10.0]);
        let resized = bilinear(&image, 4, 1);
        let red: Vec<f32> = resized.values().iter().step_by(3).copied().collect();
        assert_eq!(red, [0.0, 5.0, 10.0, 10.0]);
    }
}
