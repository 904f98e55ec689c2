//! What is fetched, resumed, refused and checked.

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use sha2::{Digest, Sha256};
use specimen_catalog::{
    entry::{Known, Origin, PublishedFile},
    hub::{
        HubError, Places, Settings,
        digest::Vouched,
        fetch::{Fetched, fetch, fetch_address},
    },
};

use crate::hub::server::{COMMIT, Served, Server};

pub(crate) struct Desk {
    pub(crate) server: Server,
    pub(crate) folder: tempfile::TempDir,
    pub(crate) settings: Settings,
}

pub(crate) const NAME: &str = "part/weights.safetensors";
pub(crate) const URL: &str = "/owner/name/resolve/main/part/weights.safetensors";
pub(crate) const CONTENT: &[u8] = b"eight bytes and some more, so that there is something to cut off";

pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn hub_file() -> PublishedFile {
    PublishedFile {
        name: NAME.to_owned(),
        instead: None,
        origin: Origin::Hub { repo: "owner/name".to_owned(), revision: "main".to_owned() },
        n_bytes: Known::Unknown,
        sha256: Known::Unknown,
        converted: None,
    }
}

impl Desk {
    pub(crate) fn new() -> Self {
        let server = Server::start();
        let silence = Duration::from_secs(30);
        let settings = Settings { endpoint: server.address.clone(), token: None, offline: None, silence };
        Self { server, folder: tempfile::tempdir().unwrap(), settings }
    }

    pub(crate) fn places(&self) -> Places {
        Places {
            own: vec![self.folder.path().join("data")],
            hub: Some(self.folder.path().join("hub")),
            ..Places::default()
        }
    }

    pub(crate) fn fetch(&self, file: &PublishedFile) -> Result<Fetched, HubError> {
        fetch(file, &self.places(), &self.settings, &mut |_| {})
    }

    /// A file of an address of this server.
    pub(crate) fn url_file(&self, digest: &str) -> PublishedFile {
        let url = format!("{}/models/net.pth", self.server.address);
        let sha256 = Known::Is(digest.to_owned());
        PublishedFile { name: "net.pth".to_owned(), origin: Origin::Url { url }, sha256, ..hub_file() }
    }

    pub(crate) fn in_cache(&self, path: &str) -> PathBuf {
        self.folder.path().join("hub/models--owner--name").join(path)
    }

    #[track_caller]
    pub(crate) fn refused(&self, file: &PublishedFile, parts: &[&str]) {
        let error = self.fetch(file).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "`{part}` is not in `{error}`");
        }
    }
}

pub(crate) fn bytes(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap()
}

#[test]
fn a_whole_file_lies_in_the_hubs_layout_and_is_not_fetched_again() {
    let desk = Desk::new();
    desk.server.put(URL, Served::new(CONTENT, &sha256(CONTENT)));
    let Fetched { path, was_here, vouched, .. } = desk.fetch(&hub_file()).unwrap();
    assert_eq!(vouched, Vouched::Hub);
    assert!(!was_here);
    assert_eq!(path, desk.in_cache(&format!("snapshots/{COMMIT}/{NAME}")));
    assert_eq!(bytes(&path), CONTENT);
    assert_eq!(
        std::fs::read_link(&path).unwrap(),
        PathBuf::from(format!("../../../blobs/{}", sha256(CONTENT)))
    );
    assert_eq!(std::fs::read_to_string(desk.in_cache("refs/main")).unwrap(), COMMIT);
    assert_eq!(desk.server.asked(), [format!("HEAD {URL}"), format!("GET {URL}")]);
    let again = desk.fetch(&hub_file()).unwrap();
    assert_eq!((again.path, again.was_here), (path, true));
    assert_eq!(desk.server.asked(), Vec::<String>::new());
}

#[test]
fn a_body_that_breaks_off_is_resumed_where_it_stopped() {
    let desk = Desk::new();
    let served = Served { at_most: Some(20), ..Served::new(CONTENT, &sha256(CONTENT)) };
    desk.server.put(URL, served.clone());
    desk.refused(&hub_file(), &["run the same command again", "20 bytes"]);
    let partial = desk.in_cache(&format!("blobs/{}.incomplete", sha256(CONTENT)));
    assert_eq!(bytes(&partial), CONTENT[..20]);
    assert!(!desk.in_cache("snapshots").exists());
    desk.server.asked();
    desk.server.put(URL, Served { at_most: None, ..served });
    assert_eq!(bytes(&desk.fetch(&hub_file()).unwrap().path), CONTENT);
    assert_eq!(desk.server.asked()[1], format!("GET {URL} range=bytes=20-"));
    assert!(!partial.exists());
}

#[test]
fn a_server_without_ranges_and_a_partial_file_that_is_whole_end_well() {
    let desk = Desk::new();
    let partial = desk.in_cache(&format!("blobs/{}.incomplete", sha256(CONTENT)));
    std::fs::create_dir_all(partial.parent().unwrap()).unwrap();
    std::fs::write(&partial, b"other words").unwrap();
    desk.server.put(URL, Served { ignores_ranges: true, ..Served::new(CONTENT, &sha256(CONTENT)) });
    assert_eq!(bytes(&desk.fetch(&hub_file()).unwrap().path), CONTENT);

    let desk = Desk::new();
    let file = desk.url_file(&sha256(CONTENT));
    let partial = desk.folder.path().join("data/weights/net.pth.incomplete");
    std::fs::create_dir_all(partial.parent().unwrap()).unwrap();
    std::fs::write(&partial, CONTENT).unwrap();
    desk.server.put("/models/net.pth", Served::new(CONTENT, "tag"));
    assert_eq!(bytes(&desk.fetch(&file).unwrap().path), CONTENT);
}

#[test]
fn refusals_say_what_to_do_about_tokens_and_gated_repositories() {
    let mut desk = Desk::new();
    for status in [401, 403] {
        desk.server.put(URL, Served { status: Some(status), ..Served::new(CONTENT, "abcdefgh") });
        let page = format!("{}/owner/name", desk.server.address);
        let status = format!("status {status}");
        desk.refused(&hub_file(), &[&status, "set HF_TOKEN to a token", "a gated repository", &page]);
    }
    desk.settings.token = Some("secret".to_owned());
    let error = desk.fetch(&hub_file()).unwrap_err().to_string();
    assert!(error.contains("the token in HF_TOKEN may not read it") && !error.contains("secret"), "{error}");
    assert!(desk.server.asked().last().unwrap().ends_with("authorization=Bearer secret"));
}

#[test]
fn what_is_not_there_is_named_and_another_name_is_tried() {
    let desk = Desk::new();
    desk.refused(&hub_file(), &["no such file (status 404)", "owner/name may have been renamed", URL]);
    desk.server.put("/owner/name/resolve/main/old.bin", Served::new(CONTENT, &sha256(CONTENT)));
    let file = PublishedFile { instead: Some("old.bin".to_owned()), ..hub_file() };
    assert_eq!(desk.fetch(&file).unwrap().path, desk.in_cache(&format!("snapshots/{COMMIT}/old.bin")));
    desk.server.put(URL, Served { status: Some(503), ..Served::new(CONTENT, "abcdefgh") });
    desk.refused(&hub_file(), &["expected a file, found status 503"]);
}

#[test]
fn a_wrong_digest_or_size_is_refused_and_leaves_nothing() {
    let desk = Desk::new();
    desk.server.put(URL, Served::new(&b"another file"[..], &sha256(CONTENT)));
    let expected = format!("expected SHA-256 {}", sha256(CONTENT));
    desk.refused(&hub_file(), &[&expected, &sha256(b"another file"), "it was removed"]);
    assert_eq!(std::fs::read_dir(desk.in_cache("blobs")).unwrap().count(), 0);
    assert!(!desk.in_cache("snapshots").exists());

    let file = PublishedFile { n_bytes: Known::Is(7), ..hub_file() };
    desk.refused(&file, &["expected 7 bytes, found 12", "owner/name has another file under this name now"]);

    desk.server.put("/models/net.pth", Served::new(CONTENT, "tag"));
    desk.refused(&desk.url_file(&"0".repeat(64)), &["net.pth", "expected SHA-256 0000", &sha256(CONTENT)]);
    assert_eq!(std::fs::read_dir(desk.folder.path().join("data/weights")).unwrap().count(), 0);
}

#[test]
fn the_beginning_of_a_digest_is_held_against_the_whole_one() {
    let desk = Desk::new();
    desk.server.put("/models/net.pth", Served::new(CONTENT, "tag"));
    let fetched = desk.fetch(&desk.url_file(&sha256(CONTENT)[..8])).unwrap();
    assert_eq!(fetched.path, desk.folder.path().join("data/weights/net.pth"));
}

#[test]
fn redirects_are_followed_without_the_token() {
    let mut desk = Desk::new();
    desk.settings.token = Some("secret".to_owned());
    let elsewhere = Server::start();
    elsewhere.put("/blob", Served::new(CONTENT, "other"));
    let redirect = Some(format!("{}/blob", elsewhere.address));
    desk.server.put(URL, Served { redirect, ..Served::new(CONTENT, &sha256(CONTENT)) });
    assert_eq!(bytes(&desk.fetch(&hub_file()).unwrap().path), CONTENT);
    assert_eq!(elsewhere.asked(), ["GET /blob"]);
    assert!(desk.server.asked().iter().all(|line| line.ends_with("authorization=Bearer secret")));

    let circle = Served { redirect: Some(URL.to_owned()), ..Served::new(CONTENT, &sha256(CONTENT)) };
    desk.server.put(URL, circle);
    std::fs::remove_dir_all(desk.folder.path().join("hub")).unwrap();
    desk.refused(&hub_file(), &["more than 8 redirects"]);
}

#[test]
fn offline_a_cache_that_is_there_is_enough_and_nothing_is_asked() {
    let mut desk = Desk::new();
    desk.server.put(URL, Served::new(CONTENT, &sha256(CONTENT)));
    desk.settings.offline = Some("HF_HUB_OFFLINE");
    let place =
        format!("put it at {}", desk.folder.path().join("data/weights/owner/name").join(NAME).display());
    desk.refused(&hub_file(), &["weights.safetensors of owner/name", "unset HF_HUB_OFFLINE", &place]);
    assert_eq!(desk.server.asked(), Vec::<String>::new());
    // A cache as other tools leave it.
    let blob = desk.in_cache(&format!("blobs/{}", sha256(CONTENT)));
    let link = desk.in_cache(&format!("snapshots/other/{NAME}"));
    for path in [&blob, &link] {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    }
    std::fs::write(&blob, CONTENT).unwrap();
    std::os::unix::fs::symlink(&blob, &link).unwrap();
    let found = Fetched { path: link, was_here: true, vouched: Vouched::Hub, snapshot: None };
    assert_eq!(desk.fetch(&hub_file()).unwrap(), found);
    std::fs::write(&blob, "damaged").unwrap();
    desk.refused(&hub_file(), &["expected SHA-256", "remove it and fetch it again"]);
    assert_eq!(desk.server.asked(), Vec::<String>::new());
}

#[test]
fn what_a_person_must_fetch_is_told_with_its_place() {
    let desk = Desk::new();
    let origin =
        Origin::ByHand { by_hand: "accept the terms".to_owned(), place: "weights/x.ckpt".to_owned() };
    let file = PublishedFile { origin, ..hub_file() };
    desk.refused(&file, &["cannot be fetched by a program: accept the terms", "data/weights/x.ckpt"]);
}

#[test]
fn a_server_that_is_no_hub_or_not_there_is_told_so() {
    let mut desk = Desk::new();
    desk.server.put(URL, Served::new(CONTENT, "../../evil"));
    desk.refused(&hub_file(), &["without ETag or commit, so no hub"]);
    desk.settings.endpoint = "http://127.0.0.1:1".to_owned();
    desk.refused(&hub_file(), &["http://127.0.0.1:1/owner/name", "run the same command again"]);
}

#[test]
fn an_address_without_a_digest_is_continued_and_refused_offline() {
    let desk = Desk::new();
    let url = format!("{}/zips/val.zip", desk.server.address);
    let path = desk.folder.path().join("downloads/val.zip");
    let mut served = Served::new(CONTENT, "");
    served.at_most = Some(20);
    desk.server.put("/zips/val.zip", served);
    let broken = fetch_address(&url, &path, &desk.settings, &mut |_| {}).unwrap_err();
    assert!(matches!(broken, HubError::BrokenOff { n_bytes: 20, .. }), "{broken}");
    assert!(!path.exists());
    desk.server.asked();

    desk.server.put("/zips/val.zip", Served::new(CONTENT, ""));
    fetch_address(&url, &path, &desk.settings, &mut |_| {}).unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), CONTENT);
    assert!(desk.server.asked().iter().any(|line| line.contains("bytes=20-")));

    let offline = Settings { offline: Some("SPECIMEN_OFFLINE"), ..desk.settings.clone() };
    let said = fetch_address(&url, &path, &offline, &mut |_| {}).unwrap_err().to_string();
    assert!(said.contains("unset SPECIMEN_OFFLINE") && said.contains("downloads/val.zip"), "{said}");
}
