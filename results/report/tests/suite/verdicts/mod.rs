//! Gates, comparisons, papers and tunings, on made-up runs.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod ablation;
mod compare;
mod fixture;
mod gate;
mod prompts_to_decide;
mod published;
mod reproduce;
mod tune;
