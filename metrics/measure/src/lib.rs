//! From pictures, features or statistics on disk to a metric's value, under a protocol that is printed with it.
//!
//! Read in this order: [`protocol`] (what a number depends on), [`input`] (what may be at a path), [`network`] (what
//! opens the feature networks), [`images`] (from pictures to rows: decoding beside the network, cache between the
//! two), [`meter`] (one protocol with all that it takes to measure), then [`metrics`], one file a metric.
//! Nothing here knows a tensor; without the feature `torch` there are no networks, and features or statistics that
//! were made elsewhere are measured all the same.
//!
//! A Frechet distance:
//!
//! ```
//! use specimen_measure::{MeasureError, meter::Meter, metrics::fid::fid, network::NoNetworks, protocol::Protocol};
//! # use specimen_stats::npy_write::{Values, write_npy};
//! # let folder = tempfile::tempdir()?;
//! # let (real, generated) = (folder.path().join("real.npy"), folder.path().join("generated.npy"));
//! # std::fs::write(&real, write_npy(&[4, 2], Values::F32(&[0., 0., 2., 0., 0., 2., 2., 2.])))?;
//! # std::fs::write(&generated, write_npy(&[4, 2], Values::F32(&[1., 0., 3., 0., 1., 2., 3., 2.])))?;
//!
//! fn compare(real: &std::path::Path, generated: &std::path::Path) -> Result<f64, MeasureError> {
//!     let protocol = Protocol::named("pytorch-fid")?;
//!     // `published::Published` takes folders of pictures too.
//!     let mut meter = Meter::new(protocol, &NoNetworks);
//!     let measured = fid(&mut meter, real, generated)?;
//!     println!("{} under {}", measured.value, measured.protocol);
//!     Ok(measured.value)
//! }
//! assert!((compare(&real, &generated)? - 1.0).abs() < 1e-12);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod error;

pub mod pair_protocol;
pub mod protocol;
pub mod protocol_head;

pub mod input;
pub mod network;

mod bounded;
pub mod whole_file;

pub mod cache;
pub mod images;
mod prefetch;

mod alike;
pub mod meter;
mod prompted;
pub mod sample;

pub mod measurement;

pub mod metrics;

pub mod pairs;

pub mod image_metric;

mod captioned;
pub mod captions;
pub mod image_id;
pub mod per_image;

pub mod all;

pub mod statistics;

pub mod known_answers;

pub mod published;
pub mod published_answers;

pub use error::MeasureError;
pub use measurement::Measurement;
