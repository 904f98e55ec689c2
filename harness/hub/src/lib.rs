//! Published weights: what there is, where it lies on this machine, and how it gets here.
//!
//! [`mod@manifest`] has one entry a published model, read from a file each in `models/`; [`parts`] has the ways in which the
//! parts of a model can lie here, and [`places`] finds them below the folders of this program and in the cache of the
//! Hugging Face hub, whose layout `cache` keeps; [`fetch`] brings what is missing, goes
//! on with what was begun, and checks sizes and digests; [`memory`] has what a model takes. Knows no tensor: what a file holds is the business of
//! `specimen-convert`.

pub mod fetch;
pub mod manifest;
pub mod memory;
pub mod parts;
pub mod places;
pub mod settings;

mod cache;
mod digest;
pub mod error;
mod models;
mod request;

pub use error::HubError;
pub use manifest::{Manifest, NAMES, manifest};
pub use places::{Found, Places};
pub use settings::Settings;
