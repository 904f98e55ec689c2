//! Counts by bins of equal width.

/// Counts of values in `N` bins of equal width over a range.
pub(crate) struct Histogram<const N: usize> {
    range: [f64; 2],
    counts: [u64; N],
}

impl<const N: usize> Histogram<N> {
    pub(crate) fn new(range: [f64; 2]) -> Self {
        Self { range, counts: [0; N] }
    }

    /// Counts a value; the outer bins hold what is beyond the range.
    pub(crate) fn push(&mut self, value: f64) {
        self.counts[self.bin_of(value)] += 1;
    }

    /// Counts by bin.
    pub(crate) fn counts(&self) -> Vec<u64> {
        self.counts.to_vec()
    }

    /// All that was counted.
    pub(crate) fn n(&self) -> u64 {
        self.counts.iter().sum()
    }

    fn bin_of(&self, value: f64) -> usize {
        let [low, high] = self.range;
        let share = (value - low) / (high - low);
        ((share * N as f64).floor().max(0.0) as usize).min(N - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_of_one_width_and_hold_both_ends() {
        let bins = Histogram::<40>::new([-1.0, 1.0]);
        let values = [f64::NEG_INFINITY, -1.0, -0.951, -0.949, 0.0, 0.999, 1.0, f64::INFINITY];
        assert_eq!(values.map(|value| bins.bin_of(value)), [0, 0, 0, 1, 20, 39, 39, 39]);
    }
}
