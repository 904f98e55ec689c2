//! A list of paths, one a line.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Unlisted, is_image};
use crate::error::PixelError;

/// The files of a list, each under the text of its line, and the lines whose files are not there.
type Listed = (Vec<(String, PathBuf)>, Vec<Unlisted>);

/// Reads the list at `path`. Relative paths begin at the list's folder; blank lines do not count.
pub(super) fn read(path: &Path) -> Result<Listed, PixelError> {
    let text = String::from_utf8(super::read_file(path)?)
        .map_err(|_| PixelError::malformed(path, "a list of paths in UTF-8", "other bytes"))?;
    let folder = path.parent().unwrap_or(Path::new(""));
    let (mut files, mut unlisted, mut seen) = (Vec::new(), Vec::new(), BTreeSet::new());
    for (line_idx, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        if !is_image(Path::new(line)) {
            let expected = format!("in line {} the path of an image file", line_idx + 1);
            return Err(PixelError::malformed(path, expected, format!("`{line}`")));
        }
        if !seen.insert(line) {
            return Err(PixelError::Duplicate { path: path.to_path_buf(), key: line.to_owned() });
        }
        let (key, file) = (line.to_owned(), folder.join(line));
        match std::fs::metadata(&file) {
            Ok(_) => files.push((key, file)),
            Err(error) => unlisted.push(Unlisted { key, error: PixelError::io(&file, error) }),
        }
    }
    unlisted.sort_by(|a, b| a.key.cmp(&b.key));
    Ok((files, unlisted))
}
