//! Texts that are read whole, with their bound; errors name the file.

use std::path::Path;

use specimen_foundation::bounded_read;

use crate::error::MeasureError;

/// The content of `path` as text, at most `most` bytes.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<String, MeasureError> {
    bounded_read::read_text(path, most).map_err(|error| MeasureError::io(path, "read", error))
}
