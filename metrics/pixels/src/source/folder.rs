//! The image files below a folder.

use std::path::{Path, PathBuf};

use specimen_foundation::file_walk::files_below;

use super::{Unlisted, is_image, unread_format};
use crate::error::PixelError;

/// What a folder holds.
pub(super) struct Found {
    /// Path inside the folder with `/`, and the path.
    pub(super) files: Vec<(String, PathBuf)>,
    /// Number of visible files that are no images.
    pub(super) n_ignored: usize,
    /// Entries that cannot be listed: names that are no text, links that lead nowhere or in a circle, pictures in formats
    /// that are not read.
    pub(super) unlisted: Vec<Unlisted>,
}

/// Walks `root` to the bottom. Hidden files and folders are skipped, links are followed. Fails when `root` itself
/// cannot be read.
pub(super) fn scan(root: &Path) -> Result<Found, PixelError> {
    let mut found = Found { files: Vec::new(), n_ignored: 0, unlisted: Vec::new() };
    for file in files_below(root) {
        let file = match file {
            Ok(file) => file,
            Err(error) => {
                let (path, depth) = (error.path().unwrap_or(root).to_path_buf(), error.depth());
                let key = escaped(path.strip_prefix(root).unwrap_or(&path));
                let error = PixelError::Io { path, source: error.into() };
                if depth == 0 {
                    return Err(error);
                }
                found.unlisted.push(Unlisted { key, error });
                continue;
            }
        };
        if let Some(error) = unread_format(&file.path, &file.path) {
            found.unlisted.push(Unlisted { key: escaped(&file.inside), error });
        } else if !is_image(&file.path) {
            found.n_ignored += 1;
        } else if let Some(name) = file.name() {
            found.files.push((name, file.path));
        } else {
            let key = escaped(&file.inside);
            let error = PixelError::malformed(root, "names in UTF-8", format!("`{key}`; rename it"));
            found.unlisted.push(Unlisted { key, error });
        }
    }
    found.unlisted.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(found)
}

/// `path` with every byte that is no printable ASCII as an escape.
fn escaped(path: &Path) -> String {
    path.as_os_str().as_encoded_bytes().escape_ascii().to_string()
}
