//! Which input pixels make an output pixel, and with what weights, along one axis.

use super::filter::Filter;

/// The weights of one axis: output pixel `i` is the sum of `weights(i)` times the input pixels from
/// `first(i)` on.
pub(super) struct Coefficients<W> {
    // Invariant: `taps[i]` is the first input pixel and the range of `weights` of output pixel `i`; the input
    // pixels that it reaches exist.
    taps: Vec<(usize, std::ops::Range<usize>)>,
    weights: Vec<W>,
}

impl Coefficients<f64> {
    /// Pillow's weights for resizing `n_in` pixels to `n_out`, normalised to a sum of 1.
    ///
    /// The kernel is stretched by the scale when shrinking; what reaches over the border is cut off before the
    /// normalisation. `None` for the filter without kernel.
    pub(super) fn of_pil(filter: Filter, n_in: usize, n_out: usize) -> Option<Self> {
        let scale = n_in as f64 / n_out as f64;
        let stretch = scale.max(1.0);
        let support = filter.support()? * stretch;
        let inverse = 1.0 / stretch;
        let (mut taps, mut weights) = (Vec::with_capacity(n_out), Vec::new());
        for out_idx in 0..n_out {
            let centre = (out_idx as f64 + 0.5) * scale;
            // Conversions to an integer cut towards 0; negative values become 0, as they are clamped to.
            let first = (centre - support + 0.5) as usize;
            let end = ((centre + support + 0.5) as usize).min(n_in);
            let start = weights.len();
            let weight = |in_idx: usize| filter.weight((in_idx as f64 - centre + 0.5) * inverse);
            weights.extend((first..end).map(weight));
            let sum: f64 = weights[start..].iter().fold(0.0, |sum, weight| sum + weight);
            if sum != 0.0 {
                weights[start..].iter_mut().for_each(|weight| *weight /= sum);
            }
            taps.push((first, start..weights.len()));
        }
        Some(Self { taps, weights })
    }

    /// The weights of two neighbours each for resizing `n_in` pixels to `n_out`, the picture's edges staying where they
    /// are: however much it shrinks, an output pixel is made of the input pixels to both sides of its centre, of one
    /// where there is no second.
    pub(super) fn of_neighbours(n_in: usize, n_out: usize) -> Self {
        let scale = n_in as f64 / n_out as f64;
        let (mut taps, mut weights) = (Vec::with_capacity(n_out), Vec::new());
        for out_idx in 0..n_out {
            let centre = (scale * (out_idx as f64 + 0.5) - 0.5).max(0.0);
            let first = (centre as usize).min(n_in - 1);
            let start = weights.len();
            match first + 1 < n_in {
                true => {
                    let second = (centre - first as f64).clamp(0.0, 1.0);
                    weights.extend([1.0 - second, second]);
                }
                false => weights.push(1.0),
            }
            taps.push((first, start..weights.len()));
        }
        Self { taps, weights }
    }
}

impl<W: Copy> Coefficients<W> {
    /// The axis whose output pixels have these first input pixels and weights, in turn.
    pub(super) fn of_taps(taps: impl Iterator<Item = (usize, Vec<W>)>) -> Self {
        let mut axis = Self { taps: Vec::new(), weights: Vec::new() };
        for (first, weights) in taps {
            let start = axis.weights.len();
            axis.weights.extend(weights);
            axis.taps.push((first, start..axis.weights.len()));
        }
        axis
    }

    /// The same pixels with other weights.
    pub(super) fn map<V>(self, convert: impl Fn(W) -> V) -> Coefficients<V> {
        Coefficients { taps: self.taps, weights: self.weights.into_iter().map(convert).collect() }
    }

    /// First input pixel and weights of every output pixel in turn.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &[W])> {
        self.taps.iter().map(|(first, range)| (*first, &self.weights[range.clone()]))
    }

    /// All weights, output pixel by output pixel.
    pub(super) fn weights(&self) -> &[W] {
        &self.weights
    }

    /// Number of output pixels.
    pub(super) fn n_out(&self) -> usize {
        self.taps.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_sum_to_one_and_reach_existing_pixels_only() {
        for filter in [Filter::Box, Filter::Bilinear, Filter::Hamming, Filter::Bicubic, Filter::Lanczos] {
            for (n_in, n_out) in [(1, 1), (1, 7), (7, 1), (33, 299), (640, 299), (5, 5), (1000, 3)] {
                let axis = Coefficients::of_pil(filter, n_in, n_out).expect("these have kernels");
                assert_eq!(axis.n_out(), n_out);
                for (first, weights) in axis.iter() {
                    assert!(
                        !weights.is_empty() && first + weights.len() <= n_in,
                        "{filter:?} {n_in} {n_out}"
                    );
                    assert!((weights.iter().sum::<f64>() - 1.0).abs() < 1e-12, "{filter:?} {n_in} {n_out}");
                }
            }
        }
    }

    #[test]
    fn neighbours_lie_around_the_centre_and_end_with_the_picture() {
        let taps = |n_in, n_out| {
            let axis = Coefficients::of_neighbours(n_in, n_out);
            axis.iter().map(|(first, weights)| (first, weights.to_vec())).collect::<Vec<_>>()
        };
        // A shrink by 4 skips two of four pixels; at the borders of an enlarged picture there is one pixel to take.
        assert_eq!(taps(8, 2), [(1, vec![0.5, 0.5]), (5, vec![0.5, 0.5])]);
        assert_eq!(
            taps(2, 4),
            [(0, vec![1.0, 0.0]), (0, vec![0.75, 0.25]), (0, vec![0.25, 0.75]), (1, vec![1.0])]
        );
        assert_eq!(taps(1, 2), [(0, vec![1.0]), (0, vec![1.0])]);
    }

    #[test]
    fn halving_with_a_box_takes_the_mean_of_two() {
        let axis = Coefficients::of_pil(Filter::Box, 4, 2).expect("a box is a kernel");
        let taps: Vec<(usize, &[f64])> = axis.iter().collect();
        assert_eq!(taps, [(0, &[0.5, 0.5][..]), (2, &[0.5, 0.5][..])]);
    }
}
