//! A server of the hub's protocol on the loopback device: one request a connection, in the order in which they come.

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

/// What the server does with one file.
#[derive(Clone, Debug)]
pub(crate) struct Served {
    pub(crate) bytes: Vec<u8>,
    /// The ETag, without quotes.
    pub(crate) etag: String,
    /// Answers with this status instead.
    pub(crate) status: Option<u16>,
    /// Sends this many bytes of the body at most, then hangs up.
    pub(crate) at_most: Option<usize>,
    /// Sends elsewhere for the content, as the hub does for large files.
    pub(crate) redirect: Option<String>,
    pub(crate) ignores_ranges: bool,
    /// Does not say how many bytes there are.
    pub(crate) hides_length: bool,
    /// Says nothing for so long where it would hang up; from the start if `at_most` is 0.
    pub(crate) silence: Duration,
    /// When it was changed, in place of an ETag.
    pub(crate) modified: Option<&'static str>,
}

impl Served {
    pub(crate) fn new(bytes: impl Into<Vec<u8>>, etag: &str) -> Self {
        let (bytes, etag) = (bytes.into(), etag.to_owned());
        Self {
            bytes,
            etag,
            status: None,
            at_most: None,
            redirect: None,
            ignores_ranges: false,
            hides_length: false,
            silence: Duration::ZERO,
            modified: None,
        }
    }
}

pub(crate) const COMMIT: &str = "0123456789abcdef0123456789abcdef01234567";

type Files = Arc<Mutex<BTreeMap<String, Served>>>;

/// A server; it ends with the process of the tests.
pub(crate) struct Server {
    pub(crate) address: String,
    files: Files,
    /// Request lines and headers of interest, in order.
    log: Arc<Mutex<Vec<String>>>,
}

impl Server {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let (files, log) = (Files::default(), Arc::<Mutex<Vec<String>>>::default());
        let (served, written) = (Arc::clone(&files), Arc::clone(&log));
        thread::spawn(move || {
            for stream in listener.incoming() {
                answer(&stream.unwrap(), &served, &written);
            }
        });
        Self { address, files, log }
    }

    /// Serves `file` at `path`.
    pub(crate) fn put(&self, path: &str, file: Served) {
        self.files.lock().unwrap().insert(path.to_owned(), file);
    }

    /// What was asked for since the last call.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock().unwrap())
    }
}

fn answer(stream: &TcpStream, files: &Files, log: &Mutex<Vec<String>>) {
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok).take_while(|line| !line.is_empty());
    let Some(request) = lines.next() else { return };
    let headers: BTreeMap<String, String> = lines
        .filter_map(|line| line.split_once(": ").map(|(key, value)| (key.to_lowercase(), value.to_owned())))
        .collect();
    let mut words = request.split(' ');
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let mut noted = format!("{method} {path}");
    for name in ["range", "authorization"] {
        if let Some(value) = headers.get(name) {
            noted.push_str(&format!(" {name}={value}"));
        }
    }
    log.lock().unwrap().push(noted);
    let file = files.lock().unwrap().get(path).cloned();
    let silence = file.as_ref().map_or(Duration::ZERO, |file| file.silence);
    let is_mute = file.as_ref().is_some_and(|file| file.at_most == Some(0));
    let (head, body) = respond(file, method == "HEAD", headers.get("range").map(String::as_str));
    let mut out = stream;
    if is_mute {
        thread::sleep(silence);
    }
    // A client that has heard enough hangs up, which is its right.
    let _ = out.write_all(head.as_bytes()).and_then(|()| out.write_all(&body));
    thread::sleep(silence);
}

fn respond(file: Option<Served>, is_head: bool, range: Option<&str>) -> (String, Vec<u8>) {
    let plain = |status: u16| {
        (format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"), Vec::new())
    };
    let Some(file) = file else { return plain(404) };
    if let Some(status) = file.status {
        return plain(status);
    }
    let whole = file.bytes.len();
    let version = match file.modified {
        Some(date) => format!("last-modified: {date}"),
        None => format!("etag: \"{}\"", file.etag),
    };
    let about = format!("{version}\r\nx-repo-commit: {COMMIT}\r\nconnection: close\r\n");
    if let Some(place) = &file.redirect {
        let linked = format!("x-linked-etag: \"{}\"\r\nx-linked-size: {whole}\r\n", file.etag);
        let head = format!("HTTP/1.1 302 X\r\nlocation: {place}\r\ncontent-length: 0\r\n{linked}{about}\r\n");
        return (head, Vec::new());
    }
    let from = range
        .filter(|_| !file.ignores_ranges)
        .and_then(|range| range.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok());
    let (status, range, body) = match from {
        Some(from) if from >= whole => return plain(416),
        Some(from) => {
            (206, format!("content-range: bytes {from}-{}/{whole}\r\n", whole - 1), &file.bytes[from..])
        }
        None => (200, String::new(), &file.bytes[..]),
    };
    let length =
        if file.hides_length { String::new() } else { format!("content-length: {}\r\n", body.len()) };
    let head = format!("HTTP/1.1 {status} X\r\n{length}{range}{about}\r\n");
    let sent = file.at_most.map_or(body.len(), |most| most.min(body.len()));
    (head, if is_head { Vec::new() } else { body[..sent].to_vec() })
}
