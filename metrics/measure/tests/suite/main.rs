//! The tests of this crate, one file a subject. None needs weights: networks are stand-ins whose features are a
//! function of the pixels.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

#[cfg(feature = "torch")]
mod aesthetic;
mod all;
mod cache;
mod clip;
mod edge_files;
#[cfg(feature = "torch")]
mod fd_dinov2;
mod golden;
#[cfg(feature = "torch")]
mod image_metrics;
mod imagereward;
mod known;
#[cfg(feature = "torch")]
mod lpips;
mod order;
#[cfg(feature = "torch")]
mod photos;
mod pixels;
#[cfg(feature = "torch")]
mod preference;
mod protocols;
mod stand_in;
mod statistics;
