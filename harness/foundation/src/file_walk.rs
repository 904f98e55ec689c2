//! The files below a folder.

use std::path::{Path, PathBuf};

pub use walkdir::Error as WalkError;
use walkdir::{DirEntry, WalkDir};

/// A file below a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WalkedFile {
    /// Its path inside the folder.
    pub inside: PathBuf,
    /// Its path.
    pub path: PathBuf,
}

impl WalkedFile {
    /// Its path inside the folder with `/`; `None` where that is no UTF-8.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        let parts: Option<Vec<&str>> =
            self.inside.components().map(|part| part.as_os_str().to_str()).collect();
        parts.map(|parts| parts.join("/"))
    }
}

/// The files below `root`, in no order. Folders are walked to the bottom, links are followed, hidden files and folders are
/// skipped. An entry that cannot be read is an error in its place; an error of depth 0 is one of `root` itself.
pub fn files_below(root: &Path) -> impl Iterator<Item = Result<WalkedFile, WalkError>> {
    let is_visible =
        |entry: &DirEntry| entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".");
    let entries = WalkDir::new(root).follow_links(true).into_iter().filter_entry(is_visible);
    entries.filter(|entry| !entry.as_ref().is_ok_and(|entry| !entry.file_type().is_file())).map(
        move |entry| {
            let path = entry?.into_path();
            let inside = path.strip_prefix(root).expect("walkdir stays below its root").to_path_buf();
            Ok(WalkedFile { inside, path })
        },
    )
}
