//! Whether an image on disk is the one that its record tells of.

use std::io::{self, Cursor};
use std::path::Path;

use image::{DynamicImage, ImageReader};
use specimen_foundation::bounded_read;

use crate::{Digest, Record, RecordError, open_to_read};

/// Bytes of an image of a run, at most: four times those of the largest that is read from elsewhere.
pub(crate) const MAX_IMAGE_BYTES: u64 = 1 << 28;

/// Compares the image at `path` with the size and the digest of its pixels in its record; a record without an image has
/// none to compare.
pub fn check_pixels(path: &Path, record: &Record) -> Result<(), RecordError> {
    let Some(expected) = &record.image_digest else { return Ok(()) };
    let image = decode(path).map_err(RecordError::io(path, "read the pixels"))?;
    for (what, written, found) in
        [("pixels across", record.width, image.width()), ("pixels down", record.height, image.height())]
    {
        if written != found {
            let (expected, found) = (written.into(), found.into());
            return Err(crate::error::wrong_count(path, what, expected, found));
        }
    }
    match Digest::of(&image.into_rgb8().into_raw()) {
        found if found == *expected => Ok(()),
        found => {
            let (key, expected) = (record.key.clone(), expected.clone());
            Err(RecordError::OtherPixels { path: path.to_owned(), key, expected, found })
        }
    }
}

fn decode(path: &Path) -> io::Result<DynamicImage> {
    let bytes = bounded_read::read_open(open_to_read(path)?, MAX_IMAGE_BYTES)?;
    ImageReader::new(Cursor::new(bytes)).with_guessed_format()?.decode().map_err(io::Error::other)
}
