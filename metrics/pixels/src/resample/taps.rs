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
    /// A weight.
    type Weight: Copy;
    /// A sum under way.
    type Sum: Copy;
    /// A sample coming out.
    type Out: Copy;
    /// What a sum begins with.
    const START: Self::Sum;
    /// `sum + sample * weight`.
    fn add(sum: Self::Sum, sample: Self::In, weight: Self::Weight) -> Self::Sum;
    /// The sample that a whole sum is.
    fn finish(sum: Self::Sum) -> Self::Out;
}

/// Resizes each row of `samples`, rows of `width` pixels, to `axis.n_out()` pixels.
pub(super) fn horizontal<A: Arithmetic>(
    samples: &[A::In],
    width: usize,
    axis: &Coefficients<A::Weight>,
) -> Vec<A::Out> {
    let n_rows = samples.len() / (width * N_CHANNELS);
    let mut out = Vec::with_capacity(n_rows * axis.n_out() * N_CHANNELS);
    for row in samples.chunks_exact(width * N_CHANNELS) {
        for (first, weights) in axis.iter() {
            let pixels = &row[first * N_CHANNELS..(first + weights.len()) * N_CHANNELS];
            let mut sums = [A::START; N_CHANNELS];
            for (pixel, &weight) in pixels.chunks_exact(N_CHANNELS).zip(weights) {
                for (sum, &sample) in sums.iter_mut().zip(pixel) {
                    *sum = A::add(*sum, sample, weight);
                }
            }
            out.extend(sums.map(A::finish));
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
                *sum = A::add(*sum, sample, weight);
            }
        }
        out.extend(sums.iter().map(|&sum| A::finish(sum)));
    }
    out
}
