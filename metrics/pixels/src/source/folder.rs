//! The image files below a folder.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::is_image;
use crate::error::PixelError;

/// What a folder holds.
pub(super) struct Found {
    /// Path inside the folder with `/`, and the path.
    pub(super) files: Vec<(String, PathBuf)>,
    /// Number of visible files that are no images.
    pub(super) n_ignored: usize,
}

/// Walks `root` to the bottom. Hidden files and folders are skipped, links are followed; a link that leads nowhere
/// or in a circle is an error.
pub(super) fn scan(root: &Path) -> Result<Found, PixelError> {
    let is_visible = |entry: &walkdir::DirEntry| {
        entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".")
    };
    let mut found = Found { files: Vec::new(), n_ignored: 0 };
    for entry in WalkDir::new(root).follow_links(true).into_iter().filter_entry(is_visible) {
        let entry = entry.map_err(|e| {
            let path = e.path().unwrap_or(root).to_path_buf();
            PixelError::Io { path, source: e.into() }
        })?;
        if !entry.file_type().is_file() {
            continue;
        }
        if !is_image(entry.path()) {
            found.n_ignored += 1;
            continue;
        }
        let inside = entry.path().strip_prefix(root).expect("walkdir stays below its root");
        let parts: Option<Vec<&str>> = inside.components().map(|part| part.as_os_str().to_str()).collect();
        let Some(parts) = parts else {
            return Err(PixelError::malformed(entry.path(), "a name in UTF-8", "other bytes"));
        };
        found.files.push((parts.join("/"), entry.into_path()));
    }
    Ok(found)
}
