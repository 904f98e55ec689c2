//! What every process of a run has: locks, requests to stop, and a disk that may be full.

pub mod disk_wait;
pub mod lock;
pub(crate) mod removal;
pub mod stop_request;
