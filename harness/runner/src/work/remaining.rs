//! What the attempts so far have left to be made.

use std::collections::BTreeSet;

use specimen_record::{Block, Coverage, ItemKey};

/// What earlier attempts left to be made.
pub(crate) struct Remaining {
    /// What they made.
    coverage: Coverage,
    /// Items with an image.
    made: BTreeSet<ItemKey>,
    /// Items that are not tried again.
    pub(crate) given_up: BTreeSet<ItemKey>,
}

impl Remaining {
    /// What is left after `coverage`, without the items of `given_up`.
    pub(crate) fn new(coverage: Coverage, given_up: BTreeSet<ItemKey>) -> Self {
        Self { made: coverage.ok.iter().cloned().collect(), given_up, coverage }
    }

    /// Whether an item of the block has no image, or the images of a timed block come from several attempts
    /// and so cannot be compared.
    pub(crate) fn is_unfinished(&self, block: &Block, is_timed: bool) -> bool {
        let tried = || block.items.iter().filter(|key| !self.given_up.contains(*key));
        tried().any(|key| !self.made.contains(key)) || (is_timed && !self.coverage.in_one_attempt(tried()))
    }

    /// Whether the item is to be made and has no image.
    pub(crate) fn is_missing(&self, key: &ItemKey) -> bool {
        !self.made.contains(key) && !self.given_up.contains(key)
    }
}
