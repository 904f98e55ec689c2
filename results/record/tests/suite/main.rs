//! What is on disk: documents, rows, and how attempts become one result.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod documents;
mod fixture;
mod merging;
mod old_run;
mod progress;
mod quality;
mod received;
mod rows;
mod schemas;
mod verifying;
