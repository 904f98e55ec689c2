//! The tests of this crate, one file a subject. None needs weights: networks are stand-ins whose features are a
//! function of the pixels.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

mod aesthetic;
mod all;
mod cache;
mod clip;
mod edge_files;
mod fd_dinov2;
mod golden;
mod image_metrics;
mod imagereward;
mod known;
mod lpips;
mod order;
mod photos;
mod pixels;
mod preference;
mod protocols;
mod stand_in;
mod statistics;
