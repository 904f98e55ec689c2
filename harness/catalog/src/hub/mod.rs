//! Published weights: where they are on this machine, and how they get here.
//!
//! [`places`] finds what the entries name below the folders of this program and in the cache of the Hugging Face hub,
//! whose layout `cache` keeps; [`fetch`] brings what is missing, continues what was begun, and checks sizes and digests; [`unpack`] takes
//! files out of a dataset's archive.
//! Knows no tensor: what a file holds is the business of [`crate::convert`].

pub mod digest;
pub mod fetch;
pub mod places;
pub mod settings;
pub mod unpack;

mod cache;
pub mod error;
mod request;

pub use error::HubError;
pub use places::{Found, Places};
pub use settings::Settings;
