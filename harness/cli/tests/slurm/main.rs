//! Runs on a cluster: the records are those of this machine, whatever befalls tasks, daemons and drivers. On a real
//! Slurm of one node where it is installed, and on programs that count what they are asked.
//!
//! `CHAOS_ROUNDS` is how often each disturbance of the real cluster is tried, a fifth as often those that take half a
//! minute or more (default 1, without them); `CHAOS_ONLY` names one of them. `make chaos-slurm` tries all, and prints
//! the table of `docs/measurements`. `SLURM_QUICKSTART=whole` runs the first experiment whole and not only two of its
//! prompts (`make slurm-quickstart`).
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a test may panic, says when it skips, and prints its table"
)]

mod on_slurm;
