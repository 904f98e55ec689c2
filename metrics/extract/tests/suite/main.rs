//! Networks against the reference implementations, on weights made by recipe or small weights beside the goldens.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

mod clip;
mod dinov2;
mod golden;
mod inception;
mod real_data;
mod tokenizer;
mod vgg;
mod weights_lookup;
