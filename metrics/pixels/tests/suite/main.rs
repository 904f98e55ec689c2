//! Pixels against the libraries that they follow: digests made by Pillow, values made by torch, real photos and
//! odd files, and the sources in which they lie.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

mod golden;
mod odd_files;
mod photos;
mod pillow;
mod protocol_steps;
mod sources;
mod torch_bicubic;
mod torch_bilinear;
