//! The image files below a folder, and the prompt that a file's name gives.
//!
//! Folders are walked to the bottom, links are followed, hidden files are skipped, and the order is that of the
//! relative paths.

use crate::error::{DatasetError, Place, Result};
use crate::prompt::PromptId;
use image::ImageReader;
use specimen_foundation::{failure, file_walk::files_below};
use std::path::Path;

/// Extensions of image files, compared without case.
const EXTENSIONS: [&str; 5] = ["png", "jpg", "jpeg", "webp", "bmp"];

/// The id in a file's name: the last run of ASCII digits before the extension, without leading zeros
/// (`000000012280.jpg` is `12280`); a run of zeros is `0`.
pub(crate) fn id_from_name(path: &Path) -> std::result::Result<PromptId, &'static str> {
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
    let metadata = std::fs::metadata(root).map_err(|e| DatasetError::io(root, e))?;
    if !metadata.is_dir() {
        let path = root.to_path_buf();
        return Err(crate::error::wrong_kind(&path, "a folder of images", "a file"));
    }
    let mut names = Vec::new();
    for file in files_below(root) {
        let file = file.map_err(|e| {
            let path = e.path().unwrap_or(root).to_path_buf();
            DatasetError::Io { path, source: e.into() }
        })?;
        let is_image =
            file.path.extension().is_some_and(|e| EXTENSIONS.iter().any(|x| e.eq_ignore_ascii_case(x)));
        if is_image {
            names.push(file.name().ok_or_else(
                || failure!(Missing: "{}: the path is not UTF-8; rename it", file.path.display()),
            )?);
        }
    }
    names.sort();
    Ok(names)
}

/// How many images there are below `root`. Where they are `n`, each must begin as a picture of some size does.
pub(crate) fn n_pictures(root: &Path, n: usize) -> Result<usize> {
    let names = names(root)?;
    for name in names.iter().filter(|_| names.len() == n) {
        let path = root.join(name);
        let opened = ImageReader::open(&path).and_then(ImageReader::with_guessed_format);
        let size = opened.map_err(|e| DatasetError::io(&path, e))?.into_dimensions();
        let found = match size {
            Ok((width, height)) if width > 0 && height > 0 => continue,
            Ok((width, height)) => format!("one of {width} x {height} pixels"),
            Err(error) => error.to_string(),
        };
        return Err(DatasetError::malformed(&path, Place::Byte(0), "a picture", found));
    }
    Ok(names.len())
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
        assert_eq!(names(folder.path()).unwrap(), ["4.bmp", "a10.png", "a9.WebP", "b/2.JPG", "b/c/3.jpeg"]);
    }

    #[test]
    fn an_empty_folder_has_no_images_and_a_file_is_an_error() {
        assert_eq!(names(folder_of(&["a.txt"]).path()).unwrap(), [""; 0]);
        let folder = folder_of(&["1.png"]);
        assert!(names(&folder.path().join("1.png")).unwrap_err().to_string().contains("found a file"));
        assert!(matches!(names(&folder.path().join("absent")), Err(DatasetError::Io { .. })));
    }
}
