//! The two loops of a separable resize, over any number of arithmetic.
//!
//! Sums run over the taps in ascending order, one after the other, so that a float result is that of the plain
//! double loop; the vertical pass keeps a row of sums, which is the same sums side by side.

use super::coefficients::Coefficients;
use crate::image::N_CHANNELS;

/// The arithmetic of one pass: input samples times weights in an accumulator, which becomes an output sample.
pub(super) trait Arithmetic {
    /// A sample going in.
    type In: Copy;
    /// The same sample as it is multiplied.
    type Wide: Copy;
    /// A weight.
    type Weight: Copy;
    /// A sum under way.
    type Sum: Copy;
    /// A sample coming out.
    type Out: Copy;
    /// What a sum begins with.
    const START: Self::Sum;
    /// The sample as it is multiplied, exactly.
    fn widen(sample: Self::In) -> Self::Wide;
    /// `sum + sample * weight`.
    fn add(sum: Self::Sum, sample: Self::Wide, weight: Self::Weight) -> Self::Sum;
    /// The sample that a whole sum is.
    fn finish(sum: Self::Sum) -> Self::Out;
}

/// Rows that the horizontal pass works on side by side: their sums fill vector registers, and every sample is
/// widened once instead of once a tap.
const N_ROWS: usize = 4;

/// Resizes each row of `samples`, rows of `width` pixels, to `axis.n_out()` pixels.
pub(super) fn horizontal<A: Arithmetic>(
    samples: &[A::In],
    width: usize,
    axis: &Coefficients<A::Weight>,
) -> Vec<A::Out> {
    let (n_in, n_out) = (width * N_CHANNELS, axis.n_out() * N_CHANNELS);
    let n_rows = samples.len() / n_in;
    let filler = A::finish(A::START);
    let mut out = vec![filler; n_rows * n_out];
    // The samples of `N_ROWS` rows at one place lie together.
    let mut wide = vec![[A::widen(samples[0]); N_ROWS]; n_in];
    let bands = samples.chunks(n_in * N_ROWS).zip(out.chunks_mut(n_out * N_ROWS));
    for (band, out_band) in bands {
        // The last band may have fewer rows; what older rows leave behind in its place is not written out.
        for (row_idx, row) in band.chunks_exact(n_in).enumerate() {
            for (place, &sample) in wide.iter_mut().zip(row) {
                place[row_idx] = A::widen(sample);
            }
        }
        for (out_idx, (first, weights)) in axis.iter().enumerate() {
            let places = &wide[first * N_CHANNELS..(first + weights.len()) * N_CHANNELS];
            let mut sums = [[A::START; N_ROWS]; N_CHANNELS];
            for (pixel, &weight) in places.chunks_exact(N_CHANNELS).zip(weights) {
                for (channel_sums, channel) in sums.iter_mut().zip(pixel) {
                    for (sum, &sample) in channel_sums.iter_mut().zip(channel) {
                        *sum = A::add(*sum, sample, weight);
                    }
                }
            }
            for (row_idx, out_row) in out_band.chunks_exact_mut(n_out).enumerate() {
                let pixel = &mut out_row[out_idx * N_CHANNELS..(out_idx + 1) * N_CHANNELS];
                for (value, channel_sums) in pixel.iter_mut().zip(&sums) {
                    *value = A::finish(channel_sums[row_idx]);
                }
            }
        }
    }
    out
}

/// Resizes the columns of `samples`, rows of `width` pixels, to `axis.n_out()` rows.
pub(super) fn vertical<A: Arithmetic>(
    samples: &[A::In],
    width: usize,
    axis: &Coefficients<A::Weight>,
) -> Vec<A::Out> {
    let n_row = width * N_CHANNELS;
    let mut out = Vec::with_capacity(axis.n_out() * n_row);
    let mut sums = vec![A::START; n_row];
    for (first, weights) in axis.iter() {
        sums.fill(A::START);
        let rows = samples[first * n_row..(first + weights.len()) * n_row].chunks_exact(n_row);
        for (row, &weight) in rows.zip(weights) {
            for (sum, &sample) in sums.iter_mut().zip(row) {
                *sum = A::add(*sum, A::widen(sample), weight);
            }
        }
        out.extend(sums.iter().map(|&sum| A::finish(sum)));
    }
    out
}
