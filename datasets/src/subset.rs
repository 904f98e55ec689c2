//! Smaller prompt sets that stay the same on every machine: the first `n`, or `n` chosen by a seed.
//!
//! A seeded subset takes the prompts with the lowest blake3 of (seed as 8 little-endian bytes, id), in file
//! order. The choice for an id does not depend on the other prompts or their order, so a smaller subset
//! is inside a larger one, and nothing changes when the file is sorted otherwise. A part cuts either by
//! positions, so that several runs can share one set without sharing a prompt.

use crate::error::Result;
use crate::prompt::PromptId;
use crate::prompt_set::PromptSet;
use serde::{Deserialize, Serialize};

/// A seeded choice of prompts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Subset {
    /// Number of prompts to keep, at least 1 and at most the size of the set.
    pub n: usize,
    /// Another seed is another choice.
    pub seed: u64,
}

/// The prompts that a seed chooses, in file order.
pub fn seeded(set: &PromptSet, subset: Subset) -> Result<PromptSet> {
    if subset.n == 0 || subset.n > set.n_prompts() {
        return Err(crate::error::bad_option(
            set.name(),
            "subset",
            format!("asks for {} prompts, expected 1 to {}", subset.n, set.n_prompts()),
        ));
    }
    let rank = |id: &PromptId| {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&subset.seed.to_le_bytes());
        hasher.update(id.as_str().as_bytes());
        *hasher.finalize().as_bytes()
    };
    let mut ranked: Vec<_> = set.prompts().iter().map(|p| rank(&p.id)).zip(0..).collect();
    ranked.sort_unstable();
    let mut positions: Vec<usize> = ranked.into_iter().take(subset.n).map(|(_, position)| position).collect();
    positions.sort_unstable();
    set.restricted_to(&positions)
}

/// The first `n` prompts in file order, or all of them when there are fewer: a limit is an upper bound, and results
/// record the number of prompts counted.
pub fn limit(set: &PromptSet, n: usize) -> Result<PromptSet> {
    if n == 0 {
        return Err(crate::error::bad_option(set.name(), "limit", "is 0, expected at least 1"));
    }
    let positions: Vec<usize> = (0..n.min(set.n_prompts())).collect();
    set.restricted_to(&positions)
}

/// The prompts at positions `from` to `to`, the latter excluded, counted from 0 in file order.
pub fn part(set: &PromptSet, [from, to]: [usize; 2]) -> Result<PromptSet> {
    if from >= to || to > set.n_prompts() {
        return Err(crate::error::bad_option(
            set.name(),
            "part",
            format!("asks for prompts {from} to {to}, expected a part of 0 to {}", set.n_prompts()),
        ));
    }
    let positions: Vec<usize> = (from..to).collect();
    set.restricted_to(&positions)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use crate::prompt::Prompt;

    fn numbered(ids: impl IntoIterator<Item = u64>) -> PromptSet {
        let prompts =
            ids.into_iter().map(|i| Prompt::new(PromptId::number(i), format!("text {i}"))).collect();
        PromptSet::new("numbered", prompts).unwrap()
    }

    fn ids(set: &PromptSet) -> Vec<String> {
        set.prompts().iter().map(|p| p.id.to_string()).collect()
    }

    #[test]
    fn a_smaller_subset_lies_inside_a_larger_one_in_file_order() {
        let set = numbered(0..200);
        let mut inner = Vec::new();
        for n in [1, 7, 64, 199, 200] {
            let outer = ids(&seeded(&set, Subset { n, seed: 5 }).unwrap());
            assert_eq!(outer.len(), n);
            assert!(outer.iter().is_sorted_by_key(|id| id.parse::<u64>().unwrap()));
            assert!(inner.iter().all(|id| outer.contains(id)));
            inner = outer;
        }
    }

    #[test]
    fn the_choice_depends_on_the_seed_and_not_on_the_order_of_the_file() {
        let forward = ids(&seeded(&numbered(0..100), Subset { n: 10, seed: 1 }).unwrap());
        let mut backward = ids(&seeded(&numbered((0..100).rev()), Subset { n: 10, seed: 1 }).unwrap());
        backward.reverse();
        assert_eq!(forward, backward);
        assert_ne!(forward, ids(&seeded(&numbered(0..100), Subset { n: 10, seed: 2 }).unwrap()));
    }

    #[test]
    fn the_choice_stays_what_it_was_when_first_published() {
        // From the definition, with a blake3 written in Python for this test.
        let chosen = |seed| ids(&seeded(&numbered(0..100), Subset { n: 5, seed }).unwrap());
        assert_eq!(chosen(3), ["3", "35", "49", "57", "58"]);
        assert_eq!(chosen(7), ["20", "29", "49", "70", "94"]);
    }

    #[test]
    fn a_limit_is_an_upper_bound_and_a_subset_is_exact() {
        let set = numbered([5, 3, 9]);
        assert_eq!(ids(&limit(&set, 2).unwrap()), ["5", "3"]);
        assert_eq!(limit(&set, 10).unwrap(), set);
        assert!(limit(&set, 0).is_err());
        assert!(seeded(&set, Subset { n: 0, seed: 0 }).is_err());
        let message = seeded(&set, Subset { n: 4, seed: 0 }).unwrap_err().to_string();
        assert!(message.contains("4 prompts, expected 1 to 3"), "{message}");
    }

    #[test]
    fn parts_that_lie_apart_share_no_prompt_and_none_is_cut_short() {
        let set = numbered(0..5);
        assert_eq!(ids(&part(&set, [0, 2]).unwrap()), ["0", "1"]);
        assert_eq!(ids(&part(&set, [2, 5]).unwrap()), ["2", "3", "4"]);
        for bad in [[2, 2], [3, 2], [4, 6]] {
            let message = part(&set, bad).unwrap_err().to_string();
            assert!(message.contains("expected a part of 0 to 5"), "{message}");
        }
    }

    #[test]
    fn a_part_of_a_set_has_a_digest_of_its_own() {
        let set = numbered(0..5);
        assert_ne!(limit(&set, 4).unwrap().digest(), set.digest());
        assert_eq!(limit(&set, 4).unwrap().digest(), numbered(0..4).digest());
    }
}
