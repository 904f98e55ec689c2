//! The built binary from outside: exit codes, messages, files.

#[cfg(feature = "torch")]
mod instrument;
mod metrics;
mod published_weights;
mod support;
#[cfg(feature = "torch")]
mod training;
#[cfg(feature = "torch")]
mod with_weights;
mod without_weights;
