//! A worker: the blocks of one shard, image by image.

mod attempt;
pub(crate) mod claim;
pub(crate) mod failed_item;
pub(crate) mod heartbeat;
mod plain_steps;
pub(crate) mod remaining;
mod rows;
pub mod shard_work;
mod step_graphs;
pub mod worker;
pub mod worker_event;
