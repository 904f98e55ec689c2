//! A file mapped into memory, read only.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use memmap2::Mmap;

use crate::convert::error::ConvertError;

/// A file's bytes. Pages come from disk when they are looked at and can be given up again, so a file larger than memory
/// can be mapped.
#[derive(Debug)]
pub(crate) struct Mapping {
    path: PathBuf,
    bytes: Option<Mmap>,
}

impl Mapping {
    /// Maps the file at `path`.
    pub(crate) fn open(path: &Path) -> Result<Self, ConvertError> {
        let read = |source| crate::convert::error::read(path, source);
        let file = File::open(path).map_err(read)?;
        let meta = file.metadata().map_err(read)?;
        if meta.is_dir() {
            return Err(read(std::io::Error::new(std::io::ErrorKind::IsADirectory, "it is a folder")));
        }
        if meta.len() == 0 {
            return Ok(Self { path: path.to_owned(), bytes: None });
        }
        #[expect(
            unsafe_code,
            reason = "mapping a file is unsafe if it shrinks meanwhile; weights are not written to while they are read"
        )]
        let bytes = unsafe { Mmap::map(&file) }.map_err(read)?;
        Ok(Self { path: path.to_owned(), bytes: Some(bytes) })
    }

    /// Where the file lies.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// All of it.
    pub(crate) fn bytes(&self) -> &[u8] {
        self.bytes.as_deref().unwrap_or_default()
    }
}
