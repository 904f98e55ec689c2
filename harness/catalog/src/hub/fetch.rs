//! Brings a published file to this machine: a download that was broken off continues where it stopped; it has its name only when its size
//! and digest are right.

use std::{
    fs::{self, File, OpenOptions},
    io::{Read, Write},
    path::{Path, PathBuf},
};

use specimen_foundation::bounded_read::read_text;

use crate::{
    entry::{Origin, PublishedFile},
    hub::{
        HubError, Places, Settings,
        cache::HubCache,
        digest::{self, Vouched},
        request::{Answer, Client},
    },
};

/// How far a file is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Progress<'p> {
    /// Where the file is now.
    pub file: &'p str,
    /// Bytes that are here.
    pub n_done: u64,
    /// Bytes of the whole, where somebody says.
    pub n_total: Option<u64>,
}

/// A file that is here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fetched {
    /// Where it lies.
    pub path: PathBuf,
    /// Whether it was here before.
    pub was_here: bool,
    /// What vouches for its content.
    pub vouched: Vouched,
    /// The snapshot of the hub's cache that it is from, where the catalog names another commit and no digest.
    pub snapshot: Option<String>,
}

/// What makes a partial file of one name another's.
const PARTIAL: &str = "incomplete";
/// What the note beside a partial file has at its end: which version of the content it is the beginning of.
const VERSION: &str = "version";
/// Bytes of such a note, at most.
const MAX_VERSION_BYTES: u64 = 1 << 12;

/// Fetches `file` where it is not here, and checks it in any case.
pub fn fetch(
    file: &PublishedFile,
    places: &Places,
    settings: &Settings,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<Fetched, HubError> {
    // A file of another commit, which serves where that of the catalog's cannot be had.
    let mut other = None;
    if let Some(path) = places.published(file) {
        let snapshot = places.other_snapshot(file, &path);
        let is_fetched = snapshot.is_some() && settings.offline.is_none();
        match digest::vouched(&path, file, snapshot.as_deref(), places) {
            Ok(vouched) => {
                let snapshot = snapshot.filter(|_| vouched != Vouched::Published);
                let here = Fetched { path, was_here: true, vouched, snapshot };
                if here.snapshot.is_none() || settings.offline.is_some() {
                    return Ok(here);
                }
                other = Some(here);
            }
            // Sound, it may be, as a file of its own commit.
            Err(HubError::Mismatch { .. }) if is_fetched => {}
            Err(error) => return Err(error),
        }
    }
    if let Origin::ByHand { by_hand, place } = &file.origin {
        let place = places.place_of_copy(file).unwrap_or_else(|| PathBuf::from(place));
        return Err(HubError::ByHand { file: file.name.clone(), how: by_hand.clone(), place });
    }
    if let Some(variable) = settings.offline {
        let remedy = match (places.place_of_copy(file), &file.origin) {
            (Some(place), _) => format!("fetch it elsewhere and put it at {}", place.display()),
            (None, Origin::Hub { .. }) => {
                "fetch it into the cache of the hub elsewhere and copy that".to_owned()
            }
            (None, _) => "set SPECIMEN_DATA to a folder for it".to_owned(),
        };
        return Err(HubError::Offline { file: file.described(), variable, remedy });
    }
    let mut fetching = Fetching { name: &file.name, client: Client::new(settings), settings, progress };
    let (path, was_here) = match &file.origin {
        Origin::Hub { repo, revision } => {
            match (fetching.hub_file(file, places, repo, revision, &file.name), &file.instead) {
                (Err(HubError::NotFound { .. }), Some(instead)) => {
                    fetching.hub_file(file, places, repo, revision, instead)?
                }
                (Err(error @ (HubError::NotFound { .. } | HubError::BrokenOff { .. })), None) => {
                    return other.ok_or(error);
                }
                (fetched, _) => fetched?,
            }
        }
        Origin::Url { url } => {
            let path = places.place_of_copy(file).ok_or_else(|| HubError::Answer {
                url: url.to_owned(),
                found: "no folder for it (set SPECIMEN_DATA)".to_owned(),
            })?;
            let sha256 = file.sha256.get().map(String::as_str);
            fetching
                .content(&path, &Content { url, n_bytes: file.n_bytes.get().copied(), digest: sha256 })?;
            (path, false)
        }
        Origin::ByHand { .. } => unreachable!("files without an address have been answered"),
    };
    let vouched = digest::vouched(&path, file, None, places)?;
    Ok(Fetched { path, was_here, vouched, snapshot: None })
}

/// Fetches what an address has, whose size and digest nobody publishes, to `path`; an earlier try is continued.
pub fn fetch_address(
    url: &str,
    path: &Path,
    settings: &Settings,
    progress: &mut dyn FnMut(&Progress<'_>),
) -> Result<(), HubError> {
    if let Some(variable) = settings.offline {
        let remedy = format!("fetch it elsewhere and put it at {}", path.display());
        return Err(HubError::Offline { file: url.to_owned(), variable, remedy });
    }
    let name = url.rsplit('/').next().unwrap_or(url);
    let mut fetching = Fetching { name, client: Client::new(settings), settings, progress };
    fetching.content(path, &Content { url, n_bytes: None, digest: None })
}

struct Fetching<'f> {
    /// The file's name in reports of progress.
    name: &'f str,
    client: Client<'f>,
    settings: &'f Settings,
    progress: &'f mut dyn FnMut(&Progress<'_>),
}

/// What is known of a file's content before it comes.
struct Content<'c> {
    url: &'c str,
    n_bytes: Option<u64>,
    /// Its SHA-256, the beginning of it, or git's digest.
    digest: Option<&'c str>,
}

impl Fetching<'_> {
    /// A file of the hub, and whether its content was here before.
    fn hub_file(
        &mut self,
        file: &PublishedFile,
        places: &Places,
        repo: &str,
        revision: &str,
        name: &str,
    ) -> Result<(PathBuf, bool), HubError> {
        let hub = places.hub.as_ref().ok_or_else(|| HubError::Answer {
            url: self.settings.endpoint.clone(),
            found: "no folder for its cache (set HF_HOME)".to_owned(),
        })?;
        let url = format!("{}/{repo}/resolve/{revision}/{name}", self.settings.endpoint);
        let head = self.client.head(&url)?;
        self.refuse_errors(&head, repo)?;
        let etag = head.header("x-linked-etag").or(head.header("etag")).unwrap_or_default();
        let etag = etag.trim_start_matches("W/").trim_matches('"').to_owned();
        let is_name =
            |text: &str| (8..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric());
        let commit = head.header("x-repo-commit").unwrap_or_default().to_owned();
        if !is_name(&etag) || !is_name(&commit) {
            let found = "an answer without ETag or commit, so no hub".to_owned();
            return Err(HubError::Answer { url, found });
        }
        let reported = |name: &str| head.header(name).and_then(|n| n.parse::<u64>().ok());
        let is_redirect = head.status() >= 300;
        let n_bytes =
            reported("x-linked-size").or_else(|| reported("content-length").filter(|_| !is_redirect));
        if let (Some(expected), Some(found)) = (file.n_bytes.get(), n_bytes)
            && *expected != found
        {
            let (path, expected, found) =
                (PathBuf::from(name), format!("{expected} bytes"), found.to_string());
            let remedy =
                format!("{repo} has another file under this name now: name the revision that was meant");
            return Err(HubError::Mismatch { path, expected, found, remedy });
        }
        let cache = HubCache::new(hub, repo);
        let blob = cache.blob(&etag);
        let stored = Some(etag.as_str()).filter(|etag| digest::is_digest(etag));
        let digest = file.sha256.get().map(String::as_str).or(stored);
        let n_bytes = n_bytes.or(file.n_bytes.get().copied());
        let was_here = blob.is_file();
        if was_here {
            digest::check(&blob, n_bytes, digest, "it is damaged: remove it and fetch it again")?;
        } else {
            self.content(&blob, &Content { url: &url, n_bytes, digest })?;
        }
        Ok((cache.link(revision, &commit, name, &etag)?, was_here))
    }

    /// Brings the content to `path`, by way of a partial file beside it.
    fn content(&mut self, path: &Path, content: &Content<'_>) -> Result<(), HubError> {
        let &Content { url, n_bytes, digest } = content;
        let folder = path.parent().expect("a file is in a folder");
        fs::create_dir_all(folder).map_err(HubError::io(folder, "cannot make the folder"))?;
        let partial = with_ending(path, PARTIAL);
        let note = with_ending(&partial, VERSION);
        let mut have = partial.metadata().map_or(0, |meta| meta.len());
        if n_bytes.is_some_and(|whole| have > whole) {
            have = 0;
        }
        if n_bytes != Some(have) || have == 0 {
            let mut answer = self.client.get(url, have)?;
            let is_same =
                || read_text(&note, MAX_VERSION_BYTES).is_ok_and(|version| version == answer.version());
            // Without a digest nothing else would find that two versions were put together.
            if have > 0 && matches!(answer.status(), 206 | 416) && digest.is_none() && !is_same() {
                have = 0;
                answer = self.client.get(url, 0)?;
            }
            if have == 0 || answer.status() == 200 {
                fs::write(&note, answer.version()).map_err(HubError::io(&note, "cannot write it"))?;
            }
            let from = match (answer.status(), answer.header("content-range")) {
                (206, Some(range)) if range.trim_start_matches("bytes ").starts_with(&format!("{have}-")) => {
                    have
                }
                // Nothing is left of a file that is whole; its size and digest say whether it is.
                (416, _) if have > 0 => return self.keep(&partial, path, content),
                (200, _) => 0,
                _ => {
                    self.refuse_errors(&answer, "")?;
                    let found = format!("status {} to a request from byte {have} on", answer.status());
                    return Err(HubError::Answer { url: url.to_owned(), found });
                }
            };
            let announced =
                answer.header("content-length").and_then(|n| n.parse::<u64>().ok()).map(|n| from + n);
            let n_total = n_bytes.or(announced);
            let n_here = self.receive(&partial, answer, from, n_total)?;
            if let Some(whole) = n_total.filter(|&whole| n_here < whole) {
                let reason = format!("broke off after {n_here} of {whole} bytes");
                return Err(HubError::BrokenOff { url: url.to_owned(), reason, n_bytes: n_here });
            }
        }
        self.keep(&partial, path, content)
    }

    /// Writes what comes behind the `from` bytes of `partial`; how many are there then, one block more than announced at
    /// most.
    fn receive(
        &mut self,
        partial: &Path,
        answer: Answer,
        from: u64,
        n_total: Option<u64>,
    ) -> Result<u64, HubError> {
        let write = |error| HubError::io(partial, "cannot write it")(error);
        let mut out: File =
            OpenOptions::new().create(true).write(true).truncate(from == 0).open(partial).map_err(write)?;
        out.set_len(from).map_err(write)?;
        std::io::Seek::seek(&mut out, std::io::SeekFrom::End(0)).map_err(write)?;
        let url = answer.url.clone();
        let mut body = answer.into_body();
        let (mut block, mut n_here) = (vec![0; 1 << 18], from);
        loop {
            match body.read(&mut block) {
                Ok(0) => break,
                Ok(n) => {
                    out.write_all(&block[..n]).map_err(write)?;
                    n_here += n as u64;
                    (self.progress)(&Progress { file: self.name, n_done: n_here, n_total });
                    if n_total.is_some_and(|whole| n_here > whole) {
                        break;
                    }
                }
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    out.sync_all().map_err(write)?;
                    return Err(HubError::BrokenOff { url, reason: error.to_string(), n_bytes: n_here });
                }
            }
        }
        out.sync_all().map_err(write)?;
        Ok(n_here)
    }

    /// Checks the partial file and gives it its name; a wrong one is removed, so that the next try begins anew.
    fn keep(&self, partial: &Path, path: &Path, content: &Content<'_>) -> Result<(), HubError> {
        let remedy = "it was removed: fetch it again, and report it to its publisher if it stays so";
        let checked = match no_content(partial)? {
            None => digest::check(partial, content.n_bytes, content.digest, remedy),
            Some(found) => Err(HubError::Mismatch {
                path: path.to_owned(),
                expected: "the published file".to_owned(),
                found: found.to_owned(),
                remedy: format!("it was removed: see in a browser what {} asks for", content.url),
            }),
        };
        // Without the note the content begins anew.
        let _ = fs::remove_file(with_ending(partial, VERSION));
        if let Err(HubError::Mismatch { expected, found, remedy, .. }) = checked {
            fs::remove_file(partial).map_err(HubError::io(partial, "cannot remove it"))?;
            return Err(HubError::Mismatch { path: path.to_owned(), expected, found, remedy });
        }
        checked?;
        fs::rename(partial, path).map_err(HubError::io(path, "cannot give it its name"))?;
        // The name too is to last through a power cut.
        let folder = path.parent().expect("a file is in a folder");
        let synced = fs::File::open(folder).and_then(|folder| folder.sync_all());
        synced.map_err(HubError::io(folder, "cannot force it to the disk"))
    }

    fn refuse_errors(&self, answer: &Answer, repo: &str) -> Result<(), HubError> {
        let (status, url) = (answer.status(), answer.url.clone());
        match status {
            200..=399 => Ok(()),
            401 | 403 => {
                let endpoint = &self.settings.endpoint;
                let page = if repo.is_empty() { String::new() } else { format!(" at {endpoint}/{repo}") };
                let token = match &self.settings.token {
                    None => "set HF_TOKEN to a token of an account that may read it",
                    Some(_) => "the token in HF_TOKEN may not read it",
                };
                let remedy = format!(
                    "{token}; a gated repository must be asked for first{page}, with the same account"
                );
                Err(HubError::Denied { url, status, remedy })
            }
            404 => {
                let remedy = match repo {
                    "" => "its publisher may have moved it".to_owned(),
                    repo => format!(
                        "{repo} may have been renamed, or be private: then set HF_TOKEN to a token of an account that may \
                         read it"
                    ),
                };
                Err(HubError::NotFound { url, remedy })
            }
            _ => Err(HubError::Answer { url, found: format!("status {status}") }),
        }
    }
}

/// `path` with something behind its name.
fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{ending}"));
    path.with_file_name(name)
}

/// What the file at `path` is, if it is what servers send in place of a file.
fn no_content(path: &Path) -> Result<Option<&'static str>, HubError> {
    let mut start = Vec::new();
    let file = File::open(path).map_err(HubError::io(path, "cannot open it"))?;
    file.take(1 << 10).read_to_end(&mut start).map_err(HubError::io(path, "cannot read it"))?;
    let text = String::from_utf8_lossy(&start).trim_start_matches('\u{feff}').trim_start().to_lowercase();
    let is = |beginning: &&str| text.starts_with(*beginning);
    Ok(match () {
        () if ["<!doctype html", "<html"].iter().any(is) => {
            Some("a page of HTML, such as one that asks for a login")
        }
        () if text.starts_with("version https://git-lfs") => Some("a pointer of Git LFS"),
        () => None,
    })
}
