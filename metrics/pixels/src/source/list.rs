//! A list of paths, one a line.

use std::path::{Path, PathBuf};

use super::is_image;
use crate::error::PixelError;

/// The paths in the list at `path`, each under the text of its line. Relative ones begin at the list's folder;
/// blank lines do not count.
pub(super) fn read(path: &Path) -> Result<Vec<(String, PathBuf)>, PixelError> {
    let text = String::from_utf8(super::read_file(path)?)
        .map_err(|_| PixelError::malformed(path, "a list of paths in UTF-8", "other bytes"))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut files = Vec::new();
    for (line_idx, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if !is_image(Path::new(line)) {
            let expected = format!("in line {} the path of an image file", line_idx + 1);
            return Err(PixelError::malformed(path, expected, format!("`{line}`")));
        }
        files.push((line.to_owned(), folder.join(line)));
    }
    Ok(files)
}
