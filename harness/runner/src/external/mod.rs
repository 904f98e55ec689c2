//! A method or model in another process: it is asked for one image at a time in a line of JSON and answers in
//! one. What it says and leaves behind is untrusted input.
//!
//! Read in this order: [`message`] (the protocol), [`lines`] (its bounded lines), [`process`] (a process
//! started, asked, timed and ended), [`picture`] (the file that it answers with), [`scratch`] (the folder of
//! that file). The page for people is `docs/external.md`.

pub mod error;
pub mod lines;
pub mod message;
pub mod picture;
pub mod process;
pub mod scratch;

pub use error::ExternalError;
pub use message::{Answer, Made, PROTOCOL, Request, Sampling};
pub use process::{Answered, Process, Start};
pub use scratch::Scratch;
pub use specimen_pixels::Image;
