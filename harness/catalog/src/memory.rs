//! What a published model takes in memory with all it needs, before any activation, and which of its relatives take
//! less: what `plan` says beforehand, and an allocation that failed afterwards.

use crate::entry::{Entry, entry, targets};

/// Bytes of a model under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need {
    /// Of the weights: the model, its picture decoder, its text encoder, its head.
    pub weights: u64,
    /// Of keys and values at the end of an image, under guidance.
    pub keys_and_values: u64,
}

impl Need {
    /// Both.
    pub fn total(&self) -> u64 {
        self.weights + self.keys_and_values
    }

    /// The same with a third row of guidance.
    pub fn of_three_rows(self) -> Self {
        Self { keys_and_values: self.keys_and_values * 3 / 2, ..self }
    }

    /// The same for `n` images that are decoded together.
    pub fn of_batch(self, n: usize) -> Self {
        Self { keys_and_values: self.keys_and_values * n as u64, ..self }
    }
}

/// What the model `name` and all it needs take, with the head that `proposer` and its `weights` name, at `n_bytes` a
/// number; `None` where no entry says.
pub fn need(name: &str, head: Option<(&str, Option<&str>)>, n_bytes: u64) -> Option<Need> {
    let model = entry(name).ok()?;
    let head = head.and_then(|(proposer, weights)| model.head(proposer, weights));
    let head = head.map_or(Some(Vec::new()), |head| Some(entry(head).ok()?.with_needs()))?;
    let mut found = Need { weights: 0, keys_and_values: 0 };
    for part in model.with_needs().into_iter().chain(head) {
        let of_part = part.memory_bytes(n_bytes)?;
        let weights = part.memory?.n_parameters.get()? * n_bytes;
        found.weights += weights;
        found.keys_and_values += of_part - weights;
    }
    Some(found)
}

/// Models of the same family that take less, as [`need`] has it without a head; the largest first.
pub fn smaller_relatives(name: &str, n_bytes: u64) -> Vec<(&'static str, u64)> {
    let line = |name: &str| name.split('-').next().map(str::to_owned);
    let generates = |model: &Entry| model.memory.is_some_and(|memory| memory.n_streamed.is_some());
    let own = need(name, None, n_bytes).map_or(0, |own| own.total());
    let known = targets().map(|(other, _)| other).filter(|other| line(&other.name) == line(name));
    let mut found: Vec<(&str, u64)> = known
        .filter(|other| generates(other))
        .filter_map(|other| Some((other.name.as_str(), need(&other.name, None, n_bytes)?.total())))
        .filter(|&(_, bytes)| bytes < own)
        .collect();
    found.sort_by_key(|&(other, bytes)| (std::cmp::Reverse(bytes), other));
    found
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    #[test]
    fn a_need_counts_what_a_model_needs_and_its_head_in_the_dtype_asked_for() {
        let name = "llamagen-t2i-xl-512";
        let alone = entry(name).unwrap().memory_bytes(2).unwrap();
        let whole = need(name, None, 2).unwrap();
        // The text encoder is the larger part.
        assert!(alone + 2 * 1_223_527_424 < whole.total() && 422_000_000 <= whole.keys_and_values);
        let with_head = need(name, Some(("eagle1", None)), 2).unwrap();
        assert!(whole.weights < with_head.weights);
        let wide = need(name, None, 4).unwrap();
        assert_eq!((wide.weights, wide.keys_and_values), (2 * whole.weights, 2 * whole.keys_and_values));
        let three = whole.of_three_rows();
        assert_eq!((three.weights, 2 * three.keys_and_values), (whole.weights, 3 * whole.keys_and_values));
        let four = whole.of_batch(4);
        assert_eq!((four.weights, four.keys_and_values), (whole.weights, 4 * whole.keys_and_values));
        assert_eq!((need("tiny", None, 2), need("vgg16", None, 4)), (None, None));
    }

    #[test]
    fn relatives_are_models_of_the_family_that_take_less() {
        let of = |name| smaller_relatives(name, 2).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
        assert_eq!(of("janus-pro-7b"), ["janus-pro-1b"]);
        assert_eq!(of("janus-pro-1b"), Vec::<&str>::new());
        assert!(of("llamagen-t2i-xl-512").contains(&"llamagen-c2i-b-256"));
        assert_eq!(of("lumina-mgpt-7b-768"), ["lumina-mgpt-7b-512"]);
        let sizes: Vec<u64> = smaller_relatives("llamagen-t2i-xl-512", 2).iter().map(|&(_, n)| n).collect();
        assert!(sizes.is_sorted_by(|a, b| b <= a), "{sizes:?}");
    }
}
