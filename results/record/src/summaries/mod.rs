//! What a run measured, cell by cell.

pub(crate) mod better;
pub(crate) mod family;
pub(crate) mod mix;
pub(crate) mod summary;
pub(crate) mod timing_quality;
