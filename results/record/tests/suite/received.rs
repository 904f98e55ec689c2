//! A run folder that comes from somebody else: links and special files in every place of it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use specimen_record::{
    Appender, Durability, MachineRow, Manifest, Record, RunDir, file_digest, open_in_place, open_to_read,
    read_bounded, read_document, read_rows, unfinished_files,
};

use crate::fixture::old_run::copied;

/// All files and folders below a folder, and places in each folder where nothing is yet.
fn places(root: &Path) -> Vec<PathBuf> {
    let mut found = vec![root.join("lock"), root.join("any name")];
    for entry in fs::read_dir(root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(places(&path));
        }
        found.push(path);
    }
    found
}

/// Words of a kind, and what makes one of it.
type Maker<'a> = (&'a str, &'a dyn Fn(&Path));

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn a_link_or_a_special_file_anywhere_in_a_run_is_refused_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let run = copied(folder.path());
    fs::create_dir_all(run.report()).unwrap();
    let (outside, kept) = (folder.path().join("outside"), folder.path().join("kept"));
    let makers: [Maker<'_>; 4] = [
        ("a symbolic link", &|place| symlink(&outside, place).unwrap()),
        ("a symbolic link", &|place| symlink("/dev/zero", place).unwrap()),
        ("a named pipe", &fifo),
        ("a socket", &|place| drop(std::os::unix::net::UnixListener::bind(place).unwrap())),
    ];
    let places = places(run.root());
    assert!(places.len() > 50, "{}", places.len());
    for place in &places {
        let was_there = place.exists();
        for (kind, make) in makers {
            if was_there {
                fs::rename(place, &kept).unwrap();
            }
            make(place);
            let refused = RunDir::open(run.root()).unwrap_err().to_string();
            let expected = format!("{}: this is {kind}; below the folder of a run", place.display());
            assert!(refused.starts_with(&expected), "{refused}");
            fs::remove_file(place).unwrap();
            if was_there {
                fs::rename(&kept, place).unwrap();
            }
        }
    }
    RunDir::open(run.root()).unwrap();
}

#[test]
fn of_several_links_the_first_is_named_and_the_others_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let run = copied(folder.path());
    for name in ["c", "a", "b"] {
        symlink("/", run.root().join(name)).unwrap();
    }
    let refused = RunDir::open(run.root()).unwrap_err().to_string();
    assert!(refused.contains("/a: this is a symbolic link, and 2 more links"), "{refused}");
}

#[test]
fn a_new_run_is_not_made_over_a_link() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["lock", "shards", "manifest.json"] {
        let root = folder.path().join(name);
        fs::create_dir(&root).unwrap();
        symlink(folder.path().join("absent"), root.join(name)).unwrap();
        let refused = RunDir::create(&root).unwrap_err().to_string();
        assert!(refused.contains("this is a symbolic link"), "{refused}");
    }
}

#[test]
fn a_run_is_opened_through_a_link_to_its_folder_and_beside_what_a_program_left() {
    let folder = tempfile::tempdir().unwrap();
    let run = copied(folder.path());
    let scratch = run.shard(0).join("specimen-external-0");
    fs::create_dir(&scratch).unwrap();
    symlink("/", scratch.join("left")).unwrap();
    let link = folder.path().join("link");
    symlink(run.root(), &link).unwrap();
    assert_eq!(RunDir::open(&link).unwrap().root(), link);
}

#[test]
fn no_reader_and_no_writer_waits_for_a_special_file() {
    let folder = tempfile::tempdir().unwrap();
    let (pipe, zero, target) =
        (folder.path().join(".unfinished-pipe"), folder.path().join("zero"), folder.path().join("target"));
    fifo(&pipe);
    symlink("/dev/zero", &zero).unwrap();
    let pixels = |path: &Path| {
        let run = copied(folder.path());
        let record = read_rows::<Record>(&run.merged_records()).unwrap().rows.remove(0);
        specimen_record::check_pixels(path, &record).unwrap_err().to_string()
    };
    for (path, kind) in [(&pipe, "it is a named pipe"), (&zero, "it is a device")] {
        for said in [
            open_to_read(path).unwrap_err().to_string(),
            read_document::<Manifest>(path).unwrap_err().to_string(),
            read_rows::<MachineRow>(path).unwrap_err().to_string(),
            read_bounded(path, 10).unwrap_err().to_string(),
            file_digest(path).unwrap_err().to_string(),
            pixels(path),
        ] {
            assert!(said.contains(kind), "{said}");
        }
        assert!(Appender::<MachineRow>::create(path, Durability::EachRow).is_err());
    }
    assert_eq!(unfinished_files(folder.path()).unwrap(), Vec::<PathBuf>::new());
    let append = |path: &Path| open_in_place(path, fs::OpenOptions::new().append(true).create(true));
    assert!(append(&pipe).unwrap_err().to_string().contains("it is a named pipe"));
    // A link is not followed, whether its end exists or not.
    let link = folder.path().join("link");
    symlink(&target, &link).unwrap();
    for _ in 0..2 {
        assert!(append(&link).unwrap_err().to_string().contains("it is a symbolic link"));
        fs::write(&target, "kept").unwrap();
    }
    assert_eq!(fs::read_to_string(&target).unwrap(), "kept");
}
