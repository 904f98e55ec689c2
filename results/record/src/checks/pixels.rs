//! Whether an image on disk is the one that its record tells of.

use std::io;
use std::path::Path;

use crate::{Digest, Record, RecordError};

/// Compares the pixels of the image at `path` with the digest in its record; a record without an image has none to
/// compare.
///
/// # Errors
/// An image that cannot be read, or has other pixels.
pub fn check_pixels(path: &Path, record: &Record) -> Result<(), RecordError> {
    let Some(expected) = &record.image_digest else { return Ok(()) };
    let found = pixels(path).map_err(RecordError::io(path, "read the pixels"))?;
    match Digest::of(&found) {
        found if found == *expected => Ok(()),
        found => {
            let (key, expected) = (record.key.clone(), expected.clone());
            Err(RecordError::OtherPixels { path: path.to_owned(), key, expected, found })
        }
    }
}

/// Raw RGB bytes of an image file, row by row.
fn pixels(path: &Path) -> io::Result<Vec<u8>> {
    let image = image::ImageReader::open(path)?.with_guessed_format()?;
    Ok(image.decode().map_err(io::Error::other)?.into_rgb8().into_raw())
}
