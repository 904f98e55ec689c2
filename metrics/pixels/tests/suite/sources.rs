//! Folders, archives, lists and arrays give the same pictures under stable keys, in whatever order they lie.

use std::io::Write;
use std::path::Path;

use specimen_pixels::source::{Content, Loaded};
use specimen_pixels::{Image, PixelError, Source, decode};
use zip::write::{SimpleFileOptions, ZipWriter};

use crate::golden;

/// A binary PPM file of one colour.
fn ppm(width: usize, height: usize, value: u8) -> Vec<u8> {
    let mut file = format!("P6 {width} {height} 255\n").into_bytes();
    file.extend(std::iter::repeat_n(value, width * height * 3));
    file
}

fn write(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

fn write_zip(path: &Path, files: &[(&str, Vec<u8>)]) {
    let mut zip = ZipWriter::new(std::fs::File::create(path).unwrap());
    for (idx, (name, bytes)) in files.iter().enumerate() {
        let method = [zip::CompressionMethod::Stored, zip::CompressionMethod::Deflated][idx % 2];
        zip.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

fn npy(shape: &str, pixels: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend_from_slice(&u16::try_from(header.len()).unwrap().to_le_bytes());
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(pixels);
    file
}

fn refused(path: &Path) -> String {
    Source::open(path).unwrap_err().to_string()
}

#[test]
fn a_folder_is_walked_to_the_bottom_whatever_the_case_of_extensions() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "b/2.PPM", &ppm(3, 2, 2));
    write(folder.path(), "a.Ppm", &ppm(5, 4, 1));
    write(folder.path(), "b/c/3.pnm", &ppm(1, 1, 3));
    write(folder.path(), ".hidden/4.ppm", b"");
    write(folder.path(), "notes.md", b"");
    let source = Source::open(folder.path()).unwrap();
    assert_eq!(source.keys(), ["a.Ppm", "b/2.PPM", "b/c/3.pnm"]);
    assert_eq!(source.n_ignored(), 1);
    let sizes: Vec<(usize, usize)> =
        source.images().map(|loaded| loaded.image.unwrap()).map(|i| (i.width(), i.height())).collect();
    assert_eq!(sizes, [(5, 4), (3, 2), (1, 1)]);
}

#[test]
fn the_order_in_which_files_lie_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let files = [("z.ppm", ppm(2, 2, 9)), ("m/k.ppm", ppm(3, 1, 8)), ("a.ppm", ppm(1, 3, 7))];
    let reversed: Vec<_> = files.iter().rev().cloned().collect();
    write_zip(&folder.path().join("one.zip"), &files);
    write_zip(&folder.path().join("two.zip"), &reversed);
    for (name, bytes) in &files {
        write(&folder.path().join("folder"), name, bytes);
    }
    let line = |(name, _): &(&str, Vec<u8>)| format!("folder/{name}\n");
    write(folder.path(), "one.txt", files.iter().map(line).collect::<String>().as_bytes());
    write(folder.path(), "two.lst", reversed.iter().map(line).collect::<String>().as_bytes());

    let pictures = |name: &str| {
        let source = Source::open(&folder.path().join(name)).unwrap();
        source.images().map(|loaded| loaded.image.unwrap()).collect::<Vec<Image>>()
    };
    let expected = pictures("folder");
    assert_eq!(expected.len(), 3);
    for name in ["one.zip", "two.zip", "one.txt", "two.lst"] {
        assert_eq!(pictures(name), expected, "{name}");
    }
    let keys = |name: &str| Source::open(&folder.path().join(name)).unwrap().keys().to_vec();
    assert_eq!(keys("one.zip"), keys("folder"));
}

#[test]
fn a_broken_file_is_an_entry_with_its_error_and_the_others_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let jpeg = std::fs::read(golden::path("prep/odd_161x120_420.jpg")).unwrap();
    write(folder.path(), "1.jpg", &jpeg);
    write(folder.path(), "2.jpg", &jpeg[..jpeg.len() / 2]);
    write(folder.path(), "3.png", b"<html>");
    write(folder.path(), "4.png", &jpeg);
    let loaded: Vec<Loaded> = Source::open(folder.path()).unwrap().images().collect();
    let message = |idx: usize| loaded[idx].image.as_ref().unwrap_err().to_string();
    assert!(message(1).contains("2.jpg: the JPEG data end before the image does"), "{}", message(1));
    assert!(message(2).contains("3.png: expected a JPEG, PNG"), "{}", message(2));
    // The content decides, not the name.
    assert_eq!(loaded[3].image.as_ref().unwrap(), loaded[0].image.as_ref().unwrap());
    assert!(loaded.iter().all(|entry| entry.path.ends_with(&entry.key)));
}

#[test]
fn archives_skip_what_is_hidden_and_name_their_entries_in_messages() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("images.zip");
    let broken = ppm(9, 9, 1)[..50].to_vec();
    let hidden = [("__MACOSX/._a.ppm", vec![1]), (".b.ppm", vec![2]), ("readme.txt", vec![3])];
    write_zip(&path, &[&[("x/a.ppm", ppm(4, 4, 5)), ("x/broken.ppm", broken)], &hidden[..]].concat());
    let source = Source::open(&path).unwrap();
    assert_eq!(
        (source.keys(), source.n_ignored()),
        (&["x/a.ppm".to_owned(), "x/broken.ppm".to_owned()][..], 1)
    );
    let message = source.load(1).unwrap_err().to_string();
    assert!(message.contains("images.zip/x/broken.ppm"), "{message}");
    write(folder.path(), "no.zip", b"PK no archive");
    assert!(refused(&folder.path().join("no.zip")).contains("no.zip: expected a zip archive"));
}

#[test]
fn two_entries_of_one_name_in_an_archive_are_an_error_that_names_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("twice.zip");
    write_zip(
        &path,
        &[("x/a.ppm", ppm(4, 4, 5)), ("x/b.ppm", ppm(4, 4, 6)), ("c.txt", vec![1]), ("d.txt", vec![2])],
    );
    let mut bytes = std::fs::read(&path).unwrap();
    // Writers refuse it; other tools append a second one. Other files may stand in it twice.
    for (from, to) in [(b"x/b.ppm".as_slice(), b"x/a.ppm".as_slice()), (b"d.txt", b"c.txt")] {
        for at in 0..=bytes.len() - from.len() {
            if bytes[at..].starts_with(from) {
                bytes[at..at + to.len()].copy_from_slice(to);
            }
        }
    }
    std::fs::write(&path, &bytes).unwrap();
    let message = refused(&path);
    assert!(message.contains("twice.zip: `x/a.ppm` is in it twice"), "{message}");
}

#[test]
fn an_archives_names_that_begin_with_a_dot_count_as_what_they_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("images.zip");
    let entries = [("./b.ppm", ppm(3, 2, 1)), ("x/./a.ppm", ppm(4, 4, 5)), ("./.c.ppm", vec![1])];
    write_zip(&path, &entries);
    let source = Source::open(&path).unwrap();
    assert_eq!((source.keys(), source.n_ignored()), (&["b.ppm".to_owned(), "x/a.ppm".to_owned()][..], 0));
    assert_eq!(source.load(0).unwrap().width(), 3);
    // Two entries of one name, once that name is plain.
    write_zip(&path, &[("./b.ppm", ppm(3, 2, 1)), ("b.ppm", ppm(3, 2, 2))]);
    assert!(refused(&path).contains("images.zip: `b.ppm` is in it twice"), "{}", refused(&path));
    // A name that leads out of the archive is refused by name, or left out by name.
    for name in ["../a.ppm", "x/../../a.jpg", "../a.tif"] {
        write_zip(&path, &[("b.ppm", ppm(3, 2, 1)), (name, ppm(3, 2, 2)), ("../notes.md", vec![])]);
        let message = refused(&path);
        assert!(message.contains(&format!("expected names inside the archive, found `{name}`")), "{message}");
        let kept = Source::open_keeping_going(&path).unwrap();
        let left: Vec<&str> = kept.unlisted().iter().map(|entry| entry.key.as_str()).collect();
        assert_eq!((kept.keys(), left, kept.n_ignored()), (&["b.ppm".to_owned()][..], vec![name], 1));
    }
}

#[test]
fn pictures_in_a_format_that_is_not_read_are_never_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("images.zip");
    write(folder.path(), "x/a.ppm", &ppm(4, 4, 5));
    write(folder.path(), "x/b.TIF", b"II*");
    write(folder.path(), "list.txt", b"x/a.ppm\nx/absent.ppm\n");
    write_zip(&path, &[("x/a.ppm", ppm(4, 4, 5)), ("x/b.TIF", vec![1]), ("c.txt", vec![2])]);
    for (source, key, part) in [
        (path, "x/b.TIF", "images.zip/x/b.TIF: expected a picture in a format that is read"),
        (folder.path().join("x"), "b.TIF", "found a .tif file; save it as .png"),
        (folder.path().join("list.txt"), "x/absent.ppm", "x/absent.ppm: cannot be read"),
    ] {
        assert!(refused(&source).contains(part), "{}", refused(&source));
        let kept = Source::open_keeping_going(&source).unwrap();
        assert_eq!((kept.keys().len(), kept.unlisted().len()), (1, 1), "{}", source.display());
        assert_eq!(kept.unlisted()[0].key, key);
    }
    // Where nothing is left it is an error all the same.
    std::fs::remove_file(folder.path().join("x/a.ppm")).unwrap();
    assert!(Source::open_keeping_going(&folder.path().join("x")).is_err());
    assert!(Source::open_keeping_going(&folder.path().join("list.txt")).is_err());
    write_zip(&folder.path().join("other.zip"), &[("b.jxl", vec![1])]);
    assert!(Source::open_keeping_going(&folder.path().join("other.zip")).is_err());
}

#[cfg(unix)]
#[test]
fn what_a_folder_cannot_list_is_an_error_or_left_out_and_named() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let odd = std::ffi::OsStr::from_bytes(b"n\xffame.ppm");
    write(folder.path(), "b/good.ppm", &ppm(2, 2, 1));
    std::fs::write(folder.path().join("b").join(odd), ppm(2, 2, 2)).unwrap();
    let message = refused(folder.path());
    assert!(message.contains("names in UTF-8, found `b/n\\xffame.ppm`; rename it"), "{message}");
    std::os::unix::fs::symlink(folder.path(), folder.path().join("a_loop")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("absent"), folder.path().join("c.ppm")).unwrap();
    assert!(refused(folder.path()).contains("a_loop: cannot be read"), "{}", refused(folder.path()));
    let source = Source::open_keeping_going(folder.path()).unwrap();
    assert_eq!(source.keys(), ["b/good.ppm"]);
    let left: Vec<&str> = source.unlisted().iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(left, ["a_loop", "b/n\\xffame.ppm", "c.ppm"]);
    // Where nothing is left it is an error all the same.
    std::fs::remove_file(folder.path().join("b/good.ppm")).unwrap();
    assert!(Source::open_keeping_going(folder.path()).is_err());
}

#[test]
fn an_array_gives_its_pictures_under_numbers_of_equal_length() {
    let folder = tempfile::tempdir().unwrap();
    let pixels: Vec<u8> = (0..12 * 2 * 3).collect();
    write(folder.path(), "a.npy", &npy("(12, 1, 2, 3)", &pixels));
    let source = Source::open(&folder.path().join("a.npy")).unwrap();
    assert_eq!(
        (source.keys().len(), source.keys()[9].as_str(), source.keys()[11].as_str()),
        (12, "09", "11")
    );
    assert_eq!(source.load(11).unwrap(), Image::new(2, 1, pixels[66..].to_vec()));

    let refused_as = |shape: &str, n_bytes: usize| {
        write(folder.path(), "b.npy", &npy(shape, &vec![0; n_bytes]));
        refused(&folder.path().join("b.npy"))
    };
    assert!(refused_as("(12, 1, 2, 3)", 71).contains("expected 72 bytes behind the header"));
    assert!(refused_as("(12, 1, 2)", 24).contains("the shape (n, h, w, 3)"));
    assert!(refused_as("(1, 0, 2, 3)", 0).contains("pictures of 1 to"));
    assert!(refused_as("(0, 1, 2, 3)", 0).contains("no images"));
    // Nobody's array, whose names alone would fill the memory: the file need not hold what it claims.
    assert!(refused_as("(9000000000, 1, 1, 3)", 3).contains("at most 20000000 pictures"));
    write(
        folder.path(),
        "f.npy",
        &String::from_utf8_lossy(&npy("(1, 1, 1, 3)", b"abc")[10..]).into_owned().into_bytes(),
    );
    assert!(refused(&folder.path().join("f.npy")).contains("a .npy file"));
    let floats = npy("(1, 1, 1, 3)", b"abc");
    let at = floats.windows(3).position(|bytes| bytes == b"|u1").unwrap();
    let floats = [&floats[..at], b"<f4", &floats[at + 3..]].concat();
    write(folder.path(), "g.npy", &floats);
    assert!(refused(&folder.path().join("g.npy")).contains("an array of bytes"));
}

#[test]
fn what_cannot_be_a_source_says_why() {
    let folder = tempfile::tempdir().unwrap();
    assert!(refused(folder.path()).contains("no images"));
    assert!(matches!(Source::open(&folder.path().join("absent")), Err(PixelError::Io { .. })));
    write(folder.path(), "list.txt", b"a.ppm\n\na.ppm\n");
    assert!(refused(&folder.path().join("list.txt")).contains("`a.ppm` is in it twice"));
    write(folder.path(), "list.txt", b"a.ppm\na caption\n");
    assert!(refused(&folder.path().join("list.txt")).contains("in line 2 the path of an image file"));
    write(folder.path(), "list.txt", b"absent.ppm\n");
    assert!(refused(&folder.path().join("list.txt")).contains("absent.ppm: cannot be read"));
    write(folder.path(), "x.bin", b"");
    assert!(refused(&folder.path().join("x.bin")).contains("expected a folder"));
}

#[test]
fn a_digest_is_that_of_the_content_not_of_its_place() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "a/1.ppm", &ppm(2, 2, 1));
    write(folder.path(), "b/7.ppm", &ppm(2, 2, 1));
    write(folder.path(), "c/7.ppm", &ppm(2, 2, 2));
    let source = Source::open(folder.path()).unwrap();
    let digest = |idx: usize| source.read(idx).unwrap().digest();
    assert_eq!(digest(0), digest(1));
    assert_ne!(digest(1), digest(2));
    let Content::Encoded(bytes) = source.read(0).unwrap() else { panic!("files are encoded") };
    assert_eq!(decode(&bytes).unwrap(), source.load(0).unwrap());
}

#[test]
fn threads_read_entries_as_one_thread_does() {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<(String, Vec<u8>)> =
        (0..40_u8).map(|n| (format!("{n}.ppm"), ppm(7, 5 + usize::from(n % 3), n))).collect();
    let files: Vec<(&str, Vec<u8>)> =
        files.iter().map(|(name, bytes)| (name.as_str(), bytes.clone())).collect();
    write_zip(&folder.path().join("a.zip"), &files);
    write(folder.path(), "a.npy", &npy("(40, 1, 2, 3)", &(0..240).collect::<Vec<u8>>()));
    for name in ["a.zip", "a.npy"] {
        let source = &Source::open(&folder.path().join(name)).unwrap();
        let expected: Vec<Image> = (0..40).map(|idx| source.load(idx).unwrap()).collect();
        let found: Vec<Vec<Image>> = std::thread::scope(|scope| {
            let read = move || (0..40).map(|idx| source.load(idx).unwrap()).collect();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(read)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(found.iter().all(|images| *images == expected), "{name}");
    }
}
