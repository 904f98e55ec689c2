//! What training must do whatever it learns, on networks of random weights.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

mod checkpoints;
mod features;
mod golden;
mod head_loss;
mod heads;
mod layouts;
mod own_images;
mod schedule;
mod support;
mod unroll;
