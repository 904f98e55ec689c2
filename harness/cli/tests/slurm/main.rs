//! Runs on a cluster: the records are those of this machine, whatever befalls tasks, daemons and drivers. On a real
//! Slurm of one node where it is installed, and on programs that count what they are asked.
//!
//! `CHAOS_ROUNDS` is how often each disturbance of the real cluster is tried (default 1, without those that take a
//! minute); `make chaos` tries all of them.
#![cfg(feature = "torch")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test may panic, says when it skips, and prints its table"
)]

mod arrays;
mod chaos;
mod cluster;
mod desk;
mod questions;
