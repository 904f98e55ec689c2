//! The errors of this crate: [`DecodeError`] is about bytes and knows no file, [`PixelError`] adds where they lay.

use std::path::{Path, PathBuf};

/// Why bytes are no picture. Messages are fragments that go behind a file's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// No format that is read here begins like this.
    #[error(
        "expected a JPEG, PNG, WebP, GIF, BMP or PNM image, found {found}; convert it to PNG or leave it out"
    )]
    UnknownFormat {
        /// What the first bytes are.
        found: String,
    },
    /// The file ends before its picture does.
    #[error(
        "the {format} data end before the image does ({why}); the file is truncated, copy or write it again"
    )]
    Truncated {
        /// Name of the format.
        format: &'static str,
        /// What is missing.
        why: String,
    },
    /// The content breaks the rules of its format.
    #[error("the {format} data are corrupt: {why}")]
    Corrupt {
        /// Name of the format.
        format: &'static str,
        /// What is wrong.
        why: String,
    },
    /// A rare kind of the format, which the reference tools do not read either.
    #[error("this kind of {format} is not read: {why}; convert it to PNG")]
    Unsupported {
        /// Name of the format.
        format: &'static str,
        /// Which kind it is.
        why: String,
    },
    /// The header declares more pixels than are accepted: perhaps a decompression bomb.
    #[error(
        "the header declares {width}x{height} pixels, at most {limit} are accepted; is this the right file?"
    )]
    TooLarge {
        /// Declared width in pixels.
        width: u64,
        /// Declared height in pixels.
        height: u64,
        /// `MAX_PIXELS` of `decode`.
        limit: u64,
    },
}

/// Why pictures could not be found or read. Every variant names the file.
#[derive(Debug, thiserror::Error)]
pub enum PixelError {
    /// The operating system refused.
    #[error("{path}: cannot be read: {source}", path = path.display())]
    Io {
        /// What was being read.
        path: PathBuf,
        /// The operating system's answer.
        source: std::io::Error,
    },
    /// One file is no picture; the others of its source may be fine.
    #[error("{path}: {source}", path = path.display())]
    Decode {
        /// The file; for an archive, the archive and the name inside it.
        path: PathBuf,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// The container itself (archive, list, array) does not follow its format.
    #[error("{path}: expected {expected}, found {found}", path = path.display())]
    Malformed {
        /// Path of the container.
        path: PathBuf,
        /// What the format asks for.
        expected: String,
        /// What stands there instead.
        found: String,
    },
    /// A source without a single picture.
    #[error(
        "{path}: no images (png, jpg, jpeg, webp, bmp, gif, ppm, pgm, pnm) in it; {n_ignored} other files were ignored",
        path = path.display()
    )]
    Empty {
        /// Path of the source.
        path: PathBuf,
        /// Number of visible files with other extensions.
        n_ignored: usize,
    },
    /// One name stands twice, so that order could matter.
    #[error("{path}: `{key}` is in it twice; names must be unique, remove one", path = path.display())]
    Duplicate {
        /// Path of the source.
        path: PathBuf,
        /// The name.
        key: String,
    },
    /// A single file is larger than is accepted.
    #[error("{path}: {n_bytes} bytes, at most {limit} are accepted; is this the right file?", path = path.display())]
    FileTooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Its size, or the size that its archive declares.
        n_bytes: u64,
        /// The limit in bytes.
        limit: u64,
    },
}

impl PixelError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.to_path_buf(), source }
    }

    pub(crate) fn malformed(path: &Path, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Self::Malformed { path: path.to_path_buf(), expected: expected.into(), found: found.into() }
    }
}
