//! The plan of a run on disk: how it is stored, cut into shards and batches, and compared with a larger one.

pub(crate) mod batches;
pub(crate) mod larger_plan;
pub mod shard_map;
pub mod stored_plan;
