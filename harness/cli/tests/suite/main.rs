//! The built binary from outside: exit codes, messages, files.

#[cfg(feature = "torch")]
mod instrument;
mod metrics;
#[cfg(feature = "torch")]
mod models;
#[cfg(feature = "torch")]
mod protocols_of_runs;
mod published_weights;
mod support;
#[cfg(feature = "torch")]
mod training;
#[cfg(feature = "torch")]
mod verdicts;
#[cfg(feature = "torch")]
mod with_weights;
mod without_weights;
