//! The image files below a folder.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

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
    let is_visible = |entry: &walkdir::DirEntry| {
        entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".")
    };
    let mut found = Found { files: Vec::new(), n_ignored: 0, unlisted: Vec::new() };
    for entry in WalkDir::new(root).follow_links(true).into_iter().filter_entry(is_visible) {
        let entry = match entry {
            Ok(entry) => entry,
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
        if !entry.file_type().is_file() {
            continue;
        }
        let inside = entry.path().strip_prefix(root).expect("walkdir stays below its root");
        if let Some(error) = unread_format(entry.path(), entry.path()) {
            found.unlisted.push(Unlisted { key: escaped(inside), error });
            continue;
        }
        if !is_image(entry.path()) {
            found.n_ignored += 1;
            continue;
        }
        let parts: Option<Vec<&str>> = inside.components().map(|part| part.as_os_str().to_str()).collect();
        let Some(parts) = parts else {
            let key = escaped(inside);
            let error = PixelError::malformed(root, "names in UTF-8", format!("`{key}`; rename it"));
            found.unlisted.push(Unlisted { key, error });
            continue;
        };
        found.files.push((parts.join("/"), entry.into_path()));
    }
    found.unlisted.sort_by(|a, b| a.key.cmp(&b.key));
    Ok(found)
}

/// `path` with every byte that is no printable ASCII as an escape.
fn escaped(path: &Path) -> String {
    path.as_os_str().as_encoded_bytes().escape_ascii().to_string()
}
