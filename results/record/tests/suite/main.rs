//! What is on disk: documents, rows, how attempts become one result, and the numbers made of it.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod documents;
mod fixture;
mod merging;
mod old_run;
mod plans;
mod progress;
mod projections;
mod quality;
mod received;
mod rows;
mod schemas;
mod verifying;
