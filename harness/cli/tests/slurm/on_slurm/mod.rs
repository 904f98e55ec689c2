//! All tests of this program: `scripts/test.sh` runs them beside the others, since most of their time they wait.

mod arrays;
mod chaos;
mod cluster;
mod desk;
mod processes;
mod questions;
#[path = "../../chaos/tmpfs.rs"]
mod tmpfs;
