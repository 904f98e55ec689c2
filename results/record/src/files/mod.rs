//! How files are written and read: whole, canonical, with finite numbers, on a disk that may be full.

pub(crate) mod append;
pub(crate) mod atomic;
pub(crate) mod canonical;
pub(crate) mod canonical_row;
pub(crate) mod disk_space;
pub(crate) mod document;
pub(crate) mod finite;
pub(crate) mod read;
pub(crate) mod regular;
pub(crate) mod schema;
