//! What the attempts of a run hold together: coverage, counts, and the merged records.

pub(crate) mod attempts;
pub(crate) mod merge;
pub(crate) mod progress;
