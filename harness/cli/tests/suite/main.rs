//! The built binary from outside: exit codes, messages, files.

mod instrument;
mod metrics;
mod support;
#[cfg(feature = "torch")]
mod training;
#[cfg(feature = "torch")]
mod verdicts;
#[cfg(feature = "torch")]
mod with_weights;
mod without_weights;
