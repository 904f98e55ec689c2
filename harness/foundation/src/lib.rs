//! What every crate needs and no crate should write again: bounded reads, whole-file writes, digests, the files below
//! a folder, the folders of the environment, names and their nearest match, places in a text,
//! plain words for what serde says, one-line texts, element types, the GPUs and the
//! processor of the machine and the kinds of failure.
//!
//! Nothing here knows models, metrics or runs.

#![warn(clippy::missing_errors_doc, clippy::must_use_candidate)]

pub mod bounded_read;
pub mod digest;
pub mod dtype;
pub mod failure;
pub mod file_walk;
pub mod folders;
pub mod gpus;
pub mod names;
pub mod place;
pub mod plain_words;
pub mod processor;
pub mod text;
pub mod whole_file;
