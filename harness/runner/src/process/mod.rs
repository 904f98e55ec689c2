//! What every process of a run has: locks, requests to stop, a disk that may be full, and words of a shell.

pub mod disk_wait;
pub mod lock;
pub(crate) mod removal;
pub(crate) mod shell_words;
pub mod stop_request;
