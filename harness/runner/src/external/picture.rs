//! The file that a process or a table names: below its folder, of bounded size, a picture.

use std::{fs::File, io::Read, path::Path};

use specimen_pixels::Image;

use crate::external::error::{ExternalError, shown};

/// Bytes of an image file, at most.
pub const MAX_FILE_BYTES: u64 = 64 << 20;
/// Pixels of a side, at most.
pub const MAX_SIDE: usize = 8192;

/// Reads the picture `name`, which must lie in `folder` or below it, through links as well.
pub fn read(folder: &Path, name: &str) -> Result<Image, ExternalError> {
    let bad = |problem: String| ExternalError::Picture { name: shown(name, 200), problem };
    let root = folder.canonicalize().map_err(|source| ExternalError::Io {
        path: folder.to_owned(),
        what: "find the folder of images",
        source,
    })?;
    if name.len() > 4096 {
        return Err(bad("has a path of more than 4,096 bytes".to_owned()));
    }
    // An absolute path replaces the folder, which the check below then refuses unless the result is inside
    // the folder.
    let path = root.join(name).canonicalize().map_err(|e| bad(format!("cannot be found: {e}")))?;
    if !path.starts_with(&root) {
        return Err(bad("is outside the folder that the request named; write it there".to_owned()));
    }
    let unreadable = |e: std::io::Error| bad(format!("cannot be read: {e}"));
    if !path.metadata().map_err(unreadable)?.is_file() {
        return Err(bad("is no regular file".to_owned()));
    }
    let file = File::open(&path).map_err(unreadable)?;
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(bad(format!("has more than {MAX_FILE_BYTES} bytes")));
    }
    let image = specimen_pixels::decode(&bytes).map_err(|e| bad(format!("is no picture: {e}")))?;
    let (width, height) = (image.width(), image.height());
    if width > MAX_SIDE || height > MAX_SIDE {
        return Err(bad(format!("is {width}x{height}; at most {MAX_SIDE} pixels a side are taken")));
    }
    Ok(image)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;

    const DOT: &[u8] = b"P6 1 1 255\nabc";

    #[track_caller]
    fn check_refused(folder: &Path, name: &str, part: &str) {
        let message = read(folder, name).unwrap_err().to_string();
        assert!(message.contains(part), "`{part}` is not in `{message}`");
        assert!(!message.contains('\u{1b}'), "{message:?}");
    }

    #[test]
    fn a_picture_below_the_folder_is_read_by_either_kind_of_path() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("sub")).unwrap();
        std::fs::write(folder.path().join("sub/a.ppm"), DOT).unwrap();
        assert_eq!(read(folder.path(), "sub/a.ppm").unwrap().rgb(), b"abc");
        let absolute = folder.path().join("sub/../sub/a.ppm");
        assert_eq!(read(folder.path(), absolute.to_str().unwrap()).unwrap().rgb(), b"abc");
    }

    #[test]
    fn a_file_outside_the_folder_and_one_that_is_no_picture_are_refused() {
        let outer = tempfile::tempdir().unwrap();
        std::fs::write(outer.path().join("secret.ppm"), DOT).unwrap();
        let folder = outer.path().join("images");
        std::fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(outer.path().join("secret.ppm"), folder.join("link.ppm")).unwrap();
        std::fs::create_dir(folder.join("a.png")).unwrap();
        std::fs::write(folder.join("text.png"), "hello").unwrap();
        std::fs::write(folder.join("wide.ppm"), [b"P6 8193 1 255\n".as_slice(), &[0; 3 * 8193]].concat())
            .unwrap();
        for outside in ["../secret.ppm", "link.ppm", "/etc/hostname", "a.png/../../secret.ppm"] {
            check_refused(&folder, outside, "outside the folder");
        }
        check_refused(&folder, "b.png", "cannot be found");
        check_refused(&folder, "\u{1b}[2J.png", "\\u{1b}[2J.png` cannot be found");
        check_refused(&folder, "a\0b", "cannot be found");
        check_refused(&folder, "a.png", "no regular file");
        check_refused(&folder, "", "no regular file");
        check_refused(&folder, "text.png", "is no picture");
        check_refused(&folder, "wide.ppm", "is 8193x1; at most 8192");
        check_refused(&folder, &"a".repeat(5000), "more than 4,096 bytes");
    }

    #[test]
    fn a_file_beyond_the_limit_is_not_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = File::create(folder.path().join("large.png")).unwrap();
        file.set_len(MAX_FILE_BYTES + 2).unwrap();
        check_refused(folder.path(), "large.png", "more than 67108864 bytes");
    }
}
