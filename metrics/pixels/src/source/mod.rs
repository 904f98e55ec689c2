//! Where pictures lie: a folder, a zip archive, a list of paths or an array, all seen as entries with a key.
//!
//! Entries are sorted by key and keys are unique, so the order of a listing never matters. The key is the name
//! inside the source; which image belongs to which prompt is the caller's question, answered from the key.

mod archive;
mod array;
mod folder;
mod list;

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::decode::decode;
use crate::error::PixelError;
use crate::image::Image;

/// Extensions of image files, compared without case.
pub const EXTENSIONS: [&str; 9] = ["png", "jpg", "jpeg", "webp", "bmp", "gif", "ppm", "pgm", "pnm"];

/// Extensions of pictures that are not read here though other tools may. They are never passed over in silence: a value
/// would be that of a part.
const OTHER_PICTURES: [&str; 8] = ["tif", "tiff", "avif", "heic", "heif", "jp2", "jxl", "jfif"];

/// Pictures that a source may have.
pub(crate) const MAX_ENTRIES: usize = 20_000_000;

/// Bytes that a single image file may have.
pub const MAX_FILE_BYTES: u64 = 1 << 30;

/// An opened source of pictures. Entries are read by index, from any number of threads at once.
#[derive(Debug)]
pub struct Source {
    // Invariant: `keys` is not empty, sorted and without repetition, and `container` has as many entries.
    path: PathBuf,
    keys: Vec<String>,
    n_ignored: usize,
    unlisted: Vec<Unlisted>,
    container: Container,
}

/// An entry of a folder or archive that cannot be listed among its pictures.
#[derive(Debug)]
pub struct Unlisted {
    /// Its path inside the folder, bytes that are no printable ASCII as escapes.
    pub key: String,
    /// Why.
    pub error: PixelError,
}

#[derive(Debug)]
enum Container {
    Files(Vec<PathBuf>),
    Archive(archive::Archive),
    Array(array::Array),
}

/// One entry as it was read, before decoding: its digest tells whether it is worth decoding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// The bytes of an image file.
    Encoded(Vec<u8>),
    /// The pixels of an array.
    Pixels(Image),
}

/// One entry of an iteration: read and decoded, or why not.
#[derive(Debug)]
pub struct Loaded {
    /// The name inside the source, with `/` between folders.
    pub key: String,
    /// Where it lies, for messages.
    pub path: PathBuf,
    /// The picture, or what is wrong with this file; the files after it may be fine.
    pub image: Result<Image, PixelError>,
}

impl Source {
    /// The pictures at `path`: a folder (walked to the bottom, hidden files skipped, links followed), a `.zip`
    /// archive, a `.npy` array `[n, h, w, 3]` of bytes, a `.txt` or `.lst` list of paths (one a line, relative to
    /// the list's folder), or a single image file. An entry that cannot be listed (a name that is no text, a link
    /// that leads nowhere or in a circle, a picture in a format that is not read, a file of a list that is not
    /// there) is an error.
    ///
    /// # Errors
    /// A source without pictures, or a broken container; a broken picture shows when it is read.
    pub fn open(path: &Path) -> Result<Self, PixelError> {
        let mut source = Self::open_keeping_going(path)?;
        if source.unlisted.is_empty() { Ok(source) } else { Err(source.unlisted.remove(0).error) }
    }

    /// As [`Source::open`], but entries that cannot be listed are left out: [`Source::unlisted`] has them.
    ///
    /// # Errors
    /// As [`Source::open`], without entries that cannot be listed.
    pub fn open_keeping_going(path: &Path) -> Result<Self, PixelError> {
        let metadata = std::fs::metadata(path).map_err(|e| PixelError::io(path, e))?;
        if metadata.is_dir() {
            let folder::Found { files, n_ignored, mut unlisted } = folder::scan(path)?;
            if files.is_empty() && !unlisted.is_empty() {
                return Err(unlisted.remove(0).error);
            }
            return Ok(Self { unlisted, ..Self::of_files(path, files, n_ignored)? });
        }
        match lower_extension(path).as_str() {
            "zip" => {
                let archive::Listing { archive, keys, n_ignored, mut unlisted } =
                    archive::Archive::open(path)?;
                if keys.is_empty() && !unlisted.is_empty() {
                    return Err(unlisted.remove(0).error);
                }
                Ok(Self { unlisted, ..Self::checked(path, keys, n_ignored, Container::Archive(archive))? })
            }
            "npy" => {
                let array = array::Array::open(path)?;
                let keys = array.keys();
                Self::checked(path, keys, 0, Container::Array(array))
            }
            "txt" | "lst" => {
                let (files, mut unlisted) = list::read(path)?;
                if files.is_empty() && !unlisted.is_empty() {
                    return Err(unlisted.remove(0).error);
                }
                Ok(Self { unlisted, ..Self::of_files(path, files, 0)? })
            }
            _ if is_image(path) => {
                let key = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                Self::of_files(path, vec![(key, path.to_path_buf())], 0)
            }
            _ => Err(PixelError::malformed(
                path,
                "a folder, a .zip archive, a .npy array, a .txt or .lst list of paths or an image file",
                "another file",
            )),
        }
    }

    /// Pictures anywhere, each under its key; `path` is what messages call all of them.
    ///
    /// # Errors
    /// No picture; a key that is there twice.
    pub fn of_list(path: &Path, pictures: Vec<(String, PathBuf)>) -> Result<Self, PixelError> {
        Self::of_files(path, pictures, 0)
    }

    /// The path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names of the entries, sorted by bytes.
    pub fn keys(&self) -> &[String] {
        &self.keys
    }

    /// Number of visible files that are no images.
    pub fn n_ignored(&self) -> usize {
        self.n_ignored
    }

    /// Entries that were left out because they cannot be listed, in the order of their names; none of a source that was
    /// opened by [`Source::open`].
    pub fn unlisted(&self) -> &[Unlisted] {
        &self.unlisted
    }

    /// Where entry `idx` lies, for messages: an archive's entry below the archive, an array's below the array.
    ///
    /// # Panics
    /// When there is no such entry, here as in the functions below.
    pub fn entry_path(&self, idx: usize) -> PathBuf {
        match &self.container {
            Container::Files(files) => files[idx].clone(),
            Container::Archive(_) | Container::Array(_) => self.path.join(&self.keys[idx]),
        }
    }

    /// The content of entry `idx`, not decoded yet.
    ///
    /// # Errors
    /// An entry that cannot be read.
    pub fn read(&self, idx: usize) -> Result<Content, PixelError> {
        match &self.container {
            Container::Files(files) => read_file(&files[idx]).map(Content::Encoded),
            Container::Archive(archive) => archive.read(idx, &self.entry_path(idx)).map(Content::Encoded),
            Container::Array(array) => array.read(idx).map(Content::Pixels),
        }
    }

    /// The picture of entry `idx`.
    ///
    /// # Errors
    /// A picture that cannot be read or decoded.
    pub fn load(&self, idx: usize) -> Result<Image, PixelError> {
        self.read(idx)?.decode(|| self.entry_path(idx))
    }

    /// Every entry in the order of the keys, broken ones included, so that a caller may stop at the first of them
    /// or list and count them.
    pub fn images(&self) -> impl Iterator<Item = Loaded> + '_ {
        self.keys.iter().enumerate().map(|(idx, key)| Loaded {
            key: key.clone(),
            path: self.entry_path(idx),
            image: self.load(idx),
        })
    }

    fn of_files(
        path: &Path,
        mut files: Vec<(String, PathBuf)>,
        n_ignored: usize,
    ) -> Result<Self, PixelError> {
        files.sort_unstable();
        let (keys, files) = files.into_iter().unzip();
        Self::checked(path, keys, n_ignored, Container::Files(files))
    }

    fn checked(
        path: &Path,
        keys: Vec<String>,
        n_ignored: usize,
        container: Container,
    ) -> Result<Self, PixelError> {
        if keys.len() > MAX_ENTRIES {
            let expected = format!("at most {MAX_ENTRIES} pictures");
            return Err(PixelError::malformed(path, expected, keys.len().to_string()));
        }
        if keys.is_empty() {
            return Err(PixelError::Empty { path: path.to_path_buf(), n_ignored });
        }
        if let Some(pair) = keys.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(PixelError::Duplicate { path: path.to_path_buf(), key: pair[0].clone() });
        }
        Ok(Self { path: path.to_path_buf(), keys, n_ignored, unlisted: Vec::new(), container })
    }
}

impl Content {
    /// BLAKE3 of the content: of a file's bytes, or of an array's pixels ([`Image::digest`]).
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        match self {
            Self::Encoded(bytes) => blake3::hash(bytes).into(),
            Self::Pixels(image) => image.digest(),
        }
    }

    /// The picture. `path` says where it lay and is asked when there is an error.
    ///
    /// # Errors
    /// As [`decode`](crate::decode::decode()), with the path.
    pub fn decode(self, path: impl FnOnce() -> PathBuf) -> Result<Image, PixelError> {
        match self {
            Self::Encoded(bytes) => {
                decode(&bytes).map_err(|source| PixelError::Decode { path: path(), source })
            }
            Self::Pixels(image) => Ok(image),
        }
    }
}

/// Why the picture at `path`, which messages call `shown`, cannot be listed, where its format is none that is read.
fn unread_format(path: &Path, shown: &Path) -> Option<PixelError> {
    let extension = lower_extension(path);
    let expected = "a picture in a format that is read (png, jpg, jpeg, webp, bmp, gif, ppm, pgm, pnm)";
    OTHER_PICTURES
        .contains(&extension.as_str())
        .then(|| PixelError::malformed(shown, expected, format!("a .{extension} file; save it as .png")))
}

fn read_file(path: &Path) -> Result<Vec<u8>, PixelError> {
    let io = |e| PixelError::io(path, e);
    let file = File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        return Err(PixelError::malformed(path, "an image file", "something else"));
    }
    let n_bytes = metadata.len();
    if n_bytes > MAX_FILE_BYTES {
        return Err(PixelError::FileTooLarge { path: path.to_path_buf(), n_bytes, limit: MAX_FILE_BYTES });
    }
    let mut bytes = Vec::with_capacity(n_bytes as usize);
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(io)?;
    Ok(bytes)
}

fn is_image(path: &Path) -> bool {
    EXTENSIONS.contains(&lower_extension(path).as_str())
}

fn lower_extension(path: &Path) -> String {
    path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase()
}
