//! The run directory, and what a run, its shards and its submissions are.

pub(crate) mod done;
pub(crate) mod images;
pub(crate) mod json_differences;
pub(crate) mod manifest;
pub(crate) mod plan;
pub(crate) mod run_dir;
pub(crate) mod shard;
pub(crate) mod submission;
pub(crate) mod timestamp;
