//! Fetching from a server that the tests themselves are: whole files, parts, refusals, lies.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod fetching;
mod finding;
mod lies;
mod server;
