//! What a run says in place of a fact that nobody knows of images that were imported.

/// The device that made them.
pub const UNKNOWN_DEVICE: &str = "unknown";

/// The dataset of their prompts, where none was named.
pub const UNKNOWN_DATASET: &str = "imported";
