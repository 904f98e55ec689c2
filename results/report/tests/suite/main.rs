//! Tables, figures, the page and verdicts, of made-up runs.
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "a test may panic, and says when it skips")]

mod breakdown;
mod browser;
mod figures;
mod fixture;
mod page;
mod print;
mod printed;
mod reports;
mod tables;
mod verdicts;
mod writers;
