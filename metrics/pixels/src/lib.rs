//! Pixels as the reference tools see them: decoding, resampling and the named steps of a protocol, in pure Rust
//! around one C decoder (libjpeg-turbo's arithmetic).
//!
//! Two tools that disagree about a metric mostly disagree here, so every function names the arithmetic that it
//! follows, and the 8-bit ones are bit-identical to it. Nothing here knows a network, a metric or a run.
//! Read in this order: [`image`] (what a picture is), [`decode`] (from bytes), [`resample`], [`step`] (what a
//! protocol is made of), [`source`] (where pictures lie).

pub mod image;

pub mod decode;
pub mod error;

pub mod resample;
pub mod step;

pub mod source;

pub use decode::{decode, simd_jpeg};
pub use error::{DecodeError, PixelError};
pub use image::{FloatImage, Image, Picture};
pub use source::Source;
pub use step::{Pipeline, Step};
