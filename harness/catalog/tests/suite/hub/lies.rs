//! What a server, a cache or an archive says that is not so: content under another's name, other commits, pages in place of
//! files, versions that change, sizes that are none, and silence.

use std::{
    os::unix::fs::symlink,
    path::Path,
    time::{Duration, Instant},
};

use sha1::{Digest, Sha1};
use specimen_catalog::{
    entry::{Known, Origin, PublishedFile},
    hub::{
        Settings,
        digest::Vouched,
        fetch::{Fetched, fetch_address},
    },
};

use crate::hub::{
    fetching::{CONTENT, Desk, NAME, URL, bytes, hub_file, sha256},
    server::{COMMIT, Served},
};

/// The name that some proxies give to content.
fn sha1(bytes: &[u8]) -> String {
    Sha1::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name of a small file's content in the hub.
fn git(bytes: &[u8]) -> String {
    sha1(&[format!("blob {}\0", bytes.len()).as_bytes(), bytes].concat())
}

fn put(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// Files in `folder` whose names say that they are of a download.
fn left_in(folder: &Path) -> Vec<String> {
    let all = std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().file_name());
    all.map(|name| name.into_string().unwrap()).collect()
}

#[test]
fn content_in_a_store_of_all_repositories_is_checked_by_its_repositorys_own_name() {
    for name in [sha256(CONTENT), git(CONTENT), sha1(CONTENT)] {
        let desk = Desk::new();
        // What stands behind it has a name of 64 digits that is the SHA-256 of nothing.
        let stored = desk.folder.path().join("hub/blobs/ab").join("ab".repeat(32));
        put(&stored, CONTENT);
        let (blob, link) =
            (desk.in_cache(&format!("blobs/{name}")), desk.in_cache(&format!("snapshots/{COMMIT}/{NAME}")));
        for path in [&blob, &link] {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        symlink(Path::new("../../blobs/ab").join("ab".repeat(32)), &blob).unwrap();
        symlink(format!("../../../blobs/{name}"), &link).unwrap();
        let found = desk.fetch(&hub_file()).unwrap();
        assert_eq!((found.path, found.was_here, found.vouched), (link, true, Vouched::Hub), "{name}");
        std::fs::write(&stored, "damaged").unwrap();
        desk.refused(&hub_file(), &[&name, "remove it and fetch it again"]);
        assert_eq!(desk.server.asked(), Vec::<String>::new());
    }
}

#[test]
fn a_blob_with_the_right_name_is_linked_if_it_has_the_content_and_refused_if_not() {
    for name in [sha256(CONTENT), git(CONTENT), sha1(CONTENT)] {
        let desk = Desk::new();
        desk.server.put(URL, Served::new(CONTENT, &name));
        let blob = desk.in_cache(&format!("blobs/{name}"));
        put(&blob, b"other bytes");
        desk.refused(&hub_file(), &[&name, "remove it and fetch it again"]);
        assert!(!desk.in_cache("snapshots").exists(), "{name}");
        put(&blob, CONTENT);
        let found = desk.fetch(&hub_file()).unwrap();
        assert!(found.was_here && found.vouched == Vouched::Hub, "nothing was fetched: {found:?}");
        let asked = desk.server.asked();
        assert!(asked.iter().all(|line| line.starts_with("HEAD ")), "{asked:?}");
        std::fs::remove_file(&blob).unwrap();
        let found = desk.fetch(&hub_file()).unwrap();
        assert!(!found.was_here && found.vouched == Vouched::Hub, "{found:?}");
    }
}

#[test]
fn another_snapshot_than_the_pinned_one_is_said_and_the_pinned_one_is_fetched_where_it_can_be() {
    let mut desk = Desk::new();
    let pinned = |sha256: Known<String>| PublishedFile {
        origin: Origin::Hub { repo: "owner/name".to_owned(), revision: COMMIT.to_owned() },
        sha256,
        ..hub_file()
    };
    let other = desk.in_cache(&format!("snapshots/{}/{NAME}", "f".repeat(40)));
    put(&other, b"what the repository had at another time");
    desk.settings.offline = Some("HF_HUB_OFFLINE");
    let found = desk.fetch(&pinned(Known::Unknown)).unwrap();
    assert_eq!((&found.path, found.snapshot), (&other, Some("f".repeat(40))));
    // The catalog vouches for the content, whatever the commit.
    let known = Known::Is(sha256(&bytes(&other)));
    let found = desk.fetch(&pinned(known)).unwrap();
    assert_eq!((found.vouched, found.snapshot), (Vouched::Published, None));

    desk.settings.offline = None;
    let url = format!("/owner/name/resolve/{COMMIT}/{NAME}");
    desk.server.put(&url, Served::new(CONTENT, &sha256(CONTENT)));
    let found = desk.fetch(&pinned(Known::Unknown)).unwrap();
    assert_eq!((bytes(&found.path), found.was_here, found.snapshot), (CONTENT.to_vec(), false, None));
}

#[test]
fn content_that_nobody_vouches_for_is_remembered_and_compared_from_then_on() {
    let desk = Desk::new();
    let file = PublishedFile { sha256: Known::Unknown, ..desk.url_file("") };
    desk.server.put("/models/net.pth", Served::new(CONTENT, "tag"));
    let first = desk.fetch(&file).unwrap();
    assert_eq!(first.vouched, Vouched::Nobody(sha256(CONTENT)));
    assert_eq!(first.vouched.to_string(), format!("digest unknown; SHA-256 is {}", sha256(CONTENT)));
    assert_eq!(desk.fetch(&file).unwrap().vouched, Vouched::Seen(sha256(CONTENT)));
    std::fs::write(&first.path, "another").unwrap();
    let notes = desk.folder.path().join("data/first-seen");
    let note = notes.join(&left_in(&notes)[0]);
    let parts =
        [&sha256(CONTENT), "when it was first seen here", &sha256(b"another"), note.to_str().unwrap()];
    desk.refused(&file, &parts);
    std::fs::remove_file(note).unwrap();
    assert_eq!(desk.fetch(&file).unwrap().vouched, Vouched::Nobody(sha256(b"another")));
}

#[test]
fn a_page_or_a_pointer_in_place_of_a_file_is_removed_and_said() {
    let pages: [&[u8]; 4] = [
        b"<!DOCTYPE html><title>Log in</title>",
        b"\n  <html lang=\"en\">",
        b"\xef\xbb\xbf<!doctype HTML>",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n",
    ];
    for page in pages {
        let desk = Desk::new();
        desk.server.put("/models/net.pth", Served::new(page, "tag"));
        desk.server.put(URL, Served::new(page, &git(page)));
        let file = PublishedFile { sha256: Known::Unknown, ..desk.url_file("") };
        for file in [&file, &hub_file()] {
            desk.refused(
                file,
                &["expected the published file", "found a p", "it was removed", &desk.server.address],
            );
        }
        let path = desk.folder.path().join("downloads/val.zip");
        let url = format!("{}/models/net.pth", desk.server.address);
        let said = fetch_address(&url, &path, &desk.settings, &mut |_| {}).unwrap_err().to_string();
        assert!(said.contains("it was removed"), "{said}");
        for folder in ["data/weights", "downloads", "hub/models--owner--name/blobs"] {
            assert_eq!(left_in(&desk.folder.path().join(folder)), [""; 0], "{folder}");
        }
    }
}

#[test]
fn a_known_size_bounds_what_is_written() {
    let desk = Desk::new();
    let endless = Served { hides_length: true, ..Served::new(vec![7; 64 << 20], "tag") };
    desk.server.put("/models/net.pth", endless);
    let file = PublishedFile { n_bytes: Known::Is(10), sha256: Known::Unknown, ..desk.url_file("") };
    let mut most = 0;
    let error = specimen_catalog::hub::fetch::fetch(&file, &desk.places(), &desk.settings, &mut |progress| {
        most = most.max(progress.n_done);
    });
    let error = error.unwrap_err().to_string();
    assert!(error.contains("expected 10 bytes") && most < 1 << 20, "{most} bytes: {error}");
    assert_eq!(left_in(&desk.folder.path().join("data/weights")), [""; 0]);
}

#[test]
fn a_silent_server_has_a_time_limit_before_its_answer_and_inside_of_it() {
    for at_most in [0, 20] {
        let mut desk = Desk::new();
        desk.settings.silence = Duration::from_millis(300);
        let silence = Duration::from_secs(20);
        let served = Served { at_most: Some(at_most), silence, ..Served::new(CONTENT, "tag") };
        desk.server.put("/models/net.pth", served);
        let began = Instant::now();
        desk.refused(&desk.url_file(&sha256(CONTENT)), &["net.pth", "run the same command again"]);
        assert!(began.elapsed() < silence / 2, "{:?}", began.elapsed());
    }
}

#[test]
fn a_download_is_continued_only_with_the_version_that_it_began_with() {
    let other: Vec<u8> = CONTENT.iter().map(u8::to_ascii_uppercase).collect();
    let dates = ["Sat, 01 Nov 2025 00:00:00 GMT", "Sun, 02 Nov 2025 00:00:00 GMT"];
    // The version is told by ETag or by date. The first answer has some bytes, or all without saying how many.
    for (is_dated, at_most) in [(false, 20), (true, 20), (false, CONTENT.len()), (true, CONTENT.len())] {
        let desk = Desk::new();
        let path = desk.folder.path().join("downloads/val.zip");
        let url = format!("{}/zips/val.zip", desk.server.address);
        let serve = |bytes: &[u8], which: usize, at_most| {
            let modified = is_dated.then_some(dates[which]);
            let served = Served { at_most, modified, ..Served::new(bytes, ["one", "two"][which]) };
            desk.server.put("/zips/val.zip", served);
            fetch_address(&url, &path, &desk.settings, &mut |_| {})
        };
        let first = serve(CONTENT, 0, Some(at_most));
        if at_most == CONTENT.len() {
            // As if it had been killed before the file had its name.
            first.unwrap();
            std::fs::rename(&path, path.with_file_name("val.zip.incomplete")).unwrap();
        }
        serve(&other, 1, None).unwrap();
        assert_eq!(bytes(&path), other, "dated: {is_dated}, {at_most}");
        assert_eq!(left_in(path.parent().unwrap()), ["val.zip"]);
    }
}

#[test]
fn a_token_goes_to_the_scheme_and_the_host_of_the_hub_only() {
    let desk = Desk::new();
    desk.server.put("/zips/val.zip", Served::new(CONTENT, "tag"));
    let url = format!("{}/zips/val.zip", desk.server.address);
    let sent_to = |endpoint: String| {
        let settings = Settings { endpoint, token: Some("secret".to_owned()), ..desk.settings.clone() };
        let path = desk.folder.path().join("val.zip");
        fetch_address(&url, &path, &settings, &mut |_| {}).unwrap();
        desk.server.asked().iter().any(|line| line.contains("secret"))
    };
    assert!(sent_to(desk.server.address.clone()));
    assert!(!sent_to(desk.server.address.replace("http://", "https://")), "it would be sent in the clear");
    assert!(!sent_to("http://127.0.0.1:1".to_owned()));
}

#[test]
fn a_file_that_is_here_already_names_who_vouches_for_it() {
    let desk = Desk::new();
    let by_hand =
        Origin::ByHand { by_hand: "accept the terms".to_owned(), place: "weights/x.ckpt".to_owned() };
    put(&desk.folder.path().join("data/weights/x.ckpt"), CONTENT);
    for (known, expected) in [
        (Known::Is(sha256(CONTENT)), Vouched::Published),
        (Known::Unknown, Vouched::Nobody(sha256(CONTENT))),
        (Known::Unknown, Vouched::Seen(sha256(CONTENT))),
    ] {
        let file = PublishedFile { origin: by_hand.clone(), sha256: known, ..hub_file() };
        let Fetched { was_here, vouched, .. } = desk.fetch(&file).unwrap();
        assert_eq!((was_here, vouched), (true, expected));
    }
}
