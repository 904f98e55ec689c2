//! A folder of images and the id of each: generated images, reference photos.
//!
//! The id is the last run of digits in the file name without its extension, leading zeros stripped
//! (`000000012280.jpg` is `12280`, `prompt_12.png` is `12`), or what a mapping file says. Folders are walked
//! to the bottom, links are followed, hidden files are skipped, and the order is that of the relative paths.

use crate::delimited;
use crate::error::{DatasetError, Result};
use crate::prompt::PromptId;
use crate::prompts_file::extension;
use crate::read;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// Extensions of image files, compared without case.
pub const EXTENSIONS: [&str; 5] = ["png", "jpg", "jpeg", "webp", "bmp"];

/// One image file and its id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageEntry {
    /// Unique in the folder.
    pub id: PromptId,
    /// The folder's path and the path inside it.
    pub path: PathBuf,
}

/// The images of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageFolder {
    // Invariant: `entries` is not empty, is sorted by path inside `root`, and its ids are unique.
    root: PathBuf,
    entries: Vec<ImageEntry>,
    n_ignored: usize,
    mapped_but_absent: Vec<String>,
}

impl ImageFolder {
    /// The images below `root`, with ids read off their names.
    ///
    /// # Errors
    /// A folder without images, a name without a digit, two names with one id.
    pub fn scan(root: &Path) -> Result<Self> {
        let (files, n_ignored) = image_files(root)?;
        let with_id = |file: FoundImage| {
            let id = id_from_name(&file.path).map_err(|why| without_id(&file.path, why))?;
            Ok(ImageEntry { id, path: file.path })
        };
        let entries = files.into_iter().map(with_id).collect::<Result<Vec<_>>>()?;
        Self::checked(root, entries, n_ignored, Vec::new())
    }

    /// The images below `root`, with ids from a mapping file: CSV, or TSV when its extension is `tsv`, with the
    /// columns `name` (path inside the folder with `/`) and `id`.
    ///
    /// # Errors
    /// An image without a row, a name that stands twice, and as [`ImageFolder::scan`] does; rows without an image
    /// are listed in [`ImageFolder::mapped_but_absent`].
    pub fn scan_with_mapping(root: &Path, mapping: &Path) -> Result<Self> {
        let mut id_of = read_mapping(mapping)?;
        let (files, n_ignored) = image_files(root)?;
        let mut entries = Vec::with_capacity(files.len());
        for file in files {
            let id = id_of
                .remove(&file.name)
                .ok_or_else(|| without_id(&file.path, "no row of the mapping file names it"))?;
            entries.push(ImageEntry { id, path: file.path });
        }
        Self::checked(root, entries, n_ignored, id_of.into_keys().collect())
    }

    /// The folder, as it was given.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The images in order of their paths, at least one.
    #[must_use]
    pub fn entries(&self) -> &[ImageEntry] {
        &self.entries
    }

    /// Number of visible files that are no images.
    #[must_use]
    pub fn n_ignored(&self) -> usize {
        self.n_ignored
    }

    /// Names in the mapping file that the folder does not have, sorted.
    #[must_use]
    pub fn mapped_but_absent(&self) -> &[String] {
        &self.mapped_but_absent
    }

    fn checked(
        root: &Path,
        entries: Vec<ImageEntry>,
        n_ignored: usize,
        mapped_but_absent: Vec<String>,
    ) -> Result<Self> {
        let mut path_of: BTreeMap<&PromptId, &Path> = BTreeMap::new();
        for entry in &entries {
            if let Some(first) = path_of.insert(&entry.id, &entry.path) {
                return Err(DatasetError::DuplicateImage {
                    id: entry.id.to_string(),
                    first: first.to_path_buf(),
                    second: entry.path.clone(),
                });
            }
        }
        if entries.is_empty() {
            return Err(DatasetError::NoImages { path: root.to_path_buf(), n_ignored });
        }
        Ok(Self { root: root.to_path_buf(), entries, n_ignored, mapped_but_absent })
    }
}

/// The id in a file's name: the last run of ASCII digits before the extension, without leading zeros; a run of zeros
/// is `0`. The error says why there is none.
///
/// # Errors
/// The reason why there is none: no digit, or one too many.
pub fn id_from_name(path: &Path) -> std::result::Result<PromptId, &'static str> {
    let stem = path.file_stem().and_then(|stem| stem.to_str()).ok_or("the file name is not UTF-8")?;
    let is_digit = |c: char| c.is_ascii_digit();
    let end = stem.rfind(is_digit).ok_or("the file name has no digits to take the id from")? + 1;
    let start = stem[..end]
        .rfind(|c| !is_digit(c))
        .map_or(0, |at| at + stem[at..].chars().next().map_or(0, char::len_utf8));
    let digits = stem[start..end].trim_start_matches('0');
    PromptId::new(if digits.is_empty() { "0" } else { digits })
        .map_err(|_| "the file name has more than 128 digits in a row")
}

/// Paths of the images below `root`, inside it and with `/`, sorted.
pub(crate) fn names(root: &Path) -> Result<Vec<String>> {
    Ok(image_files(root)?.0.into_iter().map(|file| file.name).collect())
}

/// Number of image files below `root`, and of other visible files.
pub(crate) fn count(root: &Path) -> Result<(usize, usize)> {
    image_files(root).map(|(files, n_ignored)| (files.len(), n_ignored))
}

struct FoundImage {
    /// Path inside the folder with `/`, as mapping files spell it.
    name: String,
    path: PathBuf,
}

fn image_files(root: &Path) -> Result<(Vec<FoundImage>, usize)> {
    let metadata = std::fs::metadata(root).map_err(|e| DatasetError::io(root, e))?;
    if !metadata.is_dir() {
        let path = root.to_path_buf();
        return Err(DatasetError::WrongKind { path, expected: "a folder of images", found: "a file" });
    }
    let is_visible = |entry: &walkdir::DirEntry| {
        entry.depth() == 0 || !entry.file_name().as_encoded_bytes().starts_with(b".")
    };
    let (mut files, mut n_ignored) = (Vec::new(), 0);
    for entry in WalkDir::new(root).follow_links(true).into_iter().filter_entry(is_visible) {
        let entry = entry.map_err(|e| {
            let path = e.path().unwrap_or(root).to_path_buf();
            DatasetError::Io { path, source: e.into() }
        })?;
        if !entry.file_type().is_file() {
            continue;
        }
        let is_image =
            entry.path().extension().is_some_and(|e| EXTENSIONS.iter().any(|x| e.eq_ignore_ascii_case(x)));
        if !is_image {
            n_ignored += 1;
            continue;
        }
        let inside = entry.path().strip_prefix(root).expect("walkdir stays below its root");
        let parts: Option<Vec<&str>> = inside.components().map(|part| part.as_os_str().to_str()).collect();
        let name = parts.ok_or_else(|| without_id(entry.path(), "the path is not UTF-8"))?.join("/");
        files.push(FoundImage { name, path: entry.into_path() });
    }
    files.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((files, n_ignored))
}

fn read_mapping(mapping: &Path) -> Result<BTreeMap<String, PromptId>> {
    let (text, _) = read::text(mapping)?;
    let table = match extension(mapping).as_str() {
        "tsv" => delimited::tsv(mapping, &text)?,
        _ => delimited::csv(mapping, &text)?,
    };
    let name_column = table.required_column(mapping, "name")?;
    let id_column = table.required_column(mapping, "id")?;
    let mut id_of = BTreeMap::new();
    for record in &table.records {
        let (name, id) = (&record[name_column], &record[id_column]);
        let prompt_id = PromptId::new(id.text.as_str()).map_err(|e| {
            let expected = format!("an id that {}", e.rule);
            DatasetError::malformed(mapping, id.place.clone(), expected, read::quote(&id.text))
        })?;
        if id_of.insert(name.text.clone(), prompt_id).is_some() {
            let found = format!("{} again", read::quote(&name.text));
            return Err(DatasetError::malformed(mapping, name.place.clone(), "one row an image", found));
        }
    }
    Ok(id_of)
}

fn without_id(path: &Path, why: &'static str) -> DatasetError {
    DatasetError::ImageWithoutId { path: path.to_path_buf(), why }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    fn folder_of(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in names {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        folder
    }

    fn ids(folder: &ImageFolder) -> Vec<&str> {
        folder.entries().iter().map(|entry| entry.id.as_str()).collect()
    }

    #[test]
    fn the_id_is_the_last_digit_run_without_leading_zeros() {
        for (name, expected) in [
            ("000000012280.jpg", "12280"),
            ("prompt_12.png", "12"),
            ("a/b 7/step3_000.png", "0"),
            ("12é.png", "12"),
            ("é0012.png", "12"),
            ("v2_img10.final.png", "10"),
            ("100.png", "100"),
        ] {
            assert_eq!(id_from_name(Path::new(name)).unwrap().as_str(), expected, "{name}");
        }
        assert!(id_from_name(Path::new("cover.png")).is_err());
        assert!(id_from_name(Path::new("٣.png")).is_err());
    }

    #[test]
    fn images_are_found_in_path_order_whatever_the_case_of_their_extension() {
        let folder = folder_of(&[
            "b/2.JPG",
            "a10.png",
            "a9.WebP",
            "b/c/3.jpeg",
            "4.bmp",
            "notes.txt",
            ".hidden5.png",
            "x.gif",
        ]);
        let images = ImageFolder::scan(folder.path()).unwrap();
        assert_eq!(ids(&images), ["4", "10", "9", "2", "3"]);
        assert_eq!(images.n_ignored(), 2);
    }

    #[test]
    fn two_files_with_one_id_are_an_error_that_names_both() {
        let folder = folder_of(&["a/001.png", "b/1.jpg", "2.png"]);
        let message = ImageFolder::scan(folder.path()).unwrap_err().to_string();
        assert!(
            message.contains("001.png") && message.contains("1.jpg") && message.contains("id `1`"),
            "{message}"
        );
    }

    #[test]
    fn a_name_without_digits_an_empty_folder_and_a_file_are_errors() {
        let message = |names: &[&str]| ImageFolder::scan(folder_of(names).path()).unwrap_err().to_string();
        assert!(message(&["cover.png"]).contains("cover.png: the file name has no digits"));
        assert!(message(&["a.txt"]).contains("no image files"));
        let folder = folder_of(&["1.png"]);
        assert!(
            ImageFolder::scan(&folder.path().join("1.png")).unwrap_err().to_string().contains("found a file")
        );
        assert!(matches!(ImageFolder::scan(&folder.path().join("absent")), Err(DatasetError::Io { .. })));
    }

    #[test]
    fn a_mapping_file_names_images_that_have_no_number() {
        let folder = folder_of(&["cat.png", "sub/dog.png"]);
        let outside = tempfile::tempdir().unwrap();
        let mapping = |name: &str, text: &str| {
            let path = outside.path().join(name);
            std::fs::write(&path, text).unwrap();
            ImageFolder::scan_with_mapping(folder.path(), &path)
        };
        let images = mapping("m.csv", "name,id\nsub/dog.png,7\ncat.png,x-1\ngone.png,9\n").unwrap();
        assert_eq!(ids(&images), ["x-1", "7"]);
        assert_eq!(images.mapped_but_absent(), ["gone.png"]);
        assert_eq!(ids(&mapping("m.tsv", "id\tname\n1\tcat.png\n2\tsub/dog.png\n").unwrap()), ["1", "2"]);

        let refused = |text: &str| mapping("m.csv", text).unwrap_err().to_string();
        assert!(refused("name,id\ncat.png,1\n").contains("dog.png: no row of the mapping file"));
        assert!(refused("name,id\ncat.png,1\nsub/dog.png,1\n").contains("both have the id `1`"));
        assert!(
            refused("name,id\ncat.png,1\ncat.png,2\n")
                .contains("line 3, column 1: expected one row an image")
        );
        assert!(refused("file,id\ncat.png,1\n").contains("a column `name`"));
        assert!(refused("name,id\ncat.png,\n").contains("line 2, column 9"));
    }
}
