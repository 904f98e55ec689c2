//! Takes a file or a folder out of a dataset's zip archive. What is unpacked has its name only when it is whole: every
//! entry is read to its end and agrees with the archive's CRC.

use std::{
    fs::{self, File},
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use zip::{ZipArchive, result::ZipError};

use crate::hub::HubError;

/// The largest file that is taken out of an archive, in bytes; the largest of COCO's is a tenth of it.
pub const MAX_FILE_BYTES: u64 = 1 << 30;
/// The most files of a folder.
pub const MAX_FILES: usize = 1_000_000;

const REMEDY: &str = "remove it and fetch it again";
/// What makes an unfinished file or folder another's.
const PARTIAL: &str = "incomplete";

/// Writes the entry `name` of `archive` to `to`; what is there is replaced.
pub fn unpack_file(archive: &Path, name: &str, to: &Path) -> Result<(), HubError> {
    let mut zip = opened(archive)?;
    let index = zip.index_for_name(name);
    let index = index.ok_or_else(|| damaged(archive, format!("it has no file {name}")))?;
    make_folder(to)?;
    let partial = partial(to);
    write_entry(&mut zip, archive, index, &partial)?;
    fs::rename(&partial, to).map_err(HubError::io(to, "cannot give it its name"))
}

/// Writes the files directly below the folder `name` of `archive` to the folder `to`, which must not exist yet;
/// `progress` is given how many are done, and of how many. Returns their number.
pub fn unpack_folder(
    archive: &Path,
    name: &str,
    to: &Path,
    progress: &mut dyn FnMut(usize, usize),
) -> Result<usize, HubError> {
    if to.exists() {
        let found =
            io::Error::new(io::ErrorKind::AlreadyExists, "it exists; move it away, or use it as it is");
        return Err(HubError::io(to, "cannot unpack into it")(found));
    }
    let mut zip = opened(archive)?;
    let prefix = format!("{name}/");
    // Only plain names below the folder: nothing leads out of it, and folders in it are left out.
    let is_plain = |name: &str| !name.is_empty() && name != ".." && !name.contains(['/', '\\', '\0']);
    let wanted = |index: usize| {
        let full = zip.name_for_index(index)?.ok()?;
        let plain = full.strip_prefix(&prefix).filter(|plain| is_plain(plain))?;
        Some((index, plain.to_owned()))
    };
    let entries: Vec<(usize, String)> = (0..zip.len()).filter_map(wanted).collect();
    if let Some((_, hostile)) = entries.iter().find(|(_, plain)| plain.contains(char::is_control)) {
        return Err(damaged(
            archive,
            format!("a file with the name {hostile:?}, which has control characters"),
        ));
    }
    if entries.is_empty() || entries.len() > MAX_FILES {
        let found = format!("{} files in its folder {name}, expected 1 to {MAX_FILES}", entries.len());
        return Err(damaged(archive, found));
    }
    let partial = partial(to);
    if partial.exists() {
        fs::remove_dir_all(&partial).map_err(HubError::io(&partial, "cannot remove it"))?;
    }
    fs::create_dir_all(&partial).map_err(HubError::io(&partial, "cannot make the folder"))?;
    for (n_done, (index, plain)) in entries.iter().enumerate() {
        write_entry(&mut zip, archive, *index, &partial.join(plain))?;
        progress(n_done + 1, entries.len());
    }
    fs::rename(&partial, to).map_err(HubError::io(to, "cannot give it its name"))?;
    Ok(entries.len())
}

fn opened(archive: &Path) -> Result<ZipArchive<File>, HubError> {
    let file = File::open(archive).map_err(HubError::io(archive, "cannot open it"))?;
    ZipArchive::new(file).map_err(|error| match error {
        ZipError::Io(source) if is_of_system(&source) => HubError::io(archive, "cannot read it")(source),
        error => damaged(archive, format!("not a whole zip archive: {error}")),
    })
}

/// Writes one entry to a new file, forced to the disk.
fn write_entry(zip: &mut ZipArchive<File>, archive: &Path, index: usize, to: &Path) -> Result<(), HubError> {
    let entry = zip.by_index(index).map_err(|error| damaged(archive, error.to_string()))?;
    let name = entry.name().map_err(|error| damaged(archive, error.to_string()))?.into_owned();
    let n_bytes = entry.size();
    if n_bytes > MAX_FILE_BYTES {
        let found = format!("{name} has {n_bytes} bytes, more than {MAX_FILE_BYTES}");
        return Err(damaged(archive, found));
    }
    let mut out = File::create(to).map_err(HubError::io(to, "cannot write it"))?;
    // A declared size may lie: one byte more than it is enough to see that.
    let (mut body, mut block, mut n_read) = (entry.take(n_bytes + 1), vec![0; 1 << 18], 0);
    loop {
        let n = body.read(&mut block).map_err(|error| match is_of_system(&error) {
            true => HubError::io(archive, "cannot read it")(error),
            false => damaged(archive, format!("{name}: {error}")),
        })?;
        if n == 0 {
            break;
        }
        n_read += n as u64;
        out.write_all(&block[..n]).map_err(HubError::io(to, "cannot write it"))?;
    }
    if n_read != n_bytes {
        let found = format!("{name} has {n_read} bytes or more, expected {n_bytes}");
        return Err(damaged(archive, found));
    }
    out.sync_all().map_err(HubError::io(to, "cannot force it to the disk"))
}

/// Whether the system could not read, which says nothing about what there is to read.
fn is_of_system(error: &std::io::Error) -> bool {
    error.raw_os_error().is_some()
}

fn damaged(archive: &Path, found: String) -> HubError {
    HubError::Archive { archive: archive.to_owned(), found, remedy: REMEDY }
}

fn make_folder(file: &Path) -> Result<(), HubError> {
    let folder = file.parent().expect("a file is in a folder");
    fs::create_dir_all(folder).map_err(HubError::io(folder, "cannot make the folder"))
}

fn partial(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{PARTIAL}"));
    path.with_file_name(name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // a test may panic
mod tests {
    use super::*;
    use zip::{ZipWriter, write::SimpleFileOptions};

    fn archive(folder: &Path, files: &[(&str, &[u8])]) -> PathBuf {
        let path = folder.join("it.zip");
        let mut zip = ZipWriter::new(File::create(&path).unwrap());
        for (name, bytes) in files {
            zip.start_file(*name, SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap();
        path
    }

    #[test]
    fn a_name_with_control_characters_is_refused_and_written_as_escapes() {
        let desk = tempfile::tempdir().unwrap();
        let zip = archive(desk.path(), &[("val/1.jpg", b"one"), ("val/\u{1b}[2J.jpg", b"two")]);
        let to = desk.path().join("val");
        let said = unpack_folder(&zip, "val", &to, &mut |_, _| {}).unwrap_err().to_string();
        assert!(said.contains("\\u{1b}[2J.jpg") && !said.contains('\u{1b}'), "{said}");
        assert!(!to.exists());
    }

    #[test]
    fn a_file_and_a_folder_come_out_whole() {
        let desk = tempfile::tempdir().unwrap();
        let files: &[(&str, &[u8])] = &[
            ("val/1.jpg", b"one"),
            ("val/2.jpg", b"two"),
            ("val/deep/3.jpg", b"three"),
            ("notes.txt", b"n"),
        ];
        let zip = archive(desk.path(), files);
        unpack_file(&zip, "notes.txt", &desk.path().join("a/notes.txt")).unwrap();
        assert_eq!(fs::read(desk.path().join("a/notes.txt")).unwrap(), b"n");

        let (to, mut reported) = (desk.path().join("b/val"), Vec::new());
        let n = unpack_folder(&zip, "val", &to, &mut |done, all| reported.push((done, all))).unwrap();
        assert_eq!((n, reported), (2, vec![(1, 2), (2, 2)]));
        assert_eq!(fs::read(to.join("2.jpg")).unwrap(), b"two");
        assert!(!to.join("deep").exists() && !desk.path().join("b/val.incomplete").exists());
        let again = unpack_folder(&zip, "val", &to, &mut |_, _| {}).unwrap_err().to_string();
        assert!(again.contains("it exists"), "{again}");
    }

    #[test]
    fn what_leads_out_of_the_folder_is_left_out() {
        let desk = tempfile::tempdir().unwrap();
        let zip =
            archive(desk.path(), &[("val/../../out.jpg", b"x"), ("val/..", b"y"), ("val/1.jpg", b"one")]);
        assert_eq!(unpack_folder(&zip, "val", &desk.path().join("in/val"), &mut |_, _| {}).unwrap(), 1);
        assert!(!desk.path().join("out.jpg").exists());
    }

    #[test]
    fn a_damaged_archive_leaves_nothing_under_the_name() {
        let desk = tempfile::tempdir().unwrap();
        let bytes = b"some words that are packed and then changed, so that their CRC is another";
        let zip = archive(desk.path(), &[("val/1.jpg", bytes)]);
        let mut damaged = fs::read(&zip).unwrap();
        damaged[45] ^= 0xff;
        fs::write(&zip, damaged).unwrap();
        for (name, part) in [("val/1.jpg", "it.zip: "), ("absent", "it has no file absent")] {
            let said = unpack_file(&zip, name, &desk.path().join("out")).unwrap_err().to_string();
            assert!(said.contains(part) && said.contains("fetch it again"), "{said}");
        }
        let said = unpack_folder(&zip, "val", &desk.path().join("val"), &mut |_, _| {}).unwrap_err();
        assert!(said.to_string().contains("fetch it again"), "{said}");
        assert!(!desk.path().join("out").exists() && !desk.path().join("val").exists());
        fs::write(&zip, b"no archive").unwrap();
        let said = unpack_file(&zip, "x", &desk.path().join("out")).unwrap_err().to_string();
        assert!(said.contains("not a whole zip archive"), "{said}");
    }
}
