//! Pixels as the reference tools see them: decoding, resampling and the named steps of a protocol, in pure Rust
//! around one C decoder (libjpeg-turbo's arithmetic).
//!
//! Two tools that disagree about a metric mostly disagree here, so every function names the arithmetic that it
//! follows, and the 8-bit ones are bit-identical to it. Nothing here knows a network, a metric or a run.
//! Read in this order: [`image`] (what a picture is), [`mod@decode`] (from bytes), [`resample`], [`step`] (what a
//! protocol is made of), [`source`] (where pictures lie).
//!
//! ```
//! use specimen_pixels::{Picture, Pipeline, Source};
//!
//! fn clean(folder: &std::path::Path) -> Result<Vec<Picture>, Box<dyn std::error::Error>> {
//!     let pipeline: Pipeline = serde_json::from_str(
//!         r#"[{"step": "resize", "to": {"square": 299}, "by": {"engine": "pil-f32", "filter": "bicubic"}},
//!             {"step": "clip"}]"#,
//!     )?;
//!     let source = Source::open(folder)?;
//!     source.images().map(|loaded| Ok(pipeline.apply(loaded.image?)?)).collect()
//! }
//! # let folder = std::env::temp_dir().join(format!("specimen-pixels-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! # std::fs::write(folder.join("1.ppm"), b"P6 1 1 255\nabc")?;
//! # assert_eq!(clean(&folder)?[0].size(), (299, 299));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(clippy::missing_errors_doc, clippy::must_use_candidate)]

pub mod image;

pub mod decode;
pub mod error;

pub mod resample;
pub mod step;
mod step_error;
mod step_words;

pub mod source;

pub mod network;

pub use decode::{decode, simd_jpeg};
pub use error::{DecodeError, PixelError};
pub use image::{FloatImage, Image, Picture};
pub use source::Source;
pub use step::{Pipeline, Step};
