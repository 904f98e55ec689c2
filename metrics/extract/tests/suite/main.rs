//! Networks against the reference implementations, on weights made by recipe or small weights beside the goldens.
#![allow(clippy::unwrap_used)] // A failed unwrap is a failed test.

mod aesthetic;
mod clip;
mod clip_h;
mod clip_narrow;
mod dinov2;
mod golden;
mod imagereward;
mod inception;
mod lpips;
mod published_shapes;
mod tokenizer;
mod vgg;
mod weights_lookup;
