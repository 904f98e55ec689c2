//! What the target hands to a draft head: a feature for every slot it has run, on the device, both guidance
//! rows, in the order of the slots; of the prefix only the last one unless the head asks for all.
//!
//! The cache is kept for the whole image, since a head may have to do with old features: after a skipped
//! verification and in staleness experiments (VVS, arXiv 2511.13587).

use tch::Tensor;

use crate::seam::transfers::upload_list;

/// Features of the slots run so far. The first is the last prefix slot's, or the very first where the whole prefix
/// was asked for.
#[derive(Default)]
pub struct FeatureTap {
    /// Layers whose inputs stand for the feature, side by side; empty: the feature after the final norm.
    layers: Vec<usize>,
    /// Each `[b, n, w]`, oldest first.
    given: Vec<Tensor>,
    /// Slots in `given` that no head has read.
    n_unread: i64,
    /// Whether the features of all prefix slots are wanted.
    whole_prefix: bool,
}

impl FeatureTap {
    /// Asks for the inputs of `layers` (0-based, ascending) in place of the feature after the final norm.
    ///
    /// # Panics
    /// If features were given already.
    pub fn ask_for(&mut self, layers: &[usize]) {
        assert!(self.given.is_empty(), "a head says what it reads before the prefill");
        self.layers = layers.to_vec();
    }

    /// Asks for the features of every slot of the prefix.
    ///
    /// # Panics
    /// If features were given already.
    pub fn ask_for_prefix(&mut self) {
        assert!(self.given.is_empty(), "a head says what it reads before the prefill");
        self.whole_prefix = true;
    }

    /// Takes in the features of the prefix, `[b, n, w]`: all of them, or the last.
    pub(crate) fn give_prefix(&mut self, features: &Tensor) {
        let n = features.size()[1];
        let wanted = if self.whole_prefix { n } else { 1 };
        self.give(features.narrow(1, n - wanted, wanted));
    }

    /// What was asked for.
    pub(crate) fn layers(&self) -> &[usize] {
        &self.layers
    }

    /// Takes in the features of slots that were run, `[b, n, w]`.
    pub(crate) fn give(&mut self, features: Tensor) {
        self.n_unread += features.size()[1];
        self.given.push(features);
    }

    /// Features given so far.
    pub(crate) fn n_given(&self) -> usize {
        self.given.iter().map(|features| features.size()[1] as usize).sum()
    }

    /// The newest `n` features, `[b, n, w]`, oldest first; all count as read afterwards.
    ///
    /// # Panics
    /// If fewer were given since the last reading: the target has run fewer slots than the head has tokens for.
    pub fn fresh(&mut self, n: usize) -> Tensor {
        let n = n as i64;
        assert!(n <= self.n_unread, "{n} tokens need features, and {} are fresh", self.n_unread);
        self.n_unread = 0;
        self.newest(n)
    }

    /// The features of these ages, `[b, ages.len(), w]` in their order; age 0 is the newest. All count as read
    /// afterwards.
    ///
    /// # Panics
    /// If there are none so old.
    pub fn aged(&mut self, ages: &[usize]) -> Tensor {
        self.n_unread = 0;
        let n = 1 + ages.iter().copied().max().expect("a head asks for at least one feature") as i64;
        let newest = self.newest(n);
        let index: Vec<i64> = ages.iter().map(|&age| n - 1 - age as i64).collect();
        newest.index_select(1, &upload_list(&index, newest.device()))
    }

    fn newest(&self, n: i64) -> Tensor {
        let (mut from, mut n_found) = (self.given.len(), 0);
        while n_found < n {
            from = from.checked_sub(1).expect("no feature is asked for from before the image");
            n_found += self.given[from].size()[1];
        }
        let found = match &self.given[from..] {
            [one] => one.shallow_clone(),
            several => Tensor::cat(several, 1),
        };
        if n_found == n { found } else { found.narrow(1, n_found - n, n) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Features `0, 1, 2, ...` in chunks of these sizes.
    fn tap(chunks: &[i64]) -> FeatureTap {
        let mut tap = FeatureTap::default();
        let mut from = 0;
        for &n in chunks {
            tap.give(
                Tensor::arange_start(from, from + n, (tch::Kind::Float, tch::Device::Cpu)).view([1, n, 1]),
            );
            from += n;
        }
        tap
    }

    fn values(features: &Tensor) -> Vec<f32> {
        Vec::try_from(features.reshape([-1])).expect("features are numbers")
    }

    #[test]
    fn the_newest_come_oldest_first_across_chunks() {
        assert_eq!(values(&tap(&[1, 3, 2]).fresh(4)), [2.0, 3.0, 4.0, 5.0]);
        assert_eq!(values(&tap(&[1, 3, 2]).fresh(2)), [4.0, 5.0]);
        assert_eq!(values(&tap(&[1]).fresh(1)), [0.0]);
    }

    #[test]
    fn ages_count_from_the_newest() {
        assert_eq!(values(&tap(&[1, 3, 2]).aged(&[5, 0, 0, 3])), [0.0, 5.0, 5.0, 2.0]);
        let mut read = tap(&[2, 2]);
        let _ = read.fresh(4);
        assert_eq!(values(&read.aged(&[1])), [2.0], "what was read stays");
    }

    #[test]
    #[should_panic(expected = "2 tokens need features, and 1 are fresh")]
    fn a_feature_is_fresh_once() {
        let mut tap = tap(&[3]);
        let _ = tap.fresh(3);
        tap.give(Tensor::zeros([1, 1, 1], (tch::Kind::Float, tch::Device::Cpu)));
        let _ = tap.fresh(2);
    }

    #[test]
    #[should_panic(expected = "from before the image")]
    fn nothing_is_older_than_the_image() {
        let _ = tap(&[1, 1]).aged(&[2]);
    }
}
