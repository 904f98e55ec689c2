//! Whether a run is as it was made: checksums, seals, digests.

pub(crate) mod checksums;
pub(crate) mod pixels;
pub(crate) mod rows;
pub(crate) mod seal;
pub(crate) mod verify;
pub(crate) mod verify_run;
