//! Weights on their way from disk to tensors, strictly: every expected tensor present, of the right
//! shape, nothing left over, the file's digest recorded. Nothing here knows an architecture.
//!
//! [`ParamSource`] is the one seam: a network asks it for its parameters by name and shape, whether they
//! come from a [`Checkpoint`] or are made fresh by the trainer.

mod checkpoint;
pub mod compiled_kernels;
pub mod cuda;
pub mod cuda_graph;
pub mod device_lost;
mod digest_cache;
mod index;
pub mod libtorch;
pub mod out_of_memory;
mod source;
mod threads;
mod write;

pub use checkpoint::{Checkpoint, LoadError};
pub use digest_cache::DigestCache;
pub use source::{Init, ParamSource, Scoped};
pub use threads::use_threads;
pub use write::write_safetensors;
