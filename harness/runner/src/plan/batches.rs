//! Which images of a block are decoded together, and in which lane each is. Both follow from the plan alone, so that an image
//! that is made again, alone or with others, has the lane that it had.

use std::collections::BTreeMap;

use specimen_record::{Batch, Block, ItemKey};

/// Images of one cell that are decoded together; mostly one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Together<T> {
    /// Lanes: images that have room.
    pub(crate) n_lanes: usize,
    /// Its place among the batches of its cell in the block.
    pub(crate) index: u32,
    /// The images, by rising lane; at least one.
    pub(crate) images: Vec<(usize, T)>,
}

impl<T> Together<T> {
    /// What the times of `n` of its images say of their batch; nothing where images are decoded one by one.
    pub(crate) fn shared_by(&self, n: usize) -> Option<Batch> {
        // A batch has at most as many images as a spec allows.
        (self.n_lanes > 1).then_some(Batch { index: self.index, size: n as u32 })
    }
}

/// The batches of `block`, in the order in which it runs. `n_lanes` is that of a cell; `wanted` says what an item is made for,
/// and `None` of one that is left out.
pub(crate) fn batches<T>(
    block: &Block,
    n_lanes: impl Fn(&str) -> usize,
    wanted: impl Fn(&ItemKey) -> Option<T>,
) -> Vec<Together<T>> {
    let mut n_seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut found: Vec<(String, Together<T>)> = Vec::new();
    for key in &block.items {
        let cell = key.cell();
        let lanes = n_lanes(&cell);
        let at = n_seen.entry(cell.clone()).or_default();
        let (index, lane) = ((*at / lanes) as u32, *at % lanes);
        *at += 1;
        let Some(item) = wanted(key) else { continue };
        match found.last_mut() {
            Some((last, batch)) if *last == cell && batch.index == index => batch.images.push((lane, item)),
            _ => found.push((cell, Together { n_lanes: lanes, index, images: vec![(lane, item)] })),
        }
    }
    found.into_iter().map(|(_, batch)| batch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(items: &[(&str, &str)]) -> Block {
        let items = items.iter().map(|(cell, prompt)| ItemKey::new(cell, prompt, 0)).collect();
        Block { index: 0, items }
    }

    /// Prompts with their lanes, by batch.
    fn shown(batches: &[Together<String>]) -> Vec<String> {
        let image = |(lane, prompt): &(usize, String)| format!("{prompt}@{lane}");
        let one = |batch: &Together<String>| {
            let images: Vec<String> = batch.images.iter().map(image).collect();
            format!("{} of {}: {}", batch.index, batch.n_lanes, images.join(" "))
        };
        batches.iter().map(one).collect()
    }

    #[test]
    fn a_lane_does_not_depend_on_what_is_left_to_do() {
        let block = block(&[("sd", "a"), ("sd", "b"), ("ar", "a"), ("ar", "b"), ("ar", "c"), ("sd", "c")]);
        let all = |key: &ItemKey| Some(key.prompt_id());
        let expected = ["0 of 2: a@0 b@1", "0 of 2: a@0 b@1", "1 of 2: c@0", "1 of 2: c@0"];
        assert_eq!(shown(&batches(&block, |_| 2, all)), expected);
        let without_a = |key: &ItemKey| Some(key.prompt_id()).filter(|prompt| prompt != "a");
        let expected = ["0 of 2: b@1", "0 of 2: b@1", "1 of 2: c@0", "1 of 2: c@0"];
        assert_eq!(shown(&batches(&block, |_| 2, without_a)), expected);
        let one_by_one = shown(&batches(&block, |_| 1, all));
        assert_eq!(one_by_one.len(), 6);
        assert_eq!(one_by_one[4], "2 of 1: c@0");
    }

    #[test]
    fn times_are_of_a_batch_only_where_there_is_one() {
        let of = |n_lanes| Together { n_lanes, index: 3, images: vec![(0, ())] };
        assert_eq!(of(1).shared_by(1), None);
        assert_eq!(of(4).shared_by(2), Some(Batch { index: 3, size: 2 }));
    }
}
