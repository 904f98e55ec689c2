//! The Chameleon family: its networks against transformers and diffusers, its files, its distributions, and whole
//! images at toy width.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

mod distributions;
mod golden_head;
mod golden_network;
mod golden_picture;
mod kernels;
mod loading;
mod reference;
mod rule;
mod support;
mod whole_images;
