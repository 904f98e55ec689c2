//! Every format in which weights are published, read back against what PyTorch wrote, and files that mean harm.

#![allow(clippy::unwrap_used, reason = "a test may panic")]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so")]

mod archive;
mod formats;
mod hostile;
mod output;
mod pickle_writer;
mod properties;
mod real_file;
mod support;
